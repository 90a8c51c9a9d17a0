"""GMML: one metric in closed form, and documents ranked by their distance to one anchor."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from topwise.data import Judgments
from topwise.metric_learning import LocalMetrics, MetricLearner, MetricSettings
from topwise.metric_learning.geometric import Matrix, check_t, symmetric
from topwise.metric_learning.search import worst_of_ties
from topwise.models.feature_ranker import FeatureRanker
from topwise.models.params import check_choice, check_count

if TYPE_CHECKING:
    from topwise.models.files import Tensors

ANCHORS = ("documents", "query")
Prior: TypeAlias = npt.NDArray[Any] | list[list[float]] | None


class GMML(FeatureRanker):
    """score = −‖p − p_r‖_M with M = S⁻¹ ♯ₜ D, the geometric mean metric of all candidate sets (Algorithm 1).

    S is the scatter of pairs of each query's highest grade plus λ·prior⁻¹, D that of pairs of its highest
    grade and grade 0 plus λ·prior. The anchor is the relevant document by which the training queries are
    ranked best.

    Parameters
    ----------
    t: where on the way from S⁻¹ (0) to D (1); ½ is the paper's. None tries 0, ¼, ½, ¾ and 1 with validation.
    regularization: λ, as a share of the features' variance. None tries 0.01 … 10 with validation, else 0.1.
    prior: the metric that λ draws M to, in the features' scale after `normalize`; None is the identity.
    rank: M as its best approximation of a lower rank, which is quicker to score with; None is all of it.
    anchors: "documents"; or "query", where rows are differences between documents and their query, and the
        query itself is the anchor (see `topwise.metric_learning.similarity_judgments`).
    judges: the queries that choose the anchor, at most.
    normalize: "standard" (the default), "l2", "minmax" or None; with anchors="query", "l2" or None.
    metric, convention: what validation looks at.
    threads: None is all cores.
    seed: of the choice of judges.
    """

    def __init__(
        self,
        t: float | None = 0.5,
        regularization: float | None = None,
        *,
        prior: Prior = None,
        rank: int | None = None,
        anchors: str = "documents",
        judges: int = 200,
        normalize: str | None = "standard",
        metric: str = "ndcg@10",
        convention: str = "standard",
        threads: int | None = None,
        seed: int = 0,
    ) -> None:
        self.t = t
        self.regularization = regularization
        self.prior = prior
        self.rank = rank
        self.anchors = anchors
        self.judges = judges
        self.normalize = normalize
        self.metric = metric
        self.convention = convention
        self.threads = threads
        self.seed = seed

    metrics_: LocalMetrics
    t_: float
    regularization_: float

    def check_params(self) -> None:
        """Refuses parameters that cannot be trained with."""
        super().check_params()
        if self.t is not None:
            check_t(self.t)
        check_geometry(self)
        if self.rank is not None:
            check_count("rank", self.rank)

    @property
    def metric_(self) -> Matrix:
        """M, in the features' scale after `normalize`."""
        self._check_fitted()
        return self.metrics_.metric(0)

    def _fit(self, judged: Judgments, validation: Judgments | None) -> None:
        learner = MetricLearner(judged, 1, None, self.judges, self.anchors == "query", cores(self), self.seed)
        searched = validation is not None
        ts = (0.0, 0.25, 0.5, 0.75, 1.0) if searched else (0.5,)
        weights = (0.01, 0.1, 1.0, 10.0) if searched else (0.1,)
        best = -np.inf
        for t in ts if self.t is None else (float(self.t),):
            for weight in weights if self.regularization is None else (float(self.regularization),):
                prior = None if self.prior is None else np.asarray(self.prior, dtype=np.float64)
                metrics = learner.learn(MetricSettings(t, weight, self.rank, prior), None)
                quality = 0.0 if validation is None else self._quality(validation, metrics)
                if quality > best:
                    best, self.metrics_, self.t_, self.regularization_ = quality, metrics, t, weight

    def _quality(self, validation: Judgments, metrics: LocalMetrics) -> float:
        from topwise.evaluation import evaluate

        scores = worst_of_ties(self._distances(validation, metrics), validation)
        return evaluate(scores, validation, metrics=self.metric, convention=self.convention)[self.metric]

    def _distances(self, judged: Judgments, metrics: LocalMetrics) -> npt.NDArray[np.float64]:
        return -metrics.distances(judged.dense(), cores(self))[:, 0].astype(np.float64)

    def _score(self, judged: Judgments) -> npt.NDArray[Any]:
        return self._distances(judged, self.metrics_)

    def _tensors(self) -> tuple[Tensors, dict[str, Any]]:
        return self.metrics_.tensors(), {"t": self.t_, "regularization": self.regularization_}

    def _restore(self, tensors: Tensors, state: dict[str, Any]) -> None:
        self.metrics_ = LocalMetrics.from_tensors(tensors)
        self.t_, self.regularization_ = float(state["t"]), float(state["regularization"])


def cores(model: Any) -> int:
    """The threads of a model."""
    return int(model.threads) if model.threads is not None else (os.cpu_count() or 1)


def check_geometry(model: Any) -> None:
    """Refuses what neither GMML nor L-GMML can make metrics with."""
    if model.regularization is not None:
        weight = model.regularization
        if isinstance(weight, bool) or not hasattr(weight, "__float__"):
            raise TypeError(f"regularization must be a number, got {weight!r}")
        if not 0 <= float(weight) < float("inf"):
            raise ValueError(f"regularization must be at least 0 and finite, got {weight}")
    if model.prior is not None:
        symmetric("prior", np.asarray(model.prior, dtype=np.float64))
    check_choice("anchors", model.anchors, ANCHORS)
    if model.anchors == "query" and model.normalize not in (None, "l2"):
        raise ValueError(
            f"normalize={model.normalize!r} would move the query, which is 0 where rows are differences from "
            "it: take normalize='l2' or None with anchors='query'"
        )
    check_count("judges", model.judges)
    if model.threads is not None:
        check_count("threads", model.threads)
    check_count("seed", model.seed, 0)
