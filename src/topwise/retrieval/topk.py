"""The best items of a context: the compiled index for products of vectors, and a plain way for any score."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from topwise import _core
from topwise.data import Csr

Floats: TypeAlias = npt.NDArray[np.float32]
Numbers: TypeAlias = npt.NDArray[np.int32]

_BLOCK = 64  # contexts of which all scores are held at once


class Retriever:
    """Exact search among item vectors, sorted by their norms once."""

    def __init__(self, vectors: Floats) -> None:
        self.vectors = vectors
        self._index = _core.ItemIndex(vectors)

    def search(
        self, contexts: Floats, k: int, exclude: Csr | None, candidates: Numbers | None, threads: int
    ) -> tuple[Numbers, Floats]:
        """The k best items of each context by product; −1 and −inf where fewer remain."""
        indptr, indices = _lists(exclude, len(contexts))
        k = min(k, len(self.vectors) if candidates is None else len(candidates))
        items, scores = self._index.search(contexts, max(k, 1), indptr, indices, candidates, threads)
        return items[:, :k], scores[:, :k]

    def search_blocks(
        self,
        score: Callable[[slice], Floats],
        count: int,
        k: int,
        exclude: Csr | None,
        candidates: Numbers | None,
    ) -> tuple[Numbers, Floats]:
        """The same for scores that are no product: `score(rows)` gives those of all items."""
        return search_blocks(score, count, len(self.vectors), k, exclude, candidates)


def search_blocks(
    score: Callable[[slice], Floats],
    count: int,
    n_items: int,
    k: int,
    exclude: Csr | None,
    candidates: Numbers | None,
) -> tuple[Numbers, Floats]:
    """The k best of all items for `count` contexts, of which `score(rows)` gives the scores, to keep."""
    k = min(k, n_items if candidates is None else len(candidates))
    items = np.full((count, k), -1, dtype=np.int32)
    best = np.full((count, k), -np.inf, dtype=np.float32)
    for start in range(0, count, _BLOCK):
        rows = slice(start, min(start + _BLOCK, count))
        scores = score(rows)
        if exclude is not None:
            part = exclude.take(np.arange(rows.start, rows.stop))
            scores[part.row_of_entries(), part.indices] = -np.inf
        if candidates is not None:
            others = np.ones(n_items, dtype=bool)
            others[candidates] = False
            scores[:, others] = -np.inf
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        found = np.take_along_axis(scores, order, axis=1)
        items[rows] = np.where(np.isneginf(found), -1, order)
        best[rows] = found
    return items, best


def _lists(rows: Csr | None, count: int) -> tuple[npt.NDArray[np.int64], Numbers]:
    if rows is None:
        return np.zeros(count + 1, dtype=np.int64), np.empty(0, dtype=np.int32)
    return rows.indptr, rows.indices
