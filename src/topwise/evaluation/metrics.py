"""Metrics of a ranked list, from the ranks of what is relevant in it.

Relevance is yes or no, so a list is fully described by the ranks of its relevant items, in ascending order,
their number, and the list's length. Every function here takes many lists at once and gives one value each.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Values: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Lists:
    """Where the relevant items of each list stand.

    `rank[indptr[i]:indptr[i + 1]]` are the ranks, from 1 and ascending, of the relevant items in list i, and
    `relevant[i]` is their number together with those that are missing from the list (ids that the model does
    not know): they are never found, and stand behind the list's end. `length[i]` counts what is in the list.
    """

    rank: Integers
    indptr: Integers
    relevant: Integers
    length: Integers

    def __len__(self) -> int:
        return len(self.relevant)

    @cached_property
    def found(self) -> Integers:
        """How many relevant items are in each list."""
        return np.diff(self.indptr)

    @cached_property
    def row(self) -> Integers:
        """The list of each rank."""
        return np.repeat(np.arange(len(self)), self.found)

    @cached_property
    def place(self) -> Integers:
        """1, 2, ... within each list: how many relevant items stand at a rank or above it."""
        return np.arange(1, len(self.rank) + 1) - np.repeat(self.indptr[:-1], self.found)

    def total(self, gain: Values | Integers | None = None, k: int | None = None) -> Values:
        """The sum in each list of a gain for each rank (without one: of ones), up to rank k."""
        row = self.row
        if k is not None:
            within = self.rank <= k
            row = row[within]
            gain = gain if gain is None else gain[within]
        return np.bincount(row, gain, minlength=len(self)).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Ranking:
    """The lists in the two orders of equal scores: relevant items before the others, and after them."""

    best: Lists
    worst: Lists

    @classmethod
    def from_counts(
        cls,
        greater: npt.NDArray[np.int32],
        equal: npt.NDArray[np.int32],
        indptr: Integers,
        relevant: Integers,
        length: Integers,
    ) -> Ranking:
        """From how many items that are not relevant score above each relevant item, and how many the same."""

        def lists(above: Integers) -> Lists:
            # An item that scores higher never has more above it, so sorting the counts by themselves puts the
            # relevant items of a list in order; each is then preceded by those above it and its predecessors.
            stride = int(length.max(initial=0)) + 1
            row = np.repeat(np.arange(len(relevant)) * stride, np.diff(indptr))
            ordered = np.sort(row + above) - row
            unranked = Lists(ordered, indptr, relevant, length)
            return Lists(ordered + unranked.place, indptr, relevant, length)

        best = lists(greater.astype(np.int64))
        return cls(best, lists(np.add(greater, equal, dtype=np.int64)) if equal.any() else best)

    def __len__(self) -> int:
        return len(self.best)


def recall(lists: Lists, k: int) -> Values:
    """Hits up to rank k, as a share of what is relevant."""
    return lists.total(k=k) / lists.relevant


def capped_recall(lists: Lists, k: int) -> Values:
    """Hits up to rank k, as a share of the hits that k places allow."""
    return lists.total(k=k) / np.minimum(lists.relevant, k)


def precision(lists: Lists, k: int) -> Values:
    """Hits up to rank k, as a share of k."""
    return lists.total(k=k) / k


def hit(lists: Lists, k: int) -> Values:
    """1 with a hit up to rank k, else 0."""
    return (lists.total(k=k) > 0).astype(np.float64)


def ndcg(lists: Lists, k: int | None = None) -> Values:
    """Σ 1/log2(rank + 1) over hits, as a share of that sum for a perfect order."""
    gain = 1 / np.log2(lists.rank + 1)
    ideal = np.cumsum(1 / np.log2(np.arange(2, lists.relevant.max(initial=1) + 2)))
    places = lists.relevant if k is None else np.minimum(lists.relevant, k)
    return lists.total(gain, k) / ideal[places - 1]


def average_precision(lists: Lists, k: int | None = None) -> Values:
    """The mean over all relevant items of the precision at their rank; 0 for those beyond k."""
    return lists.total(lists.place / lists.rank, k) / lists.relevant


def reciprocal_rank(lists: Lists, k: int | None = None) -> Values:
    """1/rank of the first relevant item; 0 beyond k."""
    first = lists.place == 1
    gain = np.where(first, 1 / lists.rank, 0.0)
    return lists.total(gain, k)


def mean_rank(lists: Lists) -> Values:
    """The mean rank of what is relevant. What is missing stands behind the list's end."""
    missing = lists.relevant - lists.found
    behind = missing * lists.length + missing * (missing + 1) / 2
    return (lists.total(lists.rank) + behind) / lists.relevant


def max_rank(lists: Lists) -> Values:
    """The rank of the last of what is relevant."""
    missing = lists.relevant - lists.found
    last = np.zeros(len(lists))
    some = lists.found > 0
    last[some] = lists.rank[lists.indptr[1:][some] - 1]
    return np.where(missing > 0, lists.length + missing, last)


def rank_loss(lists: Lists) -> Values:
    """The percentage of pairs (relevant, not relevant) in the wrong order; 0 where there is no pair."""
    others = lists.length - lists.found
    wrong = lists.total(lists.rank - lists.place) + (lists.relevant - lists.found) * others
    return 100 * wrong / np.maximum(lists.relevant * others, 1)


def auc(lists: Lists) -> Values:
    """The share of pairs (relevant, not relevant) in the right order; 1 where there is no pair."""
    return 1 - rank_loss(lists) / 100


