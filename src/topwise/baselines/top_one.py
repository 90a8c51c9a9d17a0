"""ListNet's loss: the cross entropy of the chances of each row to stand first in its query."""

from __future__ import annotations

import numpy as np

from topwise.baselines.newton import Vector
from topwise.data import Judgments


class TopOneLoss:
    """The mean over queries of −Σ_i softmax(labels)_i log softmax(scores)_i."""

    def __init__(self, judged: Judgments) -> None:
        self.starts = judged.indptr[:-1]
        self.query = judged.query_of_rows()
        self.share = 1 / judged.n_queries
        self.wanted, _ = self.softmax(judged.labels.astype(np.float64))

    def softmax(self, values: Vector) -> tuple[Vector, Vector]:
        """softmax within queries, and its logarithm."""
        logs = values - np.maximum.reduceat(values, self.starts)[self.query]
        logs -= np.log(np.add.reduceat(np.exp(logs), self.starts))[self.query]
        return np.exp(logs), logs

    def at(self, scores: Vector) -> TopOneCurve:
        """The loss with its gradient, and the chances for its curvature."""
        return TopOneCurve(self, scores)


class TopOneCurve:
    """The loss at some scores."""

    def __init__(self, loss: TopOneLoss, scores: Vector) -> None:
        self.loss = loss
        self.chance, logs = loss.softmax(scores)
        self.value = float(-(loss.wanted @ logs) * loss.share)
        self.gradient = (self.chance - loss.wanted) * loss.share

    def curvature(self, direction: Vector) -> Vector:
        """(diag(p) − p pᵀ) d within each query."""
        weighted = self.chance * direction
        means = np.add.reduceat(weighted, self.loss.starts)[self.loss.query]
        curved: Vector = (weighted - self.chance * means) * self.loss.share
        return curved
