"""Rankers whose score is a weighted sum of features: RankSVM and ListNet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from topwise.baselines.newton import Loss, Vector, minimise
from topwise.baselines.pairs import PairLoss
from topwise.baselines.top_one import TopOneLoss
from topwise.data import Judgments
from topwise.models.feature_ranker import FeatureRanker
from topwise.models.params import check_above_zero, check_count

if TYPE_CHECKING:
    from topwise.models.files import Tensors

GRID = tuple(float(10.0**power) for power in np.arange(-4, 2.6, 0.5))


class LinearRanker(FeatureRanker):
    """score = w · x, with w = argmin ½‖w‖² + C · loss, where the loss is a mean over queries.

    Parameters
    ----------
    C: the weight of the loss. None tries 10^−4 … 10^2.5 with `validation` and keeps the best by `metric`
        and `convention`; without validation it is 1.
    normalize: the scale of features: "standard" (the default), "l2", "minmax" or None.
    tolerance: the gradient at the end, as a share of that at w = 0.
    max_iter: Newton steps, at most.
    seed: there for the sake of a common interface; nothing is random.
    """

    def __init__(
        self,
        C: float | None = None,
        *,
        normalize: str | None = "standard",
        metric: str = "ndcg@10",
        convention: str = "standard",
        tolerance: float = 1e-3,
        max_iter: int = 100,
        seed: int = 0,
    ) -> None:
        self.C = C
        self.normalize = normalize
        self.metric = metric
        self.convention = convention
        self.tolerance = tolerance
        self.max_iter = max_iter
        self.seed = seed

    weights_: Vector
    C_: float

    def check_params(self) -> None:
        """Refuses parameters that cannot be trained with."""
        super().check_params()
        if self.C is not None:
            check_above_zero("C", self.C)
        check_above_zero("tolerance", self.tolerance)
        check_count("max_iter", self.max_iter)

    def _loss(self, judged: Judgments) -> Loss:
        raise NotImplementedError

    def _fit(self, judged: Judgments, validation: Judgments | None) -> None:
        features = judged.dense().astype(np.float64)
        loss = self._loss(judged)
        asked = self.C if self.C is not None or validation is not None else 1.0
        tried = GRID if asked is None else (float(asked),)
        best = -np.inf
        w = np.zeros(judged.n_features)
        for weight in tried:  # each from the last, since they differ little
            w = minimise(features, loss, weight, w, float(self.tolerance), self.max_iter)
            quality = self._quality(validation, w) if len(tried) > 1 and validation is not None else 0.0
            if quality > best:
                best, self.weights_, self.C_ = quality, w, weight

    def _quality(self, validation: Judgments, w: Vector) -> float:
        from topwise.evaluation import evaluate

        scores = _product(validation, w)
        return evaluate(scores, validation, metrics=self.metric, convention=self.convention)[self.metric]

    def _score(self, judged: Judgments) -> npt.NDArray[Any]:
        return _product(judged, self.weights_)

    def _tensors(self) -> tuple[Tensors, dict[str, Any]]:
        return {"weights": self.weights_}, {"C": self.C_}

    def _restore(self, tensors: Tensors, state: dict[str, Any]) -> None:
        self.weights_, self.C_ = tensors["weights"], float(state["C"])


class RankSVM(LinearRanker):
    """Linear RankSVM (Joachims, 2002; the squared hinge of Chapelle and Keerthi, 2010), in the primal.

    The loss of a query is the mean of max(0, 1 − w·(x_i − x_j))² over its pairs with label i above label j.
    Pairs are never listed: one sort gives the counts and sums of the violated ones, n log n a step.
    """

    def _loss(self, judged: Judgments) -> Loss:
        return PairLoss(judged)


class ListNet(LinearRanker):
    """Linear ListNet (Cao et al., 2007): the cross entropy of the chances to stand first.

    They are softmax(label) as they should be, and softmax(score) as they are. Convex for a linear score.
    """

    def _loss(self, judged: Judgments) -> Loss:
        return TopOneLoss(judged)


def _product(judged: Judgments, w: Vector) -> Vector:
    out: Vector = judged.dense() @ w
    return out
