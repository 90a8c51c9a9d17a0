"""What Δ is for queries not seen in training, on which the paper is silent: four rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from topwise.data import Judgments
from topwise.metric_learning.local import Floats
from topwise.metric_learning.weights import Candidates, WarpSettings

RULES = ("shared", "mean", "kernel", "ones")
_NEIGHBOURS = 10


@dataclass
class Likeness:
    """The likeness of candidate sets: a Gaussian of the distance between their means and deviations of
    features.
    """

    places: Floats
    centre: Floats
    spread: Floats
    width: float

    @classmethod
    def fit(cls, judged: Judgments) -> Likeness:
        """From training queries; the width is the median distance to the tenth neighbour."""
        raw = describe(judged)
        centre, spread = raw.mean(axis=0), raw.std(axis=0)
        spread[spread == 0] = 1
        places = ((raw - centre) / spread).astype(np.float32)
        sample = places[np.linspace(0, len(places) - 1, min(len(places), 500)).astype(int)]
        squares = _squares(sample, places)
        place = min(_NEIGHBOURS, squares.shape[1] - 1)
        width = float(np.sqrt(np.median(np.partition(squares, place, axis=1)[:, place])))
        return cls(places, centre.astype(np.float32), spread.astype(np.float32), max(width, 1e-6))

    def average(self, judged: Judgments, deltas: Floats) -> Floats:
        """For each query the mean of the rows of `deltas`, weighted by likeness."""
        places = ((describe(judged) - self.centre) / self.spread).astype(np.float32)
        out = np.empty((len(places), deltas.shape[1]), dtype=np.float32)
        for start in range(0, len(places), 1024):
            part = slice(start, start + 1024)
            power = _squares(places[part], self.places) / (-2 * self.width**2)
            power -= power.max(axis=1, keepdims=True)  # the nearest counts, however far it is
            weights = np.exp(power)
            out[part] = (weights / weights.sum(axis=1, keepdims=True)) @ deltas
        return out


def describe(judged: Judgments) -> npt.NDArray[np.float64]:
    """The mean and the deviation of each feature over the candidates of each query."""
    features, starts = judged.dense(), judged.indptr[:-1]
    lengths = judged.lengths()[:, None]
    means = np.add.reduceat(features, starts, axis=0, dtype=np.float64) / lengths
    squares = np.empty_like(means)
    for query in range(judged.n_queries):
        apart = features[judged.rows(query)] - means[query]
        squares[query] = (apart**2).sum(axis=0)
    return np.concatenate([means, np.sqrt(squares / lengths)], axis=1)


def _squares(a: Floats, b: Floats) -> npt.NDArray[np.float64]:
    total = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1)[None, :] - 2 * a @ b.T
    squares: npt.NDArray[np.float64] = np.maximum(total, 0).astype(np.float64)
    return squares


@dataclass
class Weights:
    """Δ by a rule: one row for all queries, or a row for each training query, with how to carry it over.

    `own` has the Δ_q of the training queries, where the rule has trained any.
    """

    rule: str
    shared: Floats
    own: Floats | None = None
    likeness: Likeness | None = None

    @classmethod
    def learn(
        cls, rule: str, judged: Judgments, candidates: Candidates, settings: WarpSettings, threads: int
    ) -> Weights:
        """Trains what the rule needs: nothing, one Δ, or one of each query."""
        if rule == "ones":
            return cls(rule, np.ones((1, candidates.anchors), dtype=np.float32))
        if rule == "shared":
            return cls(rule, candidates.learn(settings, True, threads))
        own = candidates.learn(settings, False, threads)
        trained = candidates.trained
        mean = own[trained].mean(axis=0, keepdims=True, dtype=np.float64).astype(np.float32)
        if rule == "mean":
            return cls(rule, mean, own)
        if not trained.all():  # a query with nothing to learn says nothing
            own = np.where(trained[:, None], own, mean).astype(np.float32)
        return cls(rule, mean, own, Likeness.fit(judged))

    def of(self, judged: Judgments) -> Floats:
        """Δ for queries not seen in training: one row for all, or a row for each."""
        if self.likeness is None or self.own is None:
            return self.shared
        return self.likeness.average(judged, self.own)

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """Everything, for the file of a model."""
        tensors: dict[str, npt.NDArray[Any]] = {"delta": self.shared}
        if self.own is not None:
            tensors["deltas"] = self.own
        if self.likeness is not None:
            likeness = self.likeness
            tensors |= {"places": likeness.places, "centre": likeness.centre, "spread": likeness.spread}
            tensors["width"] = np.array([likeness.width])
        return tensors

    @classmethod
    def from_tensors(cls, rule: str, tensors: Mapping[str, npt.NDArray[Any]]) -> Weights:
        """The same from a file."""
        likeness = None
        if "places" in tensors:
            width = float(tensors["width"][0])
            likeness = Likeness(tensors["places"], tensors["centre"], tensors["spread"], width)
        return cls(rule, tensors["delta"], tensors.get("deltas"), likeness)
