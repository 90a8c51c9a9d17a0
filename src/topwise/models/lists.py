"""The lists d̄ that one step of LaSR hands to the next: the best k items of every query."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from topwise.data import Csr, Vocabulary
from topwise.models.base import Embedding
from topwise.models.tables import Floats

Numbers: TypeAlias = npt.NDArray[np.int32]

# Queries of which the vectors and the lists are held at once.
_BLOCK = 8192


class ListMaker:
    """Makes lists by a fitted model, in the numbers of another catalogue.

    Items that the catalogue lacks are not listed; −1 stands where a list ends early.
    """

    def __init__(self, model: Embedding, catalogue: Vocabulary, size: int) -> None:
        self.model = model
        self.size = size
        self._by_vectors = model.scores_by_product or model._overlap() > 0
        theirs = model.item_vocabulary
        same = theirs is catalogue or np.array_equal(theirs.ids, catalogue.ids)
        self._ours = np.arange(len(theirs)) if same else catalogue.codes(theirs.ids)
        self._ours = np.append(self._ours, -1).astype(np.int32)
        shared = np.flatnonzero(self._ours[:-1] >= 0).astype(np.int32)
        self._candidates = None if len(shared) == len(theirs) else shared
        self._theirs = np.full(len(catalogue), -1, dtype=np.int64)
        self._theirs[self._ours[shared]] = shared

    def of_ids(
        self, ids: npt.NDArray[Any], own: npt.NDArray[np.int64], threads: int, progress: bool | None = False
    ) -> Numbers:
        """The lists of queries by id; `own` is the item that a query is itself, −1 for none."""
        lists = np.empty((len(ids), self.size), dtype=np.int32)
        with _bar(len(ids), f"lists of {type(self.model).__name__}", progress) as bar:
            for rows in _blocks(len(ids)):
                excluded = self._excluded(own[rows])
                if not self._by_vectors:
                    lists[rows] = self._asked(ids[rows], own[rows], threads)
                else:
                    codes = self.model._codes(ids[rows])
                    raw = None if self.model.scores_by_product else self.model._raw_content(codes)
                    lists[rows] = self._found(self.model._known_vectors(codes), raw, excluded, threads)
                bar.update(rows.stop - rows.start)
        return lists

    def of_features(self, features: Any, threads: int) -> Numbers:
        """The lists of queries that are rows of features."""
        vectors = self.model._feature_vectors(features)
        raw = None if self.model.scores_by_product else self.model._feature_rows(features)
        return self._found(vectors, raw, None, threads)

    def _found(self, vectors: Floats, raw: Csr | None, excluded: Csr | None, threads: int) -> Numbers:
        best, _ = self.model._best(vectors, raw, self.size, excluded, self._candidates, threads)
        return self._padded(self._ours[best])

    def _asked(self, ids: npt.NDArray[Any], own: npt.NDArray[np.int64], threads: int) -> Numbers:
        """By what the model recommends, for models that find their best items in a way of their own."""
        asked: dict[str, Any] = {{"user": "users", "query": "queries"}[self.model.roles[0]]: ids}
        vocabulary = self.model.item_vocabulary
        items = None if self._candidates is None else vocabulary.ids[self._candidates]
        best, scores = self.model.recommend(
            **asked, k=min(self.size + 1, len(vocabulary)), items=items, threads=threads
        )
        codes = self._ours[vocabulary.codes(best.ravel())].reshape(best.shape)
        codes[np.isneginf(scores)] = -1
        # The query's own item goes to the end, and falls off where the list is full without it.
        order = np.argsort(codes == own[:, None], axis=1, kind="stable")
        codes[(codes == own[:, None]) & (own >= 0)[:, None]] = -1
        return self._padded(np.take_along_axis(codes, order, axis=1)[:, : self.size])

    def _excluded(self, own: npt.NDArray[np.int64]) -> Csr | None:
        theirs = np.where(own >= 0, self._theirs[np.maximum(own, 0)], -1)
        rows = np.flatnonzero(theirs >= 0)
        if len(rows) == 0:
            return None
        return Csr.from_coordinates(rows, theirs[rows], (len(own), len(self.model.item_vocabulary)))

    def _padded(self, lists: npt.NDArray[Any]) -> Numbers:
        """The catalogue of the model may have fewer items than the lists have places."""
        missing = self.size - lists.shape[1]
        return np.pad(lists, ((0, 0), (0, missing)), constant_values=-1) if missing > 0 else lists


def _blocks(count: int) -> Iterator[slice]:
    for start in range(0, count, _BLOCK):
        yield slice(start, min(start + _BLOCK, count))


def _bar(count: int, text: str, progress: bool | None) -> Any:
    from tqdm import tqdm

    return tqdm(total=count, desc=text, unit="query", disable=None if progress is None else not progress)


def weighted_sums(lists: Numbers, weights: npt.NDArray[np.float32], rows: Floats) -> Floats:
    """Σ_j w_j S d̄_j of every list."""
    with_none = np.concatenate([rows, np.zeros((1, rows.shape[1]), dtype=np.float32)])  # −1 is its last row
    sums = np.zeros((len(lists), rows.shape[1]), dtype=np.float32)
    for place, weight in enumerate(weights):
        sums += weight * with_none[lists[:, place]]
    return sums
