"""The peers that topwise is measured against, one small class each, and their best fair settings.

LightFM's WARP, implicit's ALS and BPR, and EASE in closed form (Steck, "Embarrassingly shallow autoencoders
for sparse data", WWW 2019). `peer_quality.py` measures them, and searches their grids again with `--tune`.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits
from trials import Floats, Ints, Trial

from topwise.baselines.ease import ItemWeights

DIM = 64
Grid = dict[str, tuple[Any, ...]]
Report = Callable[[int, float], None]
"""Called with the passes done and the seconds of training that they took."""


class Watch:
    """Reports after the passes that are asked for; the time that a report takes is not training time."""

    def __init__(self, passes: Sequence[int], report: Report | None) -> None:
        self.passes = frozenset(passes)
        self.report = report
        self.started = time.perf_counter()

    def passed(self, count: int) -> None:
        if self.report is None or count not in self.passes:
            return
        now = time.perf_counter()
        self.report(count, now - self.started)
        self.started += time.perf_counter() - now


@dataclass
class Peer:
    """Settings of one side, its training, and its scores for whole catalogues."""

    threads: int = field(default=2, kw_only=True)

    name: ClassVar[str]
    grid: ClassVar[Grid]
    stages: ClassVar[tuple[int, ...]]
    """The numbers of passes tried: the best of them is a setting like the others."""

    def fit(self, trial: Trial, passes: Sequence[int], report: Report | None = None) -> None:
        """Learn from the train part by max(passes) passes."""
        raise NotImplementedError

    def scores(self, users: Ints) -> Floats:
        raise NotImplementedError

    def settings(self) -> str:
        """The settings that the grid varies, as `name value` pairs."""
        return ", ".join(f"{f.name} {getattr(self, f.name)}" for f in fields(self) if f.name in self.grid)


@dataclass
class Factors(Peer):
    """A peer whose scores are dot products of user rows and item rows."""

    seed: int = field(default=0, kw_only=True)
    user_rows: Floats = field(init=False, repr=False)
    item_rows: Floats = field(init=False, repr=False)

    def scores(self, users: Ints) -> Floats:
        return self.user_rows[users] @ self.item_rows.T


@dataclass
class LightFM(Factors):
    """WARP with LightFM's Adagrad; the user biases do not move a ranking and are left out."""

    max_sampled: int = 10
    learning_rate: float = 0.05

    name: ClassVar[str] = "LightFM WARP"
    grid: ClassVar[Grid] = {"max_sampled": (10, 200), "learning_rate": (0.01, 0.02, 0.05, 0.1)}
    stages: ClassVar[tuple[int, ...]] = (5, 10, 15, 20, 30, 40, 50, 60, 80, 100)

    def fit(self, trial: Trial, passes: Sequence[int], report: Report | None = None) -> None:
        import lightfm

        model = lightfm.LightFM(
            no_components=DIM,
            loss="warp",
            max_sampled=self.max_sampled,
            learning_rate=self.learning_rate,
            random_state=self.seed,
        )
        watch = Watch(passes, report)
        positives = trial.train.tocoo()
        for start, end in itertools.pairwise([0, *sorted(passes)]):
            model.fit_partial(positives, epochs=end - start, num_threads=self.threads)
            _, users = model.get_user_representations()
            bias, items = model.get_item_representations()
            self.user_rows = np.column_stack([users, np.ones(len(users), dtype=np.float32)])
            self.item_rows = np.column_stack([items, bias])
            watch.passed(end)


