"""Features of pairs (context, candidate), from what is known when the candidates are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from topwise.data import Csr, Events, Features, Vocabulary
from topwise.data.vocabulary import Ids
from topwise.two_stage.candidates import Candidates, scores_of_pairs

Columns = dict[str, npt.NDArray[Any]]
_SPANS = 32  # a log's times, as so many spans of as many events


@dataclass(frozen=True, eq=False)
class Pairs:
    """What a user's function gets: the ids of each pair's context and item, one entry a pair."""

    contexts: Mapping[str, Ids]
    items: Ids

    def __len__(self) -> int:
        return len(self.items)


Function = Callable[[Pairs], Any]


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What a log says of contexts and items, and the content of items. Never of events after it."""

    role: str
    contexts: Vocabulary
    history: Csr  # the items of each context, in the catalogue's codes
    count: npt.NDArray[np.float64]  # events of each item
    spans: npt.NDArray[np.float64]  # those in each span of time, a column a span; none without times
    last_span: npt.NDArray[np.int64]  # the span of the last event of each context
    content: Csr | None  # unit rows, one an item

    @classmethod
    def of(cls, log: Events, role: str, catalogue: Vocabulary, features: Features | None) -> Knowledge:
        """From the log of training, in the codes of a catalogue."""
        log = log.recode({"item": catalogue})
        known = log.take(log.item >= 0) if (log.item < 0).any() else log
        count = np.bincount(known.item, minlength=len(catalogue)).astype(np.float64)
        spans, last_span = _spans_of(known, role, len(catalogue))
        content = None if features is None else _unit(features.rows(catalogue))
        return cls(role, log.vocabulary(role), known.matrix(role), count, spans, last_span, content)

    def histories(self, candidates: Candidates) -> Csr:
        """The items that each context is known to have; nothing for unknown contexts."""
        return self.history.take(self.contexts.codes(candidates.contexts[self.role]))

    # --- files --------------------------------------------------------------------------------------------

    def to_parts(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        """Everything as tensors and plain data."""
        from topwise.models.files import put_csr, put_vocabulary

        tensors: dict[str, npt.NDArray[Any]] = {
            "count": self.count,
            "spans": self.spans,
            "last_span": self.last_span,
        }
        put_csr(tensors, "history", self.history)
        if self.content is not None:
            put_csr(tensors, "content", self.content)
        header = {
            "role": self.role,
            "contexts": put_vocabulary(tensors, "contexts", self.contexts),
            "content": None if self.content is None else self.content.n_cols,
        }
        return tensors, header

    @classmethod
    def from_parts(cls, header: dict[str, Any], tensors: dict[str, npt.NDArray[Any]]) -> Knowledge:
        """The way back."""
        from topwise.models.files import take_csr, take_vocabulary

        count, width = tensors["count"], header["content"]
        return cls(
            header["role"],
            take_vocabulary(tensors, "contexts", header["contexts"]),
            take_csr(tensors, "history", len(count)),
            count,
            tensors["spans"],
            tensors["last_span"],
            None if width is None else take_csr(tensors, "content", width),
        )


@dataclass(frozen=True, eq=False)
class Maker:
    """Makes the features of candidates: the built-in ones, other models' scores, a user's function."""

    names: Sequence[str]
    knowledge: Knowledge
    first: Any
    others: Sequence[Any]
    function: Function | None = None

    def make(self, candidates: Candidates) -> tuple[npt.NDArray[np.float32], list[str]]:
        """A row for each pair, and the names of the columns."""
        columns: Columns = {}
        for name in self.names:
            columns |= FEATURES[name](self, candidates)
        for number, other in enumerate(self.others):
            scores = scores_of_pairs(other, candidates)
            columns |= {f"model{number}": scores, f"model{number}_rank": _rank(candidates, scores)}
        if self.function is not None:
            columns |= _asked(self.function, candidates)
        if not columns:
            raise ValueError("there are no features: name some, or pass others= or function=")
        matrix = np.stack(list(columns.values()), axis=1).astype(np.float32)
        return matrix, list(columns)


def _score(maker: Maker, candidates: Candidates) -> Columns:
    """The first stage's score, and by how much it is below the best of the context."""
    scores = candidates.scores[candidates.valid].astype(np.float64)
    best = candidates.scores.max(axis=1, initial=-np.inf)[candidates.row]
    return {"score": scores, "score_below_best": best - scores}


def _first_rank(maker: Maker, candidates: Candidates) -> Columns:
    """The place in the first stage's list."""
    return {"rank": np.nonzero(candidates.valid)[1] + 1.0}


def _popularity(maker: Maker, candidates: Candidates) -> Columns:
    """How many events the item has; in a log with times, how many now, and when the context was last seen."""
    knowledge = maker.knowledge
    columns = {"popularity": np.log1p(knowledge.count)[candidates.item]}
    n_spans = knowledge.spans.shape[1]
    if n_spans:
        codes = knowledge.contexts.codes(candidates.contexts[knowledge.role])
        seen = np.where(codes >= 0, knowledge.last_span[codes], n_spans - 1)
        for name, span in (("now", np.full(len(candidates), n_spans - 1)), ("then", seen)):
            events = _around(knowledge.spans, candidates.item, span[candidates.row])
            columns[f"popularity_{name}"] = np.log1p(events)
            share = (events + 1) / (knowledge.count[candidates.item] + n_spans)
            columns[f"share_{name}"] = np.log(share)
    return columns


def _around(
    spans: npt.NDArray[np.float64], items: npt.NDArray[Any], span: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """The events of items in a span of time, the one before it and the one after it."""
    last = spans.shape[1] - 1
    total: npt.NDArray[np.float64] = spans[items, span].copy()
    total += np.where(span > 0, spans[items, np.maximum(span - 1, 0)], 0)
    total += np.where(span < last, spans[items, np.minimum(span + 1, last)], 0)
    return total


def _activity(maker: Maker, candidates: Candidates) -> Columns:
    """How many items the context has, and how popular they are on average."""
    knowledge = maker.knowledge
    history = knowledge.histories(candidates)
    lengths = history.lengths()
    popular = np.bincount(
        history.row_of_entries(), np.log1p(knowledge.count)[history.indices], minlength=len(history)
    )
    taste = popular / np.maximum(lengths, 1)
    return {"activity": np.log1p(lengths)[candidates.row], "taste_for_popular": taste[candidates.row]}


def _neighbors(maker: Maker, candidates: Candidates) -> Columns:
    """How near the item is to the items of the context, by the cosines of the first stage's vectors."""
    vectors = np.asarray(maker.first.item_vectors(), dtype=np.float32)
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    history = maker.knowledge.histories(candidates)
    mean, nearest, three = np.zeros((3, *candidates.items.shape))
    for row in range(len(candidates)):
        own = history.row(row)
        if len(own):
            cosines = unit[candidates.items[row]] @ unit[own].T
            mean[row], nearest[row] = cosines.mean(axis=1), cosines.max(axis=1)
            best = min(3, len(own))
            three[row] = np.partition(cosines, len(own) - best, axis=1)[:, -best:].mean(axis=1)
    valid = candidates.valid
    return {"near_mean": mean[valid], "near_best": nearest[valid], "near_three": three[valid]}


def _content(maker: Maker, candidates: Candidates) -> Columns:
    """How like the item's content is to that of the context's items: the cosine with their mean."""
    content = maker.knowledge.content
    if content is None:
        return {}
    history = maker.knowledge.histories(candidates)
    profile = np.zeros((len(candidates), content.n_cols), dtype=np.float32)
    rows = content.take(history.indices)
    assert rows.values is not None
    place = history.row_of_entries()[rows.row_of_entries()] * content.n_cols + rows.indices
    profile += np.bincount(place, rows.values, minlength=profile.size).reshape(profile.shape)
    profile /= np.maximum(np.linalg.norm(profile, axis=1, keepdims=True), 1e-12)
    pairs = content.take(candidates.item)
    assert pairs.values is not None
    products = pairs.values * profile[candidates.row[pairs.row_of_entries()], pairs.indices]
    return {"content": np.bincount(pairs.row_of_entries(), products, minlength=len(candidates.item))}


FEATURES: dict[str, Callable[[Maker, Candidates], Columns]] = {
    "score": _score,
    "rank": _first_rank,
    "popularity": _popularity,
    "activity": _activity,
    "neighbors": _neighbors,
    "content": _content,
}
"""The built-in features by name; each may make several columns."""


def _rank(candidates: Candidates, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The place of each pair among those of its context, by other scores."""
    order = np.lexsort((-scores, candidates.row))
    starts = np.searchsorted(candidates.row, np.arange(len(candidates)))
    rank = np.empty(len(scores))
    rank[order] = np.arange(len(scores)) - starts[candidates.row[order]] + 1
    return rank


def _asked(function: Function, candidates: Candidates) -> Columns:
    contexts = {role: ids[candidates.row] for role, ids in candidates.contexts.items()}
    pairs = Pairs(contexts, candidates.catalogue.ids[candidates.item])
    given = np.asarray(function(pairs), dtype=np.float64)
    given = given[:, None] if given.ndim == 1 else given
    if given.ndim != 2 or len(given) != len(pairs):
        raise ValueError(
            f"function must return a row for each of {len(pairs)} pairs, got the shape {given.shape}"
        )
    if not np.isfinite(given).all():
        raise ValueError("function must return finite numbers, got NaN or infinity")
    return {f"function{number}": given[:, number] for number in range(given.shape[1])}


def _spans_of(log: Events, role: str, n_items: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """The events of each item in each span of time, and the last span of each context."""
    if log.time is None or len(log) == 0:
        return np.zeros((n_items, 0)), np.zeros(log.n(role), dtype=np.int64)
    ends = np.quantile(log.time, np.arange(1, _SPANS) / _SPANS)
    span = np.searchsorted(ends, log.time)
    counts = np.bincount(log.item * np.int64(_SPANS) + span, minlength=n_items * _SPANS)
    last = np.full(log.n(role), -1, dtype=np.int64)
    context = log.codes(role)
    np.maximum.at(last, context[context >= 0], span[context >= 0])
    last[last < 0] = _SPANS - 1  # without events: as of now
    return counts.reshape(n_items, _SPANS).astype(np.float64), last


def _unit(matrix: Csr) -> Csr:
    values = np.ones(matrix.nnz) if matrix.values is None else matrix.values.astype(np.float64)
    norms = np.sqrt(np.bincount(matrix.row_of_entries(), values**2, minlength=len(matrix)))
    scaled = values / np.maximum(norms, 1e-12)[matrix.row_of_entries()]
    return Csr(matrix.indptr, matrix.indices, matrix.n_cols, scaled.astype(np.float32))
