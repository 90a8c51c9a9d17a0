"""One-vs-rest large-margin classifiers, each trained apart, with all negatives or as many as positives."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from topwise.baselines.base import is_among
from topwise.baselines.data import Sparse
from topwise.baselines.online import Hinge, LinearLabels, Rows, check_hinge, passes
from topwise.models.params import check_choice, check_count


class OneVsRest(LinearLabels):
    """f_y(x) = w_y · x + b_y, label by label: min Σ_i |1 − t_iy f_y(x_i)|₊ + (λ/2) n ‖w_y‖², t = ±1.

    Trained online. With `negatives="all"` each label sees every example; labels are taken in blocks, so that
    what a step touches stays in the cache. With `negatives="equal"` (the papers' 1+ : 1−) each positive of a
    label is followed by one random example that lacks it. Offsets begin at −1, where a negative is content.

    Parameters
    ----------
    loss: "hinge" or "squared_hinge".
    regularization: λ.
    batch: the examples that share a step; 1 is the purest form, more are faster.
    block: the labels that are trained together, with all negatives.
    """

    def __init__(
        self,
        negatives: str = "all",
        *,
        loss: str = "squared_hinge",
        epochs: int = 5,
        learning_rate: float = 0.3,
        regularization: float = 1e-5,
        batch: int = 16,
        block: int = 512,
        context: str | None = None,
        seed: int = 0,
    ) -> None:
        self.negatives = negatives
        self.loss = loss
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.regularization = regularization
        self.batch = batch
        self.block = block
        self.context = context
        self.seed = seed

    def check_params(self) -> None:
        super().check_params()
        check_choice("negatives", self.negatives, ("all", "equal"))
        check_hinge(self.loss)
        check_count("block", self.block)

    def _train(self, x: Sparse, y: Sparse) -> None:
        if self.negatives == "equal":
            self.weights_, self.offsets_ = self._train_equal(x, y)
            return
        n_labels = y.shape[1]
        self.weights_ = np.empty((x.shape[1], n_labels), dtype=np.float32)
        self.offsets_ = np.empty(n_labels, dtype=np.float32)
        columns = y.tocsc()
        for start in range(0, n_labels, self.block):
            labels = slice(start, min(start + self.block, n_labels))
            found = self._train_block(x, columns[:, labels].tocsr())
            self.weights_[:, labels], self.offsets_[labels] = found

    def _train_block(self, x: Sparse, y: Sparse) -> tuple[Any, Any]:
        from scipy.sparse import csr_array

        rows, hinge = Rows(x.shape[1], y.shape[1], offset=-1.0), Hinge(self.loss == "squared_hinge")
        rng = np.random.default_rng(self.seed)
        for some, rate in passes(x.shape[0], self.epochs, self.batch, self.learning_rate, rng):
            examples, positives = x[some], y[some]
            sign = np.full(positives.shape, -1, dtype=np.float32)
            sign[_row_of_entries(positives), positives.indices] = 1
            push = hinge.push(sign * rows.scores(examples))
            brake = hinge.brake(np.count_nonzero(push, axis=0), rate)
            rows.step(examples, csr_array(sign * push / brake), rate, self.regularization * len(some))
        return rows.finished()

    def _train_equal(self, x: Sparse, y: Sparse) -> tuple[Any, Any]:
        """Pairs of an example and a label, positives and drawn negatives in turn, many at a time."""
        rows = LabelRows(x.shape[1], y.shape[1])
        hinge = Hinge(self.loss == "squared_hinge")
        rng = np.random.default_rng(self.seed)
        example, label = _row_of_entries(y), y.indices.astype(np.int64)
        positives = np.sort(example * y.shape[1] + label)
        for some, rate in passes(y.nnz, self.epochs, self.batch, self.learning_rate, rng):
            own = label[some]
            others, fair = _without(own, positives, x.shape[0], y.shape[1], rng)
            for chosen, of, sign in ((example[some], own, 1.0), (others[fair], own[fair], -1.0)):
                rows.step(x[chosen], of, sign, hinge, rate, self.regularization)
        return rows.finished()


class LabelRows:
    """The weights of all labels, one row a label, for steps of one label and one example each."""

    def __init__(self, n_features: int, n_labels: int) -> None:
        self.rows = np.zeros((n_labels, n_features), dtype=np.float32)
        self.offsets = np.full(n_labels, -1.0, dtype=np.float32)
        self.factors = np.ones(n_labels, dtype=np.float64)

    def step(
        self, x: Sparse, labels: npt.NDArray[Any], sign: float, hinge: Hinge, rate: float, penalty: float
    ) -> None:
        """Example i teaches labels[i] alone."""
        lengths = np.diff(x.indptr)
        at = np.repeat(labels, lengths) * self.rows.shape[1] + x.indices
        flat, example = self.rows.reshape(-1), np.repeat(np.arange(len(labels)), lengths)
        products = np.bincount(example, flat[at] * x.data, minlength=len(labels))
        push = hinge.push(sign * (products * self.factors[labels] + self.offsets[labels]))
        violators = np.bincount(labels, push > 0, minlength=len(self.offsets))[labels]
        push *= sign / hinge.brake(violators, rate)
        np.multiply.at(self.factors, labels, 1 - rate * penalty)
        scale = rate * push / self.factors[labels]
        np.add.at(flat, at, (np.repeat(scale, lengths) * x.data).astype(np.float32))
        np.add.at(self.offsets, labels, (rate * push).astype(np.float32))

    def finished(self) -> tuple[Any, Any]:
        """The weights, features × labels, and the offsets."""
        self.rows *= self.factors[:, None].astype(np.float32)
        return np.ascontiguousarray(self.rows.T), self.offsets


def _without(
    labels: npt.NDArray[Any],
    positives: npt.NDArray[np.int64],
    n_examples: int,
    n_labels: int,
    rng: np.random.Generator,
    trials: int = 20,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """For each label a random example that lacks it, and whether one was found (few lack a common label)."""
    drawn = rng.integers(0, n_examples, len(labels))
    fair = ~is_among(drawn * n_labels + labels, positives)
    for _ in range(trials):
        again = np.flatnonzero(~fair)
        if len(again) == 0:
            break
        drawn[again] = rng.integers(0, n_examples, len(again))
        fair[again] = ~is_among(drawn[again] * n_labels + labels[again], positives)
    return drawn, fair


def _row_of_entries(matrix: Sparse) -> npt.NDArray[np.int64]:
    return np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))
