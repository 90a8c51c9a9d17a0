"""The tastes of a user (the senses of a query) as answers: merged into one list, and shown by their items."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from topwise.models.tables import Floats

Numbers = npt.NDArray[np.int32]


def merge_tastes(
    items: Numbers, scores: Floats, starts: npt.NDArray[np.int64]
) -> tuple[Numbers, Floats, Numbers]:
    """The best items of contexts from those of each of their tastes: items, scores, and the taste from 1.

    Rows are tastes, best items first; those of context c are starts[c] to starts[c + 1]. An item counts once,
    by its best taste; ties stand in the order of the items.
    """
    counts, k = np.diff(starts), items.shape[1]
    most = int(counts.max(initial=1))
    owner = np.repeat(np.arange(len(counts)), counts)
    place = np.arange(len(items)) - np.repeat(starts[:-1], counts)
    if most == 1:
        return items, scores, np.where(items < 0, 0, 1).astype(np.int32)

    def beside(values: npt.NDArray[Any], nothing: Any) -> npt.NDArray[Any]:
        """The lists of a context's tastes in one row."""
        wide = np.full((len(counts), most, k), nothing, dtype=values.dtype)
        wide[owner, place] = values
        return wide.reshape(len(counts), most * k)

    wide_items, wide_scores = beside(items, -1), beside(scores, -np.inf)
    by_item = np.lexsort((-wide_scores, wide_items), axis=1)
    ordered = np.take_along_axis(wide_items, by_item, axis=1)
    again = np.zeros(ordered.shape, dtype=bool)
    again[:, 1:] = ordered[:, 1:] == ordered[:, :-1]
    np.put_along_axis(
        wide_scores, by_item, np.where(again, -np.inf, np.take_along_axis(wide_scores, by_item, 1)), 1
    )
    best = np.lexsort((wide_items, -wide_scores), axis=1)[:, :k]
    found = np.take_along_axis(wide_scores, best, axis=1)
    nothing = np.isneginf(found)
    taste = np.where(nothing, 0, best // max(k, 1) + 1).astype(np.int32)
    return np.where(nothing, np.int32(-1), np.take_along_axis(wide_items, best, axis=1)), found, taste


@dataclass(frozen=True)
class Taste:
    """One taste: its number from 1, and its nearest items with their scores."""

    number: int
    items: npt.NDArray[Any]
    scores: Floats


@dataclass(frozen=True, repr=False)
class Tastes(Sequence[Taste]):
    """The tastes of a user or the senses of a query. Printed, a table: a row of items for each."""

    role: str
    of: Any
    tastes: list[Taste]
    metric: str = "dot"
    titles: Mapping[Any, str] | None = None

    def __len__(self) -> int:
        return len(self.tastes)

    def __getitem__(self, at: Any) -> Any:
        return self.tastes[at]

    def __iter__(self) -> Iterator[Taste]:
        return iter(self.tastes)

    def title(self, item: Any) -> str:
        """What an item is called."""
        return str(item) if self.titles is None else str(self.titles.get(item) or item)

    def __repr__(self) -> str:
        what = {"user": "Tastes of the user", "query": "Senses of the query"}[self.role]
        lines = [f"{what} {self.of!r}, by their nearest items"]
        for taste in self.tastes:
            names = ", ".join(self.title(item) for item in taste.items.tolist() if item not in (None, -1))
            lines += textwrap.wrap(
                names, 100, initial_indent=f"{taste.number:4}  ", subsequent_indent=" " * 6
            )
        return "\n".join(lines)
