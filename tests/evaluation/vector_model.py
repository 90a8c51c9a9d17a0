"""A model of given vectors, with what evaluation asks of a model and nothing more."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from topwise.data import Vocabulary

Floats = npt.NDArray[np.float32]


class VectorModel:
    """Scores are products of given vectors. Unknown contexts get the mean vector."""

    scores_by_product = True

    def __init__(
        self, items: Vocabulary, item_rows: npt.ArrayLike, **contexts: tuple[Vocabulary, npt.ArrayLike]
    ) -> None:
        self.item_vocabulary = items
        self.item_rows = np.asarray(item_rows, dtype=np.float32)
        self.vocabularies = {role: vocabulary for role, (vocabulary, _) in contexts.items()}
        self.rows = {role: np.asarray(rows, dtype=np.float32) for role, (_, rows) in contexts.items()}
        self.roles = tuple(contexts)
        for role, vocabulary in self.vocabularies.items():
            setattr(self, f"{role}_vocabulary", vocabulary)

    @classmethod
    def random(
        cls, items: Any, dim: int = 6, seed: int = 0, highest: int | None = None, **ids: Any
    ) -> VectorModel:
        """Normal vectors, or with `highest` small whole numbers: products are exact and often tie."""
        rng = np.random.default_rng(seed)

        def of(ids: Any) -> tuple[Vocabulary, Floats]:
            vocabulary = ids if isinstance(ids, Vocabulary) else Vocabulary(ids)
            shape = (len(vocabulary), dim)
            rows = rng.normal(size=shape) if highest is None else rng.integers(-highest, highest + 1, shape)
            return vocabulary, rows.astype(np.float32)

        return cls(*of(items), **{role: of(known) for role, known in ids.items()})

    def item_vectors(self) -> Floats:
        return self.item_rows

    def context_vectors(self, users: Any = None, queries: Any = None) -> Floats:
        parts = []
        for role, ids in {"user": users, "query": queries}.items():
            if role in self.roles:
                codes = self.vocabularies[role].codes(ids)
                rows = np.vstack([self.rows[role], self.rows[role].mean(axis=0)])
                parts.append(rows[codes])
        return np.ascontiguousarray(sum(parts), dtype=np.float32)


class ScoreModel(VectorModel):
    """The same scores, as a model without products would give them."""

    scores_by_product = False

    def score_block(self, users: Any = None, queries: Any = None) -> Floats:
        scores: Floats = self.context_vectors(users, queries) @ self.item_rows.T
        return scores