@dataclass(frozen=True)
class _Kind:
    function: Callable[..., Values] | None  # None for what needs grades
    cutoff: str  # "needed", "optional" or "none"
    aliases: tuple[str, ...] = ()
    lower_is_better: bool = False
    for_judgments: bool = True

    def spelled(self, name: str) -> str:
        return {"needed": f"{name}@k", "optional": f"{name}[@k]", "none": name}[self.cutoff]


# The aliases are the names of ir-measures.
_KINDS = {
    "recall": _Kind(recall, "needed", ("r",)),
    "precision": _Kind(precision, "needed", ("p",)),
    "hit": _Kind(hit, "needed", ("success",)),
    "capped_recall": _Kind(capped_recall, "needed"),
    "ndcg": _Kind(ndcg, "optional"),
    "map": _Kind(average_precision, "optional", ("ap",)),
    "mrr": _Kind(reciprocal_rank, "optional", ("rr",)),
    "auc": _Kind(auc, "none", for_judgments=False),
    "mean_rank": _Kind(mean_rank, "none", lower_is_better=True, for_judgments=False),
    "max_rank": _Kind(max_rank, "none", lower_is_better=True, for_judgments=False),
    "rank_loss": _Kind(rank_loss, "none", lower_is_better=True, for_judgments=False),
    "err": _Kind(None, "optional"),
    "mean_ndcg": _Kind(None, "none"),
}
_MOST = 2**31 - 1  # items of the largest catalogue
_CALLED = {alias: name for name, kind in _KINDS.items() for alias in (name, *kind.aliases)}


@dataclass(frozen=True)
class Metric:
    """A metric and its cutoff, by one name: "recall@10". Made by `parse`."""

    kind: str
    k: int | None = None

    @classmethod
    def parse(cls, text: str) -> Metric:
        """A metric by its name here or in ir-measures ("R@10"), in capitals or not."""
        if not isinstance(text, str):
            raise TypeError(f"a metric is given by its name, such as 'recall@10', got {text!r}")
        spelling = re.fullmatch(r"\s*([^@\s]+)\s*(?:@\s*(\S+)\s*)?", text)
        if spelling is None or spelling[1].casefold() not in _CALLED:
            raise ValueError(_unknown(text))
        kind = _CALLED[spelling[1].casefold()]
        return cls(kind, _cutoff(text, kind, spelling[2]))

    @property
    def name(self) -> str:
        """The one spelling that reports use."""
        return self.kind if self.k is None else f"{self.kind}@{self.k}"

    @property
    def lower_is_better(self) -> bool:
        """True of ranks and losses."""
        return _KINDS[self.kind].lower_is_better

    @property
    def needs_grades(self) -> bool:
        """True of what is defined for judgments only."""
        return _KINDS[self.kind].function is None

    @property
    def needs_catalogue(self) -> bool:
        """True of what is defined for whole catalogues only."""
        return not _KINDS[self.kind].for_judgments

    def values(self, ranking: Ranking) -> Values:
        """One value a list: the mean of those with the best and with the worst order of equal scores."""
        best = self._of(ranking.best)
        return best if ranking.worst is ranking.best else (best + self._of(ranking.worst)) / 2

    def _of(self, lists: Lists) -> Values:
        function = _KINDS[self.kind].function
        assert function is not None
        return function(lists) if self.k is None else function(lists, self.k)


def parse_metrics(names: str | Sequence[str]) -> tuple[Metric, ...]:
    """Metrics in the order of their names, each one once."""
    if isinstance(names, str):
        names = [names]
    elif not isinstance(names, Sequence):
        raise TypeError(f"metrics must be names such as ['recall@10', 'ndcg@10'], got {names!r}")
    if not names:
        raise ValueError(f"metrics must name at least one of {_listed()}")
    return tuple(dict.fromkeys(map(Metric.parse, names)))


def check_metric(name: str) -> str:
    """The one spelling of a metric's name, or an error that lists what there is."""
    return Metric.parse(name).name


def _cutoff(text: str, kind: str, cutoff: str | None) -> int | None:
    wanted = _KINDS[kind].cutoff
    if cutoff is None:
        if wanted == "needed":
            raise ValueError(f"{kind} needs a cutoff: write it as {kind}@10, got {text!r}")
        return None
    if wanted == "none":
        raise ValueError(f"{kind} looks at the whole list: write it without a cutoff, got {text!r}")
    if not re.fullmatch(r"[-+]?[0-9]+", cutoff):
        raise ValueError(f"k must be a whole number, as in {kind}@10, got {text!r}")
    k = int(cutoff)
    if not 1 <= k <= _MOST:
        raise ValueError(f"k must be at least 1 and at most {_MOST}, got {text!r}")
    return k


def _unknown(text: str) -> str:
    stem, _, k = text.partition("@")
    near = difflib.get_close_matches(stem.strip().casefold(), _CALLED, n=1)
    guess = f"did you mean {_with_cutoff(near[0], k.strip())!r}? " if near else ""
    return f"unknown metric {text!r}: {guess}there are {_listed()}"


def _with_cutoff(name: str, k: str) -> str:
    cutoff = _KINDS[_CALLED[name]].cutoff
    if cutoff == "none" or (cutoff == "optional" and not k):
        return name
    return f"{name}@{k or 10}"


def _listed() -> str:
    return ", ".join(kind.spelled(name) for name, kind in _KINDS.items())
