"""f(q, u, d) = q-part + γ · u-part: two factorisations of a log of queries, users and items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from topwise.baselines.base import Codes, Factors
from topwise.baselines.choice import check_weight, choose
from topwise.baselines.data import Training
from topwise.baselines.svd import SVD
from topwise.data import Events, Features

GAMMAS = (0.0, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)


class Mix(Factors):
    """Φ(q)ᵀ U_QIᵀ V_QI Φ(d) + γ Φ(u)ᵀ U_UIᵀ V_UI Φ(d): the papers' generalisation of SVD and NMF to a tensor.

    Contexts are pairs: `recommend(users=[...], queries=[...])`, of the same length. An unknown user or query
    has the mean vector of its part.

    Parameters
    ----------
    model: what both parts are, an `SVD` or `NMF` (or anything with factors); None is SVD(). Its `context` is
        set for each part.
    gamma: the weight of the users' part; "auto" takes the best of `gammas` on the validation log.
    metric: what "auto" looks at.
    """

    def __init__(
        self,
        model: Factors | None = None,
        *,
        gamma: float | str = 1.0,
        gammas: Sequence[float] = GAMMAS,
        metric: str = "recall@10",
    ) -> None:
        self.model = model
        self.gamma = gamma
        self.gammas = gammas
        self.metric = metric

    def check_params(self) -> None:
        if self.model is not None and not isinstance(self.model, Factors):
            raise TypeError(f"model must be a baseline with factors, such as SVD(), got {self.model!r}")
        check_weight("gamma", self.gamma)

    def _roles_of(self, log: Events, features: Mapping[str, Features | None]) -> tuple[str, ...]:
        for role in ("user", "query"):
            if role not in log.roles:
                raise ValueError(
                    f"Mix learns from users and queries, so train must have both; {log!r} has not"
                )
        return ("user", "query")

    def _learn(self, data: Training) -> None:
        part = SVD() if self.model is None else self.model
        self.parts_: dict[str, Factors] = {
            role: part.clone().set_params(context=role).fit(data.log) for role in ("query", "user")
        }
        self.gamma_ = 1.0 if isinstance(self.gamma, str) else float(self.gamma)
        self.items_ = np.concatenate([self.parts_[role].items_ for role in ("query", "user")], axis=1)

    def _choose(self, data: Training) -> None:
        if self.gamma == "auto":
            self.tried_ = choose(self, "gamma", self.gammas, self.metric, data, self._use)

    def _use(self, gamma: float) -> None:
        self.gamma_ = gamma

    def _rows(self, codes: Mapping[str, Codes]) -> Any:
        query, user = (self.parts_[role].contexts_[codes[role]] for role in ("query", "user"))
        rows: npt.NDArray[np.float32] = np.concatenate([query, np.float32(self.gamma_) * user], axis=1)
        return rows
