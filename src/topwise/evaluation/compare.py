"""Whether one model is better than another, or the contexts of the test only happened to suit it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from topwise.evaluation.metrics import Metric
from topwise.evaluation.ranking import check_count
from topwise.evaluation.report import Report
from topwise.evaluation.resampling import bootstrap_intervals, sign_flip_p_value


@dataclass(frozen=True)
class Comparison:
    """The mean difference a − b of a metric over the same contexts, and how sure it is."""

    metric: str
    difference: float
    p_value: float
    interval: tuple[float, float]
    confidence: float
    n_contexts: int

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"{self.metric}: {self.difference:+.4f}, {100 * self.confidence:g} % interval {low:+.4f} to "
            f"{high:+.4f}, p = {self.p_value:.4f}, over {self.n_contexts:,} contexts"
        )


def compare(a: Report, b: Report, metric: str, *, resamples: int = 10_000, seed: int = 0) -> Comparison:
    """The difference a − b between two reports on the same test log, context by context.

    The p-value is that of the paired randomisation test: how often a difference at least as large comes out
    when it is left to a coin, for every context, which value is whose. The interval is a paired bootstrap.
    """
    for name, report in (("a", a), ("b", b)):
        if not isinstance(report, Report):
            raise TypeError(f"{name} must be a report of evaluate, got {type(report).__name__}")
    check_count("resamples", resamples)
    check_count("seed", seed, 0)
    _check_same_contexts(a, b)
    differences = a.per_context(metric) - b.per_context(metric)
    low, high = bootstrap_intervals(differences[None, :], a.confidence, a.resamples, seed)[0]
    return Comparison(
        metric=Metric.parse(metric).name,
        difference=float(differences.mean()),
        p_value=sign_flip_p_value(differences, resamples, seed),
        interval=(float(low), float(high)),
        confidence=a.confidence,
        n_contexts=len(differences),
    )


def _check_same_contexts(a: Report, b: Report) -> None:
    if a.convention != b.convention:
        raise ValueError(
            f"the reports must have the same convention, got {a.convention!r} and {b.convention!r}"
        )
    same = a.roles == b.roles and np.array_equal(a.contexts, b.contexts)
    if not same or not np.array_equal(a.relevant, b.relevant):
        raise ValueError(
            "the reports must be of the same test, but they have other contexts or items to find "
            f"({a.n_relevant} for {a.n_contexts} contexts, and {b.n_relevant} for {b.n_contexts}): "
            "evaluate both with the same test log and exclude"
        )