@dataclass
class ALS(Factors):
    """Least squares over all pairs: an absent one weighs 1, a known one alpha times its confidence."""

    regularization: float = 100.0
    alpha: float = 10.0
    confidence: Literal["binary", "log", "raw"] = "binary"
    """1, log(1 + strength), or strength over its median."""

    name: ClassVar[str] = "implicit ALS"
    grid: ClassVar[Grid] = {
        "regularization": (10.0, 30.0, 70.0, 100.0, 200.0, 400.0),
        "alpha": (1.0, 3.0, 7.0, 10.0, 15.0, 30.0, 60.0, 100.0, 200.0),
        "confidence": ("binary", "log", "raw"),
    }
    stages: ClassVar[tuple[int, ...]] = (3, 5, 8, 12, 15, 20)

    def fit(self, trial: Trial, passes: Sequence[int], report: Report | None = None) -> None:
        from implicit.cpu.als import AlternatingLeastSquares

        model = AlternatingLeastSquares(
            factors=DIM,
            regularization=self.regularization,
            alpha=self.alpha,
            iterations=max(passes),
            num_threads=self.threads,
            random_state=self.seed,
        )
        _run_implicit(self, model, self._confidences(trial), Watch(passes, report))

    def _confidences(self, trial: Trial) -> sparse.csr_matrix:
        known = sparse.csr_matrix(trial.strengths)
        if self.confidence == "log":
            known.data = np.log1p(known.data)
        elif self.confidence == "raw":
            known.data = known.data / np.median(known.data)
        else:
            known.data = np.ones_like(known.data)
        return known


@dataclass
class BPR(Factors):
    """Pairwise logistic loss; implicit draws its negatives by popularity."""

    learning_rate: float = 0.01
    regularization: float = 0.001

    name: ClassVar[str] = "implicit BPR"
    grid: ClassVar[Grid] = {
        "learning_rate": (0.001, 0.003, 0.01, 0.03, 0.1),
        "regularization": (0.0003, 0.001, 0.01),
    }
    stages: ClassVar[tuple[int, ...]] = (20, 40, 60, 80, 100, 150, 200, 300)

    def fit(self, trial: Trial, passes: Sequence[int], report: Report | None = None) -> None:
        from implicit.cpu.bpr import BayesianPersonalizedRanking

        model = BayesianPersonalizedRanking(
            factors=DIM,
            learning_rate=self.learning_rate,
            regularization=self.regularization,
            iterations=max(passes),
            verify_negative_samples=True,
            num_threads=self.threads,
            random_state=self.seed,
        )
        _run_implicit(self, model, sparse.csr_matrix(trial.train), Watch(passes, report))


@dataclass
class EASE(Peer):
    """The closed form of `tw.baselines.EASE`, in whichever form is smaller."""

    regularization: float = 500.0
    form: Literal["auto", "primal", "dual"] = "auto"

    name: ClassVar[str] = "EASE"
    grid: ClassVar[Grid] = {"regularization": (30.0, 100.0, 250.0, 500.0, 1000.0, 2000.0)}
    stages: ClassVar[tuple[int, ...]] = (1,)

    def fit(self, trial: Trial, passes: Sequence[int], report: Report | None = None) -> None:
        watch = Watch(passes, report)
        with threadpool_limits(self.threads, "blas"):
            self._weights = ItemWeights.solve(trial.train, self.regularization, self.form)
        watch.passed(1)

    def scores(self, users: Ints) -> Floats:
        return self._weights.scores(users)


def _run_implicit(peer: Factors, model: Any, matrix: sparse.csr_matrix, watch: Watch) -> None:
    """Fit with BLAS on one thread, as implicit asks; its arrays are the peer's from the first pass on."""

    def passed(iteration: int, *_: object) -> None:
        peer.user_rows, peer.item_rows = model.user_factors, model.item_factors
        watch.passed(iteration + 1)

    with threadpool_limits(1, "blas"):
        model.fit(matrix, show_progress=False, callback=passed)


PEERS: tuple[type[Peer], ...] = (LightFM, ALS, BPR, EASE)

CHOSEN: dict[str, tuple[tuple[Peer, int], ...]] = {
    "movielens-1m": (
        (LightFM(200, 0.02), 60),
        (ALS(70.0, 7.0), 20),
        (BPR(0.001, 0.0003), 300),
        (EASE(500.0), 1),
    ),
    "amazon-beauty": (
        (LightFM(200, 0.02), 40),
        (ALS(200.0, 60.0), 20),
        (BPR(0.03, 0.0003), 200),
        (EASE(100.0), 1),
    ),
    "lastfm-hetrec": (
        (LightFM(200, 0.02), 80),
        (ALS(70.0, 15.0), 8),
        (BPR(0.003, 0.0003), 200),
        (EASE(100.0), 1),
    ),
}
"""The best of each grid, with its number of passes, by recall@10 on the validation part of split 0."""
