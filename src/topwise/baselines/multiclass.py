"""The online multiclass Rank SVM: one large-margin ranking of all labels."""

from __future__ import annotations

import numpy as np

from topwise.baselines.base import Floats
from topwise.baselines.data import Sparse
from topwise.baselines.online import LinearLabels, Rows, passes
from topwise.models.params import check_choice


class MulticlassRankSVM(LinearLabels):
    """f_y(x) = w_y · x, trained online so that a positive label stands above every other one by a margin.

    Weston & Watkins' loss of a pair (x, y) is Σ |1 − f_y(x) + f_ȳ(x)|₊ over the labels ȳ that x lacks, and
    Crammer & Singer's the largest of these terms. A step has the same size either way: with
    `violators="all"` it is shared out among those that violate, with "hardest" one bears it.
    """

    def __init__(
        self,
        violators: str = "all",
        *,
        epochs: int = 10,
        learning_rate: float = 0.5,
        regularization: float = 1e-6,
        batch: int = 8,
        context: str | None = None,
        seed: int = 0,
    ) -> None:
        self.violators = violators
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.regularization = regularization
        self.batch = batch
        self.context = context
        self.seed = seed

    def check_params(self) -> None:
        super().check_params()
        check_choice("violators", self.violators, ("all", "hardest"))

    def _train(self, x: Sparse, y: Sparse) -> None:
        from scipy.sparse import csr_array

        rows = Rows(x.shape[1], y.shape[1], offset=None)
        rng = np.random.default_rng(self.seed)
        for some, rate in passes(x.shape[0], self.epochs, self.batch, self.learning_rate, rng):
            examples, positives = x[some], y[some]
            push = ranking_push(rows.scores(examples), positives, self.violators == "hardest")
            rows.step(examples, csr_array(push), rate, self.regularization * len(some))
        self.weights_, self.offsets_ = rows.finished()


def ranking_push(scores: Floats, positives: Sparse, hardest: bool) -> Floats:
    """How each label's score is to move, example by example: up for the positives, down for violators."""
    push = np.zeros_like(scores)
    for row in range(len(scores)):
        own = positives.indices[positives.indptr[row] : positives.indptr[row + 1]]
        others = scores[row].copy()
        others[own] = -np.inf
        for label in own:
            violating = np.flatnonzero(others > scores[row, label] - 1)
            if len(violating) == 0:
                continue
            if hardest:
                violating = violating[[np.argmax(others[violating])]]
            push[row, violating] -= 1 / len(violating)
            push[row, label] += 1
    return push
