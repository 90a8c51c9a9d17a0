"""f(u, d) = 1/|D_u| Σ_{i ∈ D_u} V_i · V_d."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from topwise.data import Csr, Events, Features, Vocabulary
from topwise.models.base import Embedding
from topwise.models.serving import Ids, _is_single
from topwise.models.tables import Floats


class ItemBag(Embedding):
    """A user is the mean of their items' vectors, the positive being trained left out.

    There is nothing to learn of a user, so users never seen in training are served from their items alone:
    `recommend(history=...)`.
    """

    _history_is_context: ClassVar[bool] = True
    history_: Csr
    context_vocabulary_: Vocabulary

    def _create_sides(self, log: Events, role: str, features: dict[str, Features | None]) -> None:
        given = [f"{name}_features" for name, value in features.items() if value is not None]
        if given:
            raise ValueError(f"ItemBag takes no features, got {', '.join(given)}: use MatrixFactorization")
        super()._create_sides(log, role, features)
        self.history_ = log.matrix(role)
        self.context_vocabulary_ = log.vocabulary(role)

    @property
    def context_vocabulary(self) -> Vocabulary:
        """The users whose items the model has seen."""
        self._check_fitted()
        return self.context_vocabulary_

    def _add_histories(self, log: Events, ids: Ids) -> None:
        """New users: there is nothing to learn of them but which of the model's items they have."""
        new = Vocabulary(ids)
        events = log.recode({self.role_: new, "item": self.item_vocabulary})
        self.history_ = _stacked(self.history_, events.matrix(self.role_))
        self.context_vocabulary_ = Vocabulary(np.concatenate([self.context_vocabulary_.ids, ids]))

    def _known_vectors(self, codes: npt.NDArray[np.int64]) -> Floats:
        vectors = self._bags(self.history_.take(codes))
        vectors[codes < 0] = self.mean_context_
        return self._with_one(vectors)

    def _bags(self, histories: Csr) -> Floats:
        """The means of some items' vectors."""
        share = np.repeat(1 / np.maximum(histories.lengths(), 1), histories.lengths()).astype(np.float32)
        return self.items_.compose(
            Csr(histories.indptr, histories.indices, histories.n_cols, share), self.columns
        )

    def recommend(
        self,
        users: Any = None,
        queries: Any = None,
        k: int = 10,
        exclude: Events | None = None,
        items: Any = None,
        *,
        features: Any = None,
        history: Sequence[Any] | None = None,
        threads: int | None = None,
    ) -> tuple[Ids, Floats]:
        """As for every model; or for users of whom only the items are known: `history` is a list of item ids,
        or a list of such lists. Its own items are left out; those unknown to the model do not count.
        """
        if history is None:
            return super().recommend(users, queries, k, exclude, items, features=features, threads=threads)
        self._check_fitted()
        if users is not None or queries is not None or exclude is not None or features is not None:
            raise ValueError("history stands in place of users, queries, features and exclude")
        single = len(history) > 0 and _is_single(history[0], self.item_vocabulary)
        lists = [history] if single else list(history)
        codes = [np.unique(self.item_vocabulary.codes(ids)) for ids in lists]
        owners = np.repeat(np.arange(len(lists)), [len(c) for c in codes])
        flat = np.concatenate(codes) if codes else np.empty(0, np.int64)
        known = flat >= 0
        bags = Csr.from_coordinates(owners[known], flat[known], (len(lists), len(self.item_vocabulary)))
        vectors = self._bags(bags)
        vectors[bags.lengths() == 0] = self.mean_context_
        return self._top(self._with_one(vectors), None, k, bags, items, single, threads)


def _stacked(above: Csr, below: Csr) -> Csr:
    indptr = np.concatenate([above.indptr, above.indptr[-1] + below.indptr[1:]])
    return Csr(indptr, np.concatenate([above.indices, below.indices]), above.n_cols)
