"""The same list for everybody: the items that most contexts have."""

from __future__ import annotations

import numpy as np

from topwise.baselines.base import Factors
from topwise.baselines.data import Training, check_values


class Popularity(Factors):
    """f(c, d) = how many contexts have d, or with `values="count"` the sum of its weights."""

    def __init__(self, *, context: str | None = None, values: str = "binary") -> None:
        self.context = context
        self.values = values

    def check_params(self) -> None:
        super().check_params()
        check_values(self.values)

    def _learn(self, data: Training) -> None:
        counts = np.asarray(data.interactions(self.values).sum(axis=0))
        self._set(data, np.ones((len(data.vocabularies[data.role]), 1)), counts[:, None])
