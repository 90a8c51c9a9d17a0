"""Local metrics and their anchors: the first half of Algorithm 2."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from topwise import _core
from topwise.data import Judgments, Normalize
from topwise.metric_learning.geometric import GeometricMean, Matrix, regularised
from topwise.metric_learning.pairs import CandidateSet, Rows, Scatter, candidate_sets, scatter

Floats = npt.NDArray[np.float32]

# At most so many documents are tried as an anchor.
_CANDIDATES = 64
# Without a number of queries for each metric, metrics take these in turn.
_SIZES = (1, 2, 4, 8, 16, 32, 64)
_LANES = 16
# Rows that the scale of distances is measured on.
_SAMPLE = 20_000
_KEPT_BYTES = 1 << 28


@dataclass(frozen=True)
class MetricSettings:
    """How each local metric is made: t and λ of GMML, its rank (None: full), its prior."""

    t: float
    regularization: float
    rank: int | None
    prior: Matrix | None = None


@dataclass
class LocalMetrics:
    """(p_1, M_1) … (p_m, M_m): `factors` are m × d × k, with M_r = L_r L_rᵀ; `anchors` m × d.

    `rows` are the anchors' rows in the training judgments, −1 where the query itself is the anchor.
    """

    factors: Floats
    anchors: Floats
    rows: Rows
    origin: Floats

    @property
    def count(self) -> int:
        """m."""
        return len(self.factors)

    def metric(self, number: int) -> Matrix:
        """M_r."""
        factor = self.factors[number].astype(np.float64)
        product: Matrix = factor @ factor.T
        return product

    def scaled(self, shares: npt.NDArray[np.float64]) -> LocalMetrics:
        """The same with all distances of each metric times a number."""
        factors = (self.factors * shares[:, None, None]).astype(np.float32)
        return LocalMetrics(factors, self.anchors, self.rows, self.origin)

    def take(self, numbers: Rows) -> LocalMetrics:
        """Some of them."""
        return LocalMetrics(self.factors[numbers], self.anchors[numbers], self.rows[numbers], self.origin)

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """Everything, for the file of a model."""
        return {
            "factors": self.factors,
            "anchors": self.anchors,
            "anchor_rows": self.rows,
            "origin": self.origin,
        }

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, npt.NDArray[Any]]) -> LocalMetrics:
        """The same from a file."""
        return cls(tensors["factors"], tensors["anchors"], tensors["anchor_rows"], tensors["origin"])

    def kernel(self, normalize: Normalize | None = None) -> _core.Anchors:
        """Ready for the kernel, which wants the columns of a metric to be a power of two or a multiple of
        16. With `normalize` it takes features as they are: their change of scale is a part of the metrics.
        """
        m, d, k = self.factors.shape
        width = 1 << (k - 1).bit_length() if k <= _LANES else -(-k // _LANES) * _LANES
        columns = np.zeros((m, width, d), dtype=np.float32)
        columns[:, :k] = self.factors.transpose(0, 2, 1)
        apart = (self.anchors - self.origin).astype(np.float64)
        centres = np.einsum("mkd,md->mk", columns.astype(np.float64), apart).astype(np.float32)
        origin = self.origin
        if normalize is not None:  # L_rᵀ((x − shift)·scale − origin)
            scale, shift = normalize.scale_, normalize.shift_
            columns = (columns * scale).astype(np.float32)
            apart = np.divide(origin, scale, out=np.zeros(d), where=scale > 0)
            origin = (apart + shift).astype(np.float32)
        return _core.Anchors(columns.reshape(m * width, d), centres.reshape(-1), origin, width)

    def distances(self, features: Floats, threads: int) -> Floats:
        """‖p − p_r‖ under M_r: a row for each document, a column for each anchor."""
        return self.kernel().distances(features, threads)


class MetricLearner:
    """Makes local metrics of sampled candidate sets, for any settings, from judgments whose scale is set.

    `queries_per_metric` is the size of each sample; None takes 1, 2, 4, … 64 in turn, so that there are
    metrics of one query's neighbourhood and of wider ones. An anchor is one of the sampled relevant
    documents; samples of fewer than `judges` queries are filled up for its choice alone.
    """

    def __init__(
        self,
        judged: Judgments,
        metrics: int,
        queries_per_metric: int | None,
        judges: int,
        of_queries: bool,
        threads: int,
        seed: int,
        tick: Callable[[], object] = lambda: None,
    ) -> None:
        self.judged = judged
        self.features = judged.dense()
        self.of_queries = of_queries
        self.judges = judges
        self.threads = threads
        self.tick = tick
        self._rng = np.random.default_rng([seed, 1])
        self._sets = candidate_sets(judged)
        self.samples, self.turns = self._deal(metrics, queries_per_metric)
        self._juries = [] if of_queries else [self._jury(sample) for sample in self.samples]
        # λ is a share of the spread of the features: they are brought to a mean variance of 1.
        spread = _spread(self.features, of_queries)
        self._unit = 1 / np.sqrt(spread) if spread > 0 else 1.0
        self._sample = self._rows(_SAMPLE)
        self._scatters: dict[int, Scatter] = {}

    def _deal(self, metrics: int, size: int | None) -> tuple[list[list[CandidateSet]], list[int]]:
        """The candidate sets of each metric; and how many metrics before it have the same ones."""
        count = len(self._sets)
        sizes = [count] if metrics == 1 else _SIZES if size is None else [size]
        seen: dict[tuple[int, ...], int] = {}
        samples, turns = [], []
        singles: list[
            int
        ] = []  # single queries are dealt like cards, so that none comes twice before all have
        for number in range(metrics):
            drawn = min(sizes[number % len(sizes)], count)
            if drawn == 1:
                singles = singles or self._rng.permutation(count).tolist()
                chosen = (singles.pop(),)
            else:
                chosen = tuple(np.sort(self._rng.choice(count, drawn, replace=False)).tolist())
            turns.append(seen.get(chosen, 0))
            seen[chosen] = turns[-1] + 1
            samples.append([self._sets[i] for i in chosen])
        return samples, turns

    def _jury(self, sample: list[CandidateSet]) -> list[CandidateSet]:
        """The sample, made as large as the number of judges."""
        if len(sample) >= self.judges:
            order = self._rng.choice(len(sample), self.judges, replace=False)
            return [sample[i] for i in np.sort(order)]
        more = self._rng.permutation(len(self._sets))[: self.judges]
        taken = {each.query for each in sample}
        others = [self._sets[i] for i in more if self._sets[i].query not in taken]
        return [*sample, *others[: self.judges - len(sample)]]

    def learn(self, settings: MetricSettings, scale: float | None) -> LocalMetrics:
        """The metrics and their anchors, with distances of `scale` on average over the training documents."""
        return self.rescale(self.learn_unscaled(settings), scale)

    def learn_unscaled(self, settings: MetricSettings) -> LocalMetrics:
        """As GMML gives them."""
        d, m = self.judged.n_features, len(self.samples)
        rank = d if settings.rank is None else min(settings.rank, d)
        factors = np.empty((m, d, rank), dtype=np.float32)
        anchors = np.zeros((m, d), dtype=np.float32)
        rows = np.full(m, -1, dtype=np.int64)
        rng = np.random.default_rng(0)
        whole: Matrix | None = None  # of all queries, which several metrics may share
        for number, sample in enumerate(self.samples):
            every = len(sample) == len(self._sets)
            factor = whole if every and whole is not None else self._factor(number, settings)
            whole = factor if every else whole
            factors[number] = factor
            if not self.of_queries:
                rows[number] = self._anchor(self._juries[number], factor, self.turns[number], rng)
                anchors[number] = self.features[rows[number]]
            self.tick()
        origin = np.zeros(d, dtype=np.float32) if self.of_queries else anchors.mean(axis=0)
        return LocalMetrics(factors, anchors, rows, origin.astype(np.float32))

    def rescale(self, metrics: LocalMetrics, scale: float | None) -> LocalMetrics:
        """With distances of `scale` on average; None leaves them."""
        if scale is None:
            return metrics
        means = metrics.distances(self._sample, self.threads).mean(axis=0, dtype=np.float64)
        return metrics.scaled(np.divide(scale, means, out=np.ones_like(means), where=means > 0))

    def _factor(self, number: int, settings: MetricSettings) -> Matrix:
        pairs = self._scatter(number)
        unit = self._unit**2
        mean = GeometricMean(
            *regularised(
                unit * pairs.similar, unit * pairs.dissimilar, settings.regularization, settings.prior
            )
        )
        return mean.factor(settings.t, settings.rank) * self._unit

    def _scatter(self, number: int) -> Scatter:
        """S and D of a metric, which are the same for all settings and kept while they are small."""
        if number not in self._scatters:
            found = scatter(self.features, self.samples[number], self.of_queries)
            if len(self.samples) * 2 * found.similar.nbytes > _KEPT_BYTES:
                return found
            self._scatters[number] = found
        return self._scatters[number]

    def _anchor(
        self, jury: Sequence[CandidateSet], factor: Matrix, turn: int, rng: np.random.Generator
    ) -> int:
        """The relevant document by whose distances the jury's queries are ranked best; the next best at a
        next turn.
        """
        candidates = np.concatenate([each.relevant for each in jury])
        if len(candidates) > _CANDIDATES:
            candidates = np.sort(rng.choice(candidates, _CANDIDATES, replace=False))
        ends = self.judged.indptr[[each.query + 1 for each in jury]]
        starts = self.judged.indptr[[each.query for each in jury]]
        indptr = np.concatenate([[0], np.cumsum(ends - starts)]).astype(np.int64)
        rows = np.arange(indptr[-1]) + np.repeat(starts - indptr[:-1], ends - starts)
        centre = self.features[candidates].mean(axis=0)
        quality = _core.ndcg_of_places(
            ((self.features[candidates] - centre) @ factor).astype(np.float32),
            ((self.features[rows] - centre) @ factor).astype(np.float32),
            indptr,
            np.exp2(self.judged.labels[rows]) - 1,
            self.threads,
        )
        best = np.argsort(-quality, kind="stable")
        return int(candidates[best[turn % len(best)]])

    def _rows(self, most: int) -> Floats:
        if len(self.features) <= most:
            return self.features
        rows = np.sort(self._rng.choice(len(self.features), most, replace=False))
        return np.ascontiguousarray(self.features[rows])


def _spread(features: Floats, of_queries: bool) -> float:
    """The mean variance of the features; of differences from queries, the mean square."""
    total = 0.0
    for start in range(0, len(features), 65_536):
        block = features[start : start + 65_536].astype(np.float64)
        total += float((block**2).sum())
    mean_square = total / max(features.size, 1)
    if of_queries:
        return mean_square
    means = features.mean(axis=0, dtype=np.float64)
    return max(mean_square - float((means**2).mean()), 1e-12 * mean_square)
