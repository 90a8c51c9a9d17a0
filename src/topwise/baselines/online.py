"""Large-margin classifiers of thousands of labels, trained online: one row of examples after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from topwise.baselines.base import Content, Floats
from topwise.baselines.data import Sparse, Training
from topwise.features.weighting import unit_rows
from topwise.models.params import check_above_zero, check_choice, check_count

Doubles = npt.NDArray[np.float64]


class LinearLabels(Content):
    """f_y(x) = w_y · x + b_y for each label y, by steps along the gradient of a hinge.

    What is held is the weights, features × labels in float32, and the examples as sparse rows; scores are
    made for a few examples at a time. Rows are brought to unit length, so that one step size suits all.
    """

    epochs: int
    learning_rate: float
    regularization: float
    batch: int

    weights_: Floats
    offsets_: Floats

    def check_params(self) -> None:
        super().check_params()
        check_count("epochs", self.epochs)
        check_count("batch", self.batch)
        check_above_zero("learning_rate", self.learning_rate)
        check_at_least_zero("regularization", self.regularization)

    def _learn(self, data: Training) -> None:
        labels, content = data.interactions(), unit_rows(self._keep_content(data))
        # Examples without labels are negatives to all; those that only the features have are not examples.
        chosen = data.has_events(data.role)
        with np.errstate(over="ignore", invalid="ignore"):  # told below
            self._train(content[chosen], labels[chosen])
        if not (np.isfinite(self.weights_).all() and np.isfinite(self.offsets_).all()):
            raise ValueError(f"{type(self).__name__} has diverged: lower learning_rate, {self.learning_rate}")

    def _train(self, x: Sparse, y: Sparse) -> None:
        raise NotImplementedError

    def _rows_of_content(self, content: Sparse) -> Any:
        return unit_rows(content)

    def _score(self, rows: Any) -> Floats:
        return np.asarray(rows @ self.weights_ + self.offsets_, dtype=np.float32)


class Hinge:
    """|1 − m|₊ or its square, by how hard an example pushes its margin m up."""

    def __init__(self, squared: bool) -> None:
        self.squared = squared

    def push(self, margins: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The slope against the margin, turned round: 1, or 2|1 − m|₊."""
        return 2 * np.maximum(1 - margins, 0) if self.squared else (margins < 1).astype(margins.dtype)

    def brake(self, violators: npt.NDArray[Any], rate: float) -> npt.NDArray[Any]:
        """By what a step for so many violators of a label is to be divided, lest it diverges.

        The square bends by 2(‖x‖² + 1) = 4 an example. If all of them are alike, a step is stable as long as
        it is below 2 over the sum.
        """
        return np.maximum(4 * rate * violators / 1.9, 1) if self.squared else np.ones(np.shape(violators))


class Rows:
    """Weights w_f of all labels under an L2 penalty, with a common factor so that shrinking costs nothing."""

    def __init__(self, n_features: int, n_labels: int, offset: float | None) -> None:
        self.rows = np.zeros((n_features, n_labels), dtype=np.float32)
        self.offsets = np.full(n_labels, offset or 0, dtype=np.float32)
        self.has_offsets = offset is not None
        self.factor = 1.0

    def scores(self, x: Sparse) -> Floats:
        """All labels' scores of some examples."""
        return np.asarray(x @ self.rows * np.float32(self.factor) + self.offsets, dtype=np.float32)

    def step(self, x: Sparse, push: Sparse, rate: float, penalty: float) -> None:
        """w ← (1 − rate · penalty) w + rate Σ_i x_i push_i, and the offsets alike, without the penalty."""
        self.factor *= 1 - rate * penalty
        if self.factor < 1e-4:
            self.rows *= np.float32(self.factor)
            self.factor = 1.0
        scale = rate / self.factor
        if push.nnz > 0.1 * push.shape[0] * push.shape[1]:
            touched, local = np.unique(x.indices, return_inverse=True)
            part = type(x)((x.data, local, x.indptr), shape=(x.shape[0], len(touched)))
            self.rows[touched] += np.float32(scale) * (part.T @ push.toarray())
        elif push.nnz:
            moved = (x.T @ push).tocoo()
            self.rows[moved.row, moved.col] += np.float32(scale) * moved.data
        if self.has_offsets:
            self.offsets += np.float32(rate) * np.asarray(push.sum(axis=0)).ravel().astype(np.float32)

    def finished(self) -> tuple[Floats, Floats]:
        """The weights and the offsets themselves."""
        self.rows *= np.float32(self.factor)
        self.factor = 1.0
        return self.rows, self.offsets


def passes(
    n_examples: int, epochs: int, batch: int, rate: float, rng: np.random.Generator
) -> Iterator[tuple[npt.NDArray[np.int64], float]]:
    """The examples in a new random order each epoch, some at a time, with a rate that falls to 0."""
    steps = epochs * -(-n_examples // batch)
    step = 0
    for _ in range(epochs):
        order = rng.permutation(n_examples)
        for start in range(0, n_examples, batch):
            yield order[start : start + batch], rate * (1 - step / steps)
            step += 1


def check_hinge(value: str) -> None:
    """Refuses what is no hinge."""
    check_choice("loss", value, ("hinge", "squared_hinge"))


def check_at_least_zero(name: str, value: Any) -> None:
    """Refuses what is not a finite number from 0 on."""
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise TypeError(f"{name} must be a number, got {value!r}")
    if not 0 <= float(value) < float("inf"):
        raise ValueError(f"{name} must be at least 0 and finite, got {value}")
