"""Metric learning to rank: MLR (McFee and Lanckriet, 2010), R-MLR (Lim, McFee and Lanckriet, 2013)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from topwise.baselines.rankings import LOSSES, most_violated
from topwise.data import Judgments
from topwise.metric_learning.geometric import Matrix
from topwise.metric_learning.search import worst_of_ties
from topwise.models.feature_ranker import FeatureRanker
from topwise.models.gmml import ANCHORS
from topwise.models.params import check_above_zero, check_choice, check_count

if TYPE_CHECKING:
    from topwise.models.files import Tensors

# How often ADMM goes on with the same planes before it takes another one unconverged.
_RUNS = 3
# ADMM's penalty is renewed now and then, since each change makes it forget.
_BALANCED = 10
_AGREED = 1e-2

GRID = (10.0, 100.0, 1000.0)


class MLR(FeatureRanker):
    """score = −xᵀ W x, with W ⪰ 0 that minimises tr(W) + C · R(W), R the structural hinge loss of rankings.

    R(W) = mean_q max_y [Δ(y*_q, y) − ⟨W, ψ(q, y*_q) − ψ(q, y)⟩]₊ over all rankings y of a query's rows, where
    ψ(q, y) = 1/(P N) Σ ±(x_j x_jᵀ − x_i x_iᵀ) over relevant i and others j. Cutting planes of one slack: the
    rankings most violated now make one more plane, and ADMM solves the problem with the planes so far, by a
    small quadratic programme in their duals and a projection onto W ⪰ 0 (an eigenproblem of d × d a step).

    Parameters
    ----------
    C: the weight of the loss. None tries 10, 100 and 1000 with validation, else it is 100.
    loss: Δ: "ndcg", "map" or "auc". Rows with labels above 0 are relevant.
    anchors: "query", where rows are differences between documents and their query; or "documents", where
        distances are from the mean of each training query's highest labels.
    max_planes: cutting planes, at most.
    steps: of ADMM for each plane, at most.
    tolerance: how much more than the planes' loss the true one may be at the end.
    normalize: "l2" (the default), "standard", "minmax" or None; with anchors="query", "l2" or None.
    metric, convention: what validation looks at.
    seed: there for the sake of a common interface; nothing is random.
    """

    _robust: ClassVar[bool] = False

    def __init__(
        self,
        C: float | None = None,
        *,
        loss: str = "ndcg",
        anchors: str = "query",
        max_planes: int = 50,
        steps: int = 100,
        tolerance: float = 1e-2,
        normalize: str | None = "l2",
        metric: str = "ndcg@10",
        convention: str = "standard",
        seed: int = 0,
    ) -> None:
        self.C = C
        self.loss = loss
        self.anchors = anchors
        self.max_planes = max_planes
        self.steps = steps
        self.tolerance = tolerance
        self.normalize = normalize
        self.metric = metric
        self.convention = convention
        self.seed = seed

    metric_: Matrix
    anchor_: npt.NDArray[np.float64]
    C_: float
    planes_: int

    def check_params(self) -> None:
        """Refuses parameters that cannot be trained with."""
        super().check_params()
        if self.C is not None:
            check_above_zero("C", self.C)
        check_choice("loss", self.loss, LOSSES)
        check_choice("anchors", self.anchors, ANCHORS)
        if self.anchors == "query" and self.normalize not in (None, "l2"):
            raise ValueError(
                f"normalize={self.normalize!r} would move the query, which is 0 where rows are differences "
                "from it: take normalize='l2' or None with anchors='query'"
            )
        check_count("max_planes", self.max_planes)
        check_count("steps", self.steps)
        check_above_zero("tolerance", self.tolerance)

    def _fit(self, judged: Judgments, validation: Judgments | None) -> None:
        features = judged.dense().astype(np.float64)
        self.anchor_ = np.zeros(judged.n_features)
        if self.anchors == "documents":
            highest = np.maximum.reduceat(judged.labels, judged.indptr[:-1])[judged.query_of_rows()]
            self.anchor_ = features[(judged.labels == highest) & (highest > 0)].mean(axis=0)
            features -= self.anchor_
        # C means the same on any scale of the features.
        unit = float(np.sqrt((features**2).mean())) or 1.0
        planes = Planes(features / unit, judged, self.loss)
        asked = self.C if self.C is not None or validation is not None else 100.0
        best = -np.inf
        for weight in GRID if asked is None else (float(asked),):
            metric, count = self._solve(planes.copy(), weight)
            metric /= unit**2
            quality = 0.0 if validation is None else self._quality(validation, metric)
            if quality > best:
                best, self.metric_, self.C_, self.planes_ = quality, metric, weight, count

    def _solve(self, planes: Planes, weight: float) -> tuple[Matrix, int]:
        """The cutting planes' loop."""
        admm = Admm(planes.width, weight, self._robust)
        for count in range(self.max_planes):
            # A plane is worth adding only where the last ones are obeyed: more steps, until they are.
            if planes.add(admm.metric) <= planes.loss(admm.metric, without_last=True) + self.tolerance:
                return admm.metric, count
            for _ in range(_RUNS):
                if admm.run(planes, self.steps):
                    break
        return admm.metric, self.max_planes

    def _quality(self, validation: Judgments, metric: Matrix) -> float:
        from topwise.evaluation import evaluate

        scores = worst_of_ties(self._by(validation, metric), validation)
        return evaluate(scores, validation, metrics=self.metric, convention=self.convention)[self.metric]

    def _by(self, judged: Judgments, metric: Matrix) -> npt.NDArray[np.float64]:
        apart = judged.dense().astype(np.float64) - self.anchor_
        scores: npt.NDArray[np.float64] = -np.einsum("nd,nd->n", apart @ metric, apart)
        return scores

    def _score(self, judged: Judgments) -> npt.NDArray[Any]:
        return self._by(judged, self.metric_)

    def _tensors(self) -> tuple[Tensors, dict[str, Any]]:
        return {"metric": self.metric_, "anchor": self.anchor_}, {"C": self.C_, "planes": self.planes_}

    def _restore(self, tensors: Tensors, state: dict[str, Any]) -> None:
        self.metric_, self.anchor_ = tensors["metric"], tensors["anchor"]
        self.C_, self.planes_ = float(state["C"]), int(state["planes"])


