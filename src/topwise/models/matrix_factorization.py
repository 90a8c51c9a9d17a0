"""f(u, d) = U_u · V_d."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from topwise.data import Vocabulary
from topwise.models.base import Embedding
from topwise.models.side import Side
from topwise.models.tables import Floats, aligned


class MatrixFactorization(Embedding):
    """A vector for every user (or query) and every item.

    With features it is the sum of the vectors of an id and of its content, so that users and items without
    events are served from their content.
    """

    @classmethod
    def from_vectors(
        cls,
        items: Any,
        item_vectors: Any,
        users: Any = None,
        user_vectors: Any = None,
        queries: Any = None,
        query_vectors: Any = None,
        **params: Any,
    ) -> Self:
        """A model of vectors made elsewhere, by an SVD say: it serves, is saved, is a base of LaSR."""
        if (users is None) == (queries is None):
            raise ValueError("vectors are of users or of queries: pass one of them, with its vectors")
        role, ids, given = (
            ("user", users, user_vectors) if queries is None else ("query", queries, query_vectors)
        )
        of_items, of_contexts = _matrix("item_vectors", item_vectors), _matrix(f"{role}_vectors", given)
        if of_items.shape[1] != of_contexts.shape[1] or of_items.shape[1] == 0:
            raise ValueError(
                "both vectors must have the same number of columns, at least 1, "
                f"got {of_contexts.shape[1]} of {role} and {of_items.shape[1]} of item"
            )
        model = cls(dim=of_items.shape[1], **params)
        model.check_params()
        model.role_, model.max_norm_, model.best_epoch_, model.history_records_ = role, None, 0, []
        model.context_ = _side(role, ids, of_contexts)
        model.items_ = _side("item", items, of_items)
        model.mean_context_ = of_contexts.mean(axis=0, dtype=np.float64).astype(np.float32)
        return model


def _matrix(name: str, given: Any) -> Floats:
    matrix = np.asarray(given, dtype=np.float32) if given is not None else np.empty(0, np.float32)
    if matrix.ndim != 2 or len(matrix) == 0:
        raise ValueError(f"{name} must be a matrix with a row for each id, got the shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise ValueError(f"{name} must be finite")
    return matrix


def _side(role: str, ids: Any, vectors: Floats) -> Side:
    vocabulary = Vocabulary(ids)
    if len(vocabulary) != len(vectors):
        raise ValueError(
            f"{role} vectors must have a row for each of {len(vocabulary)} distinct ids, got {len(vectors)}"
        )
    return Side(role, vocabulary, aligned(vectors, vectors.shape[1]))
