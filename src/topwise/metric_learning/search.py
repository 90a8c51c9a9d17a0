"""The settings of L-GMML that are chosen on validation: a few of each, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from topwise.data import Judgments
from topwise.metric_learning.geometric import Matrix
from topwise.metric_learning.local import Floats, LocalMetrics, MetricLearner, MetricSettings
from topwise.metric_learning.rules import Weights
from topwise.metric_learning.weights import Candidates, WarpSettings, psi

# More rows than these do not change a choice that is worth making.
TRAIN_ROWS, VALIDATION_ROWS = 100_000, 50_000

Values = npt.NDArray[np.float64]
Quality = Callable[[npt.NDArray[Any], Judgments], Values]


@dataclass(frozen=True)
class Settings:
    """Everything about a fit that may be chosen. `rank=0` is the full rank."""

    t: float
    regularization: float
    rank: int
    scale: float
    margin: float
    learning_rate: float
    init: float

    def metric(self, prior: Matrix | None) -> MetricSettings:
        """Of the local metrics."""
        return MetricSettings(self.t, self.regularization, self.rank or None, prior)


class Trial:
    """Fits on training judgments and looks at validation, for any settings. What settings share is kept."""

    def __init__(
        self,
        learner: MetricLearner,
        validation: Judgments,
        prior: Matrix | None,
        warp: Callable[[Settings], WarpSettings],
        quality: Quality,
        rule: str,
    ) -> None:
        self.learner = learner
        self.validation = validation
        self._prior = prior
        self._warp = warp
        self._quality = quality
        self.rule = rule
        self._distances: dict[MetricSettings, tuple[Floats, Floats]] = {}
        self._found: dict[tuple[Settings, str], Values] = {}

    def __call__(self, settings: Settings, rule: str | None = None) -> Values:
        """The quality of a fit with these settings, a value for each query of validation."""
        rule = self.rule if rule is None else rule
        if (settings, rule) not in self._found:
            train, validation = self._both(settings)
            judged, threads = self.learner.judged, self.learner.threads
            warp = self._warp(settings)
            weights = Weights.learn(
                rule, judged, Candidates(judged, train, warp.negatives), warp, threads
            ).of(self.validation)
            each = weights if len(weights) == 1 else weights[self.validation.query_of_rows()]
            scores = -(psi(validation).astype(np.float64) * each).sum(axis=1)
            self._found[settings, rule] = self._quality(scores, self.validation)
        return self._found[settings, rule]

    def _both(self, settings: Settings) -> tuple[Floats, Floats]:
        """Distances of the training and the validation documents."""
        asked = replace(settings.metric(None), prior=None)
        if asked not in self._distances:
            metrics: LocalMetrics = self.learner.learn_unscaled(settings.metric(self._prior))
            threads = self.learner.threads
            self._distances = {  # of the last settings alone, since these are large
                asked: (
                    metrics.distances(self.learner.features, threads),
                    metrics.distances(self.validation.dense(), threads),
                )
            }
        train, validation = self._distances[asked]
        means = train.mean(axis=0, dtype=np.float64)
        shares = np.divide(settings.scale, means, out=np.ones_like(means), where=means > 0)
        return (train * shares).astype(np.float32), (validation * shares).astype(np.float32)


def climb(
    start: Settings, grid: Mapping[str, Sequence[float]], quality: Callable[[Settings], Values]
) -> Settings:
    """One setting after the other takes the value of its grid that is best with the others as they are."""
    best, reached = start, quality(start)
    for name, values in grid.items():
        for value in values:
            change: dict[str, Any] = {name: value}
            tried = replace(best, **change)
            if tried != best and is_better(found := quality(tried), reached):
                best, reached = tried, found
    return best


def is_better(values: Values, than: Values) -> bool:
    """Whether the mean over queries is larger by more than one standard error of the difference.

    The best of many choices is best by chance as well: on the few queries of a validation fold, taking it
    outright does worse on other queries than no choice at all.
    """
    apart = values - than
    if len(apart) < 2:
        return bool(apart.sum() > 0)
    return bool(apart.mean() > apart.std(ddof=1) / np.sqrt(len(apart)))


def some_queries(judged: Judgments, rows: int, seed: int) -> Judgments:
    """All of the judgments, or so many queries that there are about so many rows."""
    if len(judged) <= rows:
        return judged
    count = max(2, int(judged.n_queries * rows / len(judged)))
    chosen = np.random.default_rng([seed, 2]).choice(judged.n_queries, count, replace=False)
    return judged.take(np.sort(chosen))


def worst_of_ties(scores: npt.NDArray[Any], judged: Judgments) -> npt.NDArray[np.float64]:
    """Scores in the same order without ties: of equal ones the less relevant row comes first.

    Some conventions count ties as the mean of their best and their worst order. A model that scores all rows
    the same would then be a good one, and might be chosen.
    """
    order = np.lexsort((judged.labels, -np.asarray(scores, dtype=np.float64)))
    places = np.empty(len(order))
    places[order] = -np.arange(len(order))
    return places
