"""L-GMML: local metrics with anchors, whose weighted distances rank documents (Su, King and Lyu, 2017)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from topwise.data import Judgments, Normalize
from topwise.metric_learning import (
    RULES,
    Candidates,
    LocalMetrics,
    MetricLearner,
    WarpSettings,
)
from topwise.metric_learning.explain import Explanation, take_apart
from topwise.metric_learning.geometric import Matrix, check_t
from topwise.metric_learning.rules import Weights
from topwise.metric_learning.search import (
    TRAIN_ROWS,
    VALIDATION_ROWS,
    Settings,
    Trial,
    climb,
    some_queries,
    worst_of_ties,
)
from topwise.models.feature_ranker import FeatureRanker, Scores
from topwise.models.gmml import Prior, check_geometry, cores
from topwise.models.params import check_above_zero, check_choice, check_count

if TYPE_CHECKING:
    from topwise.models.files import Tensors

NEGATIVES = ("lower", "zero")
# What validation chooses among, in this order; of each the first is taken without validation.
GRID: dict[str, tuple[float, ...]] = {
    "regularization": (0.1, 1.0, 10.0),
    "t": (0.5, 0.75, 1.0),
    "rank": (1, 4, 0),
    "scale": (0.1, 0.3),
    "init": (0.3, 0.1, 1.0, 10.0),
    "margin": (1.0, 0.3, 0.1, 0.01),
    "learning_rate": (0.03, 0.01, 0.1, 0.3),
}


class LGMML(FeatureRanker):
    """score = −Σ_r Δ(r) e^{−‖p − p_r‖} ‖p − p_r‖, each norm under a metric M_r of its own (equation 13).

    M_r is the geometric mean metric of a sample of candidate sets, and the anchor p_r the relevant document
    that ranks them best by it. Δ ≥ 0 is learned by the WARP loss with NDCG's weights (Algorithm 2).
    Parameters that are None are chosen on validation, among few values, one after the other; without
    validation they have the first value given.

    Parameters
    ----------
    metrics: m, the number of local metrics; 1 is global GMML.
    t: where each metric is on the way from S⁻¹ (0) to D (1). None: ½, ¾, 1.
    regularization: λ, as a share of the features' variance. None: 0.1, 1, 10.
    prior: the metric that λ draws M to, in the features' scale after `normalize`; None is the identity.
    rank: each M as its best approximation of so low a rank, or "full". None: 1, 4, "full".
    queries_per_metric: the candidate sets that a metric is learned from. None takes 1, 2, 4, … 64 in turn.
    judges: queries that choose an anchor: those of the metric, filled up to this number.
    anchors: "documents"; or "query", where rows are differences between documents and their query, and the
        query itself is every anchor (see `topwise.metric_learning.similarity_judgments`).
    scale: the mean distance of documents to an anchor, since e^{−z} z falls again where z > 1. None: 0.1,
        0.3.
    unseen: Δ of queries that training did not see: "ones"; "mean", of the trained Δ_q; "shared", one trained
        for all queries; "kernel", the mean of the Δ_q weighted by the likeness of candidate sets. None is
        "shared", or with validation the best of the four.
    negatives: "lower", of any lower grade; or "zero", of grade 0, as in the paper.
    init: the first Δ. None: 0.3, 0.1, 1, 10.
    margin: γ. None: 1, 0.3, 0.1, 0.01.
    learning_rate: μ, which falls to 0. None: 0.03, 0.01, 0.1, 0.3.
    epochs: passes over the positives.
    max_trials: draws after which a positive counts as well placed.
    normalize: "standard" (the default), "l2" (the paper's), "minmax" or None; with anchors="query", "l2" or
        None.
    metric, convention: what validation looks at.
    threads: None is all cores; the model does not depend on their number.
    seed: of everything random.
    """

    _bar: Any = None  # while fitting

    def __init__(
        self,
        metrics: int = 50,
        *,
        t: float | None = None,
        regularization: float | None = None,
        prior: Prior = None,
        rank: int | str | None = None,
        queries_per_metric: int | None = None,
        judges: int = 64,
        anchors: str = "documents",
        scale: float | None = None,
        unseen: str | None = None,
        negatives: str = "lower",
        init: float | None = None,
        margin: float | None = None,
        learning_rate: float | None = None,
        epochs: int = 20,
        max_trials: int = 1000,
        normalize: str | None = "standard",
        metric: str = "ndcg@10",
        convention: str = "standard",
        threads: int | None = None,
        seed: int = 0,
    ) -> None:
        self.metrics = metrics
        self.t = t
        self.regularization = regularization
        self.prior = prior
        self.rank = rank
        self.queries_per_metric = queries_per_metric
        self.judges = judges
        self.anchors = anchors
        self.scale = scale
        self.unseen = unseen
        self.negatives = negatives
        self.init = init
        self.margin = margin
        self.learning_rate = learning_rate
        self.epochs = epochs
        self.max_trials = max_trials
        self.normalize = normalize
        self.metric = metric
        self.convention = convention
        self.threads = threads
        self.seed = seed

    metrics_: LocalMetrics
    weights_: Weights
    settings_: Settings
    qids_: list[Any]
    anchor_names_: list[str]

    def check_params(self) -> None:
        """Refuses parameters that cannot be trained with."""
        super().check_params()
        check_count("metrics", self.metrics)
        check_geometry(self)
        if self.t is not None:
            check_t(self.t)
        if isinstance(self.rank, str):
            check_choice("rank", self.rank, ("full",))
        elif self.rank is not None:
            check_count("rank", self.rank)
        if self.queries_per_metric is not None:
            check_count("queries_per_metric", self.queries_per_metric)
        if self.unseen is not None:
            check_choice("unseen", self.unseen, RULES)
        check_choice("negatives", self.negatives, NEGATIVES)
        for name in ("scale", "init", "margin", "learning_rate"):
            if getattr(self, name) is not None:
                check_above_zero(name, getattr(self, name))
        check_count("epochs", self.epochs)
        check_count("max_trials", self.max_trials)

    # --- fitting ------------------------------------------------------------------------------------------

    def fit(
        self, judged: Judgments, validation: Judgments | None = None, *, progress: bool | None = None
    ) -> Self:
        """Learns from judgments. `progress` shows a bar (None: in a terminal only)."""
        from tqdm import tqdm

        with tqdm(unit=" metrics", disable=None if progress is None else not progress) as bar:
            self._bar = bar
            try:
                return super().fit(judged, validation)
            finally:
                self._bar = None

    def _fit(self, judged: Judgments, validation: Judgments | None) -> None:
        fixed, grid = self._given()
        learner = self._learner(judged)
        rule = "shared" if self.unseen is None else self.unseen
        settings = fixed
        if validation is not None and (grid or self.unseen is None):
            some = some_queries(judged, TRAIN_ROWS, self.seed)
            trial = Trial(
                learner if some is judged else self._learner(some),
                some_queries(validation, VALIDATION_ROWS, self.seed),
                self._prior(),
                self._warp,
                self._quality,
                rule,
            )
            settings = climb(fixed, grid, trial)
            if self.unseen is None:
                rule = max(RULES, key=lambda each: float(trial(settings, each).mean()))
        self.settings_ = settings
        self.metrics_ = learner.learn(settings.metric(self._prior()), settings.scale)
        distances = self.metrics_.distances(learner.features, cores(self))
        candidates = Candidates(judged, distances, self.negatives)
        del distances
        self.weights_ = Weights.learn(rule, judged, candidates, self._warp(settings), cores(self))
        self.qids_ = judged.qids.tolist()
        self.anchor_names_ = [_name(judged, row) for row in self.metrics_.rows.tolist()]

    def _given(self) -> tuple[Settings, dict[str, tuple[float, ...]]]:
        """The settings as asked for, and the values of those that are to be chosen."""
        grid = dict(GRID)
        if self.anchors == "query":  # distances from a query have no side: one direction is not enough
            grid["rank"] = (0, 16, 4)
        first = {name: values[0] for name, values in grid.items()}
        for name in list(grid):
            asked = getattr(self, name)
            if asked is not None:
                first[name] = 0 if asked == "full" else asked
                del grid[name]
        first["rank"] = int(first["rank"])
        return Settings(**first), grid  # type: ignore[arg-type]

    def _learner(self, judged: Judgments) -> MetricLearner:
        return MetricLearner(
            judged,
            self.metrics,
            self.queries_per_metric,
            self.judges,
            self.anchors == "query",
            cores(self),
            self.seed,
            self._tick,
        )

    def _prior(self) -> Matrix | None:
        return None if self.prior is None else np.asarray(self.prior, dtype=np.float64)

    def _warp(self, settings: Settings) -> WarpSettings:
        return WarpSettings(
            settings.margin,
            settings.learning_rate,
            settings.init,
            self.epochs,
            self.max_trials,
            self.negatives,
            self.seed,
        )

    def _quality(self, scores: npt.NDArray[Any], validation: Judgments) -> npt.NDArray[np.float64]:
        from topwise.evaluation import evaluate

        ordered = worst_of_ties(scores, validation)
        report = evaluate(ordered, validation, metrics=self.metric, convention=self.convention)
        return report.per_context(self.metric)

    def _tick(self) -> None:
        """A metric is learned."""
        if self._bar is not None:
            self._bar.update()

    # --- scores -------------------------------------------------------------------------------------------

    @property
    def unseen_(self) -> str:
        """The rule for Δ of queries that training did not see."""
        self._check_fitted()
        return self.weights_.rule

    def delta(self, judged: Judgments, own: bool = False) -> npt.NDArray[np.float32]:
        """Δ of each query, a row of m numbers ≥ 0. `own=True` gives queries of training, by qid, what was
        trained.
        """
        self._check_fitted()
        return self._delta(self._scaled(judged), own)

    def _delta(self, judged: Judgments, own: bool) -> npt.NDArray[np.float32]:
        weights = self.weights_.of(judged)
        if len(weights) == 1:
            weights = np.repeat(weights, judged.n_queries, axis=0)
        if own:
            if self.weights_.own is None:
                raise ValueError(
                    f"unseen={self.unseen_!r} trains no Δ of single queries: "
                    "fit with unseen='mean' or 'kernel'"
                )
            weights = weights.copy()
            known = {qid: number for number, qid in enumerate(self.qids_)}
            for query, qid in enumerate(judged.qids.tolist()):
                if qid in known:
                    weights[query] = self.weights_.own[known[qid]]
        return weights

    def score(self, judged: Judgments, *, own: bool = False) -> Scores:
        """A score for each row, in the order of the rows; higher is better.

        All queries count as not seen in training, and have Δ by the rule `unseen_`. `own=True` gives those of
        training, by their qid, their own Δ_q.
        """
        if not own:
            return super().score(judged)
        self._check_fitted()
        scaled = self._scaled(judged)
        return self._scores(scaled, self._delta(scaled, own=True))

    def _score(self, judged: Judgments) -> npt.NDArray[Any]:
        return self._scores(judged, self.weights_.of(judged))

    def _score_as_given(self, judged: Judgments) -> npt.NDArray[Any]:
        by_column = self.normalize_ is not None and self.normalize_.kind != "minmax"
        if not by_column or self.weights_.likeness is not None:
            return super()._score_as_given(judged)
        return self._scores(judged, self.weights_.shared, self.normalize_)

    def _scores(
        self, judged: Judgments, weights: npt.NDArray[np.float32], normalize: Normalize | None = None
    ) -> Scores:
        used = np.flatnonzero(weights.any(axis=0))
        if len(used) == 0:
            return np.zeros(len(judged))
        query = None if len(weights) == 1 else judged.query_of_rows().astype(np.int32)
        kernel = self.metrics_.take(used).kernel(normalize)
        return kernel.scores(judged.dense(), np.ascontiguousarray(weights[:, used]), query, cores(self))

    def explain(self, judged: Judgments, qid: Any) -> Explanation:
        """What made the scores of a query's documents: anchors, and features."""
        self._check_fitted()
        found = [number for number, each in enumerate(judged.qids.tolist()) if each == qid]
        if not found:
            raise ValueError(
                f"the judgments have no query {qid!r}; they have {', '.join(map(str, judged.qids[:5]))} …"
            )
        one = judged.take(found[:1])
        scaled = self._scaled(one)
        delta = self._delta(scaled, own=False)[0]
        by_anchor, by_feature = take_apart(self.metrics_, scaled.dense(), delta)
        names = self.feature_names_ or [f"feature {number}" for number in range(self.n_features_)]
        return Explanation(
            qid, self.score(one), one.labels, delta, by_anchor, by_feature, self.anchor_names_, names
        )

    # --- files --------------------------------------------------------------------------------------------

    def _tensors(self) -> tuple[Tensors, dict[str, Any]]:
        state = {
            "rule": self.weights_.rule,
            "settings": vars(self.settings_),
            "qids": self.qids_,
            "anchors": self.anchor_names_,
        }
        return {**self.metrics_.tensors(), **self.weights_.tensors()}, state

    def _restore(self, tensors: Tensors, state: dict[str, Any]) -> None:
        self.metrics_ = LocalMetrics.from_tensors(tensors)
        self.weights_ = Weights.from_tensors(state["rule"], tensors)
        self.settings_ = Settings(**state["settings"])
        self.qids_, self.anchor_names_ = state["qids"], state["anchors"]


def _name(judged: Judgments, row: int) -> str:
    """An anchor as a person can find it."""
    if row < 0:
        return "the query"
    query = int(np.searchsorted(judged.indptr, row, side="right")) - 1
    document = row - int(judged.indptr[query]) if judged.docids is None else judged.docids[row]
    return f"document {document} of query {judged.qids[query]}"