class RMLR(MLR):
    """Robust MLR: in place of tr(W), ‖W‖₂,₁, the sum of the norms of its rows: useless features get none."""

    _robust: ClassVar[bool] = True


class Planes:
    """R(W) ≥ b_k − ⟨W, A_k⟩ for the rankings found so far."""

    def __init__(self, features: Matrix, judged: Judgments, loss: str) -> None:
        relevant = judged.labels > 0
        count = np.add.reduceat(relevant, judged.indptr[:-1], dtype=np.int64)
        self._queries = [
            judged.rows(q) for q in np.flatnonzero((count > 0) & (count < judged.lengths())).tolist()
        ]
        if not self._queries:
            raise ValueError(
                "judgments must have a query with rows of label 0 and rows above it: no other counts"
            )
        self._features, self._relevant, self._loss = features, relevant, loss
        self.width = features.shape[1]
        self.matrices: list[Matrix] = []
        self.losses: list[float] = []
        self.products = np.empty((0, 0))

    def copy(self) -> Planes:
        """The same queries, without planes."""
        twin = object.__new__(Planes)
        vars(twin).update(vars(self), matrices=[], losses=[], products=np.empty((0, 0)))
        return twin

    def add(self, metric: Matrix) -> float:
        """Adds the plane of the rankings most violated by W; returns R(W), which is its height there."""
        scores = -np.einsum("nd,nd->n", self._features @ metric, self._features)
        weights = np.zeros(len(scores))
        total = 0.0
        for rows in self._queries:
            violation = most_violated(scores[rows], self._relevant[rows], self._loss)
            weights[rows] = violation.weights
            total += violation.loss
        used = np.flatnonzero(weights)
        share = 1 / len(self._queries)
        part = self._features[used]
        matrix = -share * (part.T @ (weights[used, None] * part))
        matrix = (matrix + matrix.T) / 2
        self.matrices.append(matrix)
        self.losses.append(share * total)
        k = len(self.matrices)
        products = np.empty((k, k))
        products[:-1, :-1] = self.products
        products[-1] = products[:, -1] = [float((matrix * other).sum()) for other in self.matrices]
        self.products = products
        return self.losses[-1] - float((metric * matrix).sum())

    def heights(self, metric: Matrix) -> npt.NDArray[np.float64]:
        """b_k − ⟨W, A_k⟩ of each plane."""
        found = [b - float((metric * a).sum()) for a, b in zip(self.matrices, self.losses, strict=True)]
        return np.array(found)

    def loss(self, metric: Matrix, without_last: bool = False) -> float:
        """The loss as the planes see it."""
        heights = self.heights(metric)[:-1] if without_last else self.heights(metric)
        return float(max(heights.max(initial=0.0), 0.0))


