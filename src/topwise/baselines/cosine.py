"""Retrieval by content as it is: the cosine of a context's and an item's features."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from topwise.baselines.base import Content, Floats
from topwise.baselines.data import Sparse, Training
from topwise.features.weighting import TermWeights, check_counts, unit_rows


class Cosine(Content):
    """f(c, d) = x · y / ‖x‖‖y‖ over features in the same columns; nothing is learned from events.

    The events only say which contexts and items there are, beside those that have features. An item without
    content scores 0.
    """

    uses: ClassVar[frozenset[str]] = frozenset({"context", "item"})
    needs: ClassVar[frozenset[str]] = frozenset({"context", "item"})

    def __init__(self, *, context: str | None = None) -> None:
        self.context = context

    def _learn(self, data: Training) -> None:
        contexts, items = self._keep_content(data), data.content("item")
        self._fit_weights(contexts, items)
        self.items_ = self._weighted(items).T.tocsr()

    def _fit_weights(self, contexts: Sparse, items: Sparse) -> None:
        pass

    def _weighted(self, rows: Sparse) -> Sparse:
        return unit_rows(rows)

    def _rows_of_content(self, content: Sparse) -> Any:
        return self._weighted(content)

    def _score(self, rows: Any) -> Floats:
        return np.asarray((rows @ self.items_).toarray(), dtype=np.float32)


class TFIDF(Cosine):
    """The cosine after TF-IDF: features are counts of words, and rare words of the items count more.

    Parameters
    ----------
    sublinear: 1 + log(count) in place of the count.
    """

    def __init__(self, *, sublinear: bool = False, context: str | None = None) -> None:
        self.sublinear = sublinear
        self.context = context

    def _fit_weights(self, contexts: Sparse, items: Sparse) -> None:
        check_counts(contexts)
        self.terms_ = TermWeights(sublinear=self.sublinear).fit(items)

    def _weighted(self, rows: Sparse) -> Sparse:
        return self.terms_.transform(rows)
