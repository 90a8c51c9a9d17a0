"""Metrics of judged rows: graded relevance, and the conventions that published tables keep.

A convention says which labels are relevant, what a label gains, what a rank discounts, and what becomes of
queries that are short. Every function takes all queries at once and gives one value a query.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from topwise.data import Judgments
from topwise.evaluation.metrics import Integers, Lists, Metric, Ranking, Values
from topwise.evaluation.report import Report

DEFAULT_METRICS = ("ndcg@10", "map", "mrr")
MAX_GRADE = 4


class Scorer(Protocol):
    """What evaluation on judgments needs of a model: a score for each row, higher is better."""

    def score(self, judged: Judgments) -> npt.NDArray[Any]: ...


@dataclass(frozen=True)
class Convention:
    """What is relevant, gained and discounted.

    "standard" is that of ir-measures and scikit-learn: labels are gains, 1/log2(rank + 1), labels from 1 on
    are relevant, equal scores share what they gain. "letor4" is that of the evaluation script of LETOR 4.0:
    gains 2^label − 1, discounts 1, 1, 1/log2(3), 1/log2(4), …, no ndcg@k with fewer than k rows, equal scores
    in the order of the file. "mslr" is the same with labels of at least 2 as the relevant ones.
    In all of them, a query with nothing relevant has the value 0 and counts in the mean.
    """

    name: str
    least_relevant: float
    letor: bool

    def gain(self, labels: npt.NDArray[Any]) -> Values:
        """What a row adds to the DCG before its discount."""
        exact = labels.astype(np.float64)
        return np.exp2(exact) - 1 if self.letor else exact

    def discount(self, rank: Integers) -> Values:
        """What the rank of a row makes of its gain."""
        return 1 / np.log2(np.maximum(rank, 2)) if self.letor else 1 / np.log2(rank + 1)


CONVENTIONS = {
    "standard": Convention("standard", 1, letor=False),
    "letor4": Convention("letor4", 1, letor=True),
    "mslr": Convention("mslr", 2, letor=True),
}


@dataclass(frozen=True, eq=False)
class Ordered:
    """Rows in the order that scores give them, query by query."""

    labels: npt.NDArray[np.float32]
    scores: npt.NDArray[np.float64]
    indptr: Integers

    @classmethod
    def by(cls, judged: Judgments, scores: npt.NDArray[np.float64], ties: Values | None = None) -> Ordered:
        """Higher scores first; equal ones by the higher `ties`, or as they stand in the judgments."""
        query = judged.query_of_rows()
        keys = (-scores, query) if ties is None else (-ties, -scores, query)
        order = np.lexsort(keys)
        return cls(judged.labels[order], scores[order], judged.indptr)

    @cached_property
    def length(self) -> Integers:
        """How many rows each query has."""
        return np.diff(self.indptr)

    @cached_property
    def query(self) -> Integers:
        """The query of each row."""
        return np.repeat(np.arange(len(self.length)), self.length)

    @cached_property
    def rank(self) -> Integers:
        """1, 2, … within each query."""
        return np.arange(1, len(self.labels) + 1) - np.repeat(self.indptr[:-1], self.length)

    def total(self, values: Values, k: int | None = None) -> Values:
        """The sum of values of each query, up to rank k."""
        within = values if k is None else np.where(self.rank <= k, values, 0.0)
        return np.bincount(self.query, within, minlength=len(self.length)).astype(np.float64)

    def running(self, values: Values) -> Values:
        """The sum of values from the top of the query to each row."""
        sums = np.cumsum(values)
        running: Values = sums - np.repeat(sums[self.indptr[:-1]] - values[self.indptr[:-1]], self.length)
        return running

    def shared(self, values: Values) -> Values:
        """Values as their means over rows of the same query and score."""
        new = np.diff(self.query, prepend=-1) != 0
        new[1:] |= self.scores[1:] != self.scores[:-1]
        group = np.cumsum(new) - 1
        means: Values = np.bincount(group, values) / np.bincount(group)
        spread: Values = means[group]
        return spread

    def lists(self, least_relevant: float) -> Lists:
        """Where the relevant rows stand, of all queries that have one."""
        relevant = self.labels >= least_relevant
        count = np.bincount(self.query[relevant], minlength=len(self.length))
        indptr = np.concatenate([[0], np.cumsum(count[count > 0])]).astype(np.int64)
        return Lists(self.rank[relevant], indptr, count[count > 0], self.length[count > 0])


@dataclass(frozen=True, eq=False)
class Judged:
    """Judgments with scores, ready for metrics."""

    judged: Judgments
    scores: npt.NDArray[np.float64]
    convention: Convention
    max_grade: float

    @cached_property
    def order(self) -> Ordered:
        """By score, ties as they stand."""
        return Ordered.by(self.judged, self.scores)

    @cached_property
    def ideal(self) -> Ordered:
        """By label."""
        return Ordered.by(self.judged, self.judged.labels.astype(np.float64))

    @cached_property
    def orders(self) -> tuple[Ordered, ...]:
        """The orders that a metric is averaged over: one, or the best and the worst for equal scores."""
        if self.convention.letor:
            return (self.order,)
        labels = self.judged.labels.astype(np.float64)
        return (
            Ordered.by(self.judged, self.scores, labels),
            Ordered.by(self.judged, self.scores, -labels),
        )

    @cached_property
    def relevant(self) -> Integers:
        """How many relevant rows each query has."""
        relevant = self.order.labels >= self.convention.least_relevant
        return self.order.total(relevant.astype(np.float64)).astype(np.int64)

    def values(self, metric: Metric) -> Values:
        """One value a query."""
        if metric.kind == "ndcg":
            return self._ndcg(metric.k)
        if metric.kind == "mean_ndcg":
            return self._mean_ndcg()
        if metric.kind == "err":
            values: Values = np.stack([self._err(order, metric.k) for order in self.orders]).mean(axis=0)
            return values
        lists = [order.lists(self.convention.least_relevant) for order in self.orders]
        out = np.zeros(self.judged.n_queries)
        if len(lists[0]):
            out[self.relevant > 0] = metric.values(Ranking(lists[0], lists[-1]))
        return out

    @cached_property
    def _gains(self) -> tuple[Values, Values]:
        """The discounted gains of the rows as ordered, and of the ideal order."""
        convention = self.convention
        gain = convention.gain(self.order.labels)
        if not convention.letor:
            gain = self.order.shared(gain)
        ideal = convention.gain(self.ideal.labels)
        return gain * convention.discount(self.order.rank), ideal * convention.discount(self.ideal.rank)

    def _ndcg(self, k: int | None) -> Values:
        found, ideal = self._gains
        best = self.ideal.total(ideal, k)
        out = np.zeros(len(best))
        counts = best > 0
        if k is not None and self.convention.letor:
            counts &= self.order.length >= k
        out[counts] = self.order.total(found, k)[counts] / best[counts]
        return out

    def _mean_ndcg(self) -> Values:
        """The mean of ndcg@1, …, ndcg@n over a query's n rows: LETOR's MeanNDCG."""
        found, ideal = self._gains
        best = self.ideal.running(ideal)
        some = np.repeat(self.ideal.total(ideal) > 0, self.order.length)
        each = np.zeros(len(best))
        each[some] = self.order.running(found)[some] / best[some]
        mean: Values = self.order.total(each) / self.order.length
        return mean

    def _err(self, order: Ordered, k: int | None) -> Values:
        """Σ_r 1/r R_r Π_{i<r} (1 − R_i) with R = (2^label − 1)/2^max_grade (Chapelle et al., 2009)."""
        stops = (np.exp2(order.labels.astype(np.float64)) - 1) / np.exp2(self.max_grade)
        logs: Values = np.log1p(-stops)
        reached: Values = np.exp(order.running(logs) - logs)
        return order.total(reached * stops / order.rank, k)


def evaluate_judged(
    model: Scorer | npt.NDArray[Any],
    judged: Judgments,
    metrics: tuple[Metric, ...],
    convention: str,
    max_grade: float,
    *,
    confidence: float,
    resamples: int,
    seed: int,
) -> Report:
    """What `evaluate` does with judgments."""
    if convention not in CONVENTIONS:
        raise ValueError(f"convention must be one of {', '.join(map(repr, CONVENTIONS))}, got {convention!r}")
    if len(judged) == 0:
        raise ValueError("judgments must have at least one row, got none")
    for metric in metrics:
        if metric.needs_catalogue:
            raise ValueError(
                f"{metric.name} is for models with a catalogue, not for judgments: take ndcg, map, mrr, "
                "err, mean_ndcg, precision, recall, hit or capped_recall"
            )
    highest = float(judged.labels.max())
    if any(metric.kind == "err" for metric in metrics) and highest > max_grade:
        raise ValueError(
            f"err needs max_grade to be at least the largest label, {highest:g}, got {max_grade:g}"
        )
    scores = scores_of(model, judged)
    board = Judged(judged, scores, CONVENTIONS[convention], max_grade)
    return Report(
        metrics=metrics,
        values=np.stack([board.values(metric) for metric in metrics]),
        context_ids={"query": judged.qids},
        relevant=board.relevant,
        unseen_contexts=0,
        unseen_items=0,
        excluded_events=0,
        repeated_events=0,
        confidence=confidence,
        resamples=resamples,
        seed=seed,
        convention=convention,
    )


def scores_of(model: Scorer | npt.NDArray[Any], judged: Judgments) -> npt.NDArray[np.float64]:
    """A finite score for each row, by a model or as they are given."""
    if isinstance(model, np.ndarray):
        name, given = "scores", model
    elif callable(getattr(model, "score", None)):
        name, given = f"the scores of a {type(model).__name__}", model.score(judged)
    else:
        raise TypeError(
            "on judgments, model must be an array of scores or have a method score(judged), "
            f"got {type(model).__name__}"
        )
    scores = np.asarray(given, dtype=np.float64)
    if scores.shape != (len(judged),):
        raise ValueError(f"{name} must be one for each of {len(judged)} rows, got the shape {scores.shape}")
    if not np.isfinite(scores).all():
        row = int(np.argmax(~np.isfinite(scores)))
        raise ValueError(f"{name} must be finite, got {scores[row]} in row {row}")
    return scores
