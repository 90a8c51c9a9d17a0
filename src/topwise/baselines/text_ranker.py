"""What rankers of contexts and items by their words share: unit rows of content, and pairs to learn from."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from topwise.baselines.base import Content, Floats, is_among
from topwise.baselines.data import Sparse, Training
from topwise.features.weighting import unit_rows


class TextRanker(Content):
    """f(q, d) = q · M d, for words of both sides in the same columns; M is what a subclass learns.

    Rows are brought to unit length first. Learned from (context, item, another item) of the log, the last
    drawn among the items with content that the context does not have.
    """

    uses: ClassVar[frozenset[str]] = frozenset({"context", "item"})
    needs: ClassVar[frozenset[str]] = frozenset({"context", "item"})

    def _keep_sides(self, data: Training) -> tuple[Sparse, Sparse]:
        """The unit rows of contexts and of items."""
        items = unit_rows(data.content("item"))
        self.items_ = items.T.tocsr()
        return unit_rows(self._keep_content(data)), items

    def _rows_of_content(self, content: Sparse) -> Any:
        return unit_rows(content)

    def _words_asked(self, rows: Sparse) -> Any:
        """M' q for rows of contexts: what the words of an item are worth to each."""
        raise NotImplementedError

    def _score(self, rows: Any) -> Floats:
        words = self._words_asked(rows)
        found = words @ self.items_
        return np.asarray(found if isinstance(found, np.ndarray) else found.toarray(), dtype=np.float32)


class Triples:
    """(context, positive, negative), the negatives drawn anew each time."""

    def __init__(self, data: Training, contexts: Sparse, items: Sparse) -> None:
        known = data.interactions()
        row = np.repeat(np.arange(known.shape[0], dtype=np.int64), np.diff(known.indptr))
        filled = np.diff(items.indptr) > 0
        # A side without words has nothing to say about a pair.
        chosen = filled[known.indices] & (np.diff(contexts.indptr) > 0)[row]
        if not chosen.any():
            raise ValueError("no event has both a context and an item with features: check the ids of both")
        self.context, self.positive = row[chosen], known.indices[chosen].astype(np.int64)
        self.drawable = np.flatnonzero(filled)
        self.n_items = items.shape[0]
        self._known = np.sort(row * self.n_items + known.indices)

    def __len__(self) -> int:
        return len(self.context)

    def negatives(
        self, rng: np.random.Generator, some: npt.NDArray[np.int64] | None = None, trials: int = 20
    ) -> npt.NDArray[np.int64]:
        """For each pair, or for some, an item that its context lacks; −1 if not found in so many trials."""
        contexts = self.context if some is None else self.context[some]
        found = np.full(len(contexts), -1, dtype=np.int64)
        for _ in range(trials):
            open_ = np.flatnonzero(found < 0)
            if len(open_) == 0:
                break
            drawn = self.drawable[rng.integers(0, len(self.drawable), len(open_))]
            keys = contexts[open_] * self.n_items + drawn
            found[open_] = np.where(is_among(keys, self._known), -1, drawn)
        return found