class Admm:
    """min reg(W) + C max_k(b_k − ⟨W, A_k⟩)₊ over W ⪰ 0, each part with a copy of W that agrees in the end.

    Copies: of the hinge; of the cone (with the trace, for MLR); for R-MLR, of the norms of rows. Kept between
    planes, so that each run starts where the last one ended.
    """

    def __init__(self, width: int, weight: float, robust: bool) -> None:
        self.weight = weight
        self.copies = [np.zeros((width, width)) for _ in range(2 if robust else 1)]
        self.duals = [np.zeros((width, width)) for _ in self.copies]
        self.penalty = 1.0
        self._multipliers = np.zeros(0)

    @property
    def metric(self) -> Matrix:
        """W, from the cone."""
        return self.copies[0]

    def run(self, planes: Planes, steps: int) -> bool:
        """Steps until the copies agree to a hundredth, or so many; whether they agree."""
        grown = np.zeros(len(planes.losses))
        grown[: len(self._multipliers)] = self._multipliers
        self._multipliers = grown
        for number in range(steps):
            hinge = self._hinge(planes)
            before = [copy.copy() for copy in self.copies]
            shrink = 1 / self.penalty
            if len(self.copies) == 1:
                self.copies[0] = in_cone(hinge + self.duals[0] - shrink * np.eye(len(hinge)))
            else:
                self.copies[0] = in_cone(hinge + self.duals[0])
                self.copies[1] = shortened_rows(hinge + self.duals[1], shrink)
            for copy, dual in zip(self.copies, self.duals, strict=True):
                dual += hinge - copy
            apart = _norm([hinge - copy for copy in self.copies])
            moved = self.penalty * _norm([a - b for a, b in zip(self.copies, before, strict=True)])
            size = max(_norm([hinge]), _norm(self.copies))
            pull = self.penalty * _norm(self.duals)
            if apart <= _AGREED * size and moved <= _AGREED * pull:
                return True
            if number % _BALANCED == _BALANCED - 1:
                self._balance(apart / max(size, 1e-300), moved / max(pull, 1e-300))
        return False

    def _hinge(self, planes: Planes) -> Matrix:
        """The hinge's copy: a quadratic programme in one multiplier a plane, α ≥ 0 with Σ α ≤ C."""
        centre = sum(
            (c - d for c, d in zip(self.copies, self.duals, strict=True)), np.zeros_like(self.metric)
        )
        centre /= len(self.copies)
        stiffness = self.penalty * len(self.copies)
        heights = planes.heights(centre)
        self._multipliers = ascend(planes.products / stiffness, heights, self.weight, self._multipliers)
        step = np.tensordot(self._multipliers, np.stack(planes.matrices), axes=1)
        moved: Matrix = centre + step / stiffness
        return moved

    def _balance(self, apart: float, moved: float) -> None:
        """A penalty at which both residuals fall at about the same pace (Boyd et al., 2011, 3.4.1)."""
        factor = 2.0 if apart > 10 * moved else 0.5 if moved > 10 * apart else 1.0
        self.penalty *= factor
        self.duals = [dual / factor for dual in self.duals]


def ascend(
    products: Matrix, heights: npt.NDArray[np.float64], total: float, start: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """argmax_α αᵀh − ½ αᵀG α over α ≥ 0, Σ α ≤ total, by accelerated projected gradients."""
    steepest = float(np.linalg.eigvalsh(products)[-1])
    if steepest <= 0:
        return start
    alpha, ahead, momentum = start, start, 1.0
    for _ in range(500):
        moved = onto_simplex(ahead + (heights - products @ ahead) / steepest, total)
        if np.abs(moved - alpha).max() <= 1e-9 * total:
            return moved
        if (ahead - moved) @ (moved - alpha) > 0:  # the momentum leads away: begin anew
            momentum = 1.0
        faster = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = moved + (momentum - 1) / faster * (moved - alpha)
        alpha, momentum = moved, faster
    return alpha


def onto_simplex(point: npt.NDArray[np.float64], total: float) -> npt.NDArray[np.float64]:
    """The nearest α ≥ 0 with Σ α ≤ total."""
    inside: npt.NDArray[np.float64] = np.maximum(point, 0)
    if inside.sum() <= total:
        return inside
    falling = np.sort(point)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, len(point) + 1)
    last = np.flatnonzero(falling > excess)[-1]
    nearest: npt.NDArray[np.float64] = np.maximum(point - excess[last], 0)
    return nearest


def in_cone(matrix: Matrix) -> Matrix:
    """The nearest positive semidefinite matrix."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    kept = values > 0
    nearest: Matrix = (vectors[:, kept] * values[kept]) @ vectors[:, kept].T
    return nearest


def shortened_rows(matrix: Matrix, by: float) -> Matrix:
    """Each row shorter by so much, or 0: the proximal map of ‖W‖₂,₁."""
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    shorter: Matrix = matrix * np.maximum(1 - by / np.maximum(norms, 1e-300), 0)
    return shorter


def _norm(matrices: list[Matrix]) -> float:
    return float(np.sqrt(sum(float((each**2).sum()) for each in matrices)))
