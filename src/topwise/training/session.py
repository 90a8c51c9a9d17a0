"""A run of epochs over one log: the kernel bound to a model's rows."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from topwise import _core
from topwise.losses import KernelLoss, as_loss
from topwise.models.base import Embedding
from topwise.models.side import Side
from topwise.models.tables import Floats, empty_rows
from topwise.training.positives import Positives

# Below this, dealing the items into blocks leaves a thread too few to draw from.
_LEAST_BLOCK = 64
# How often an epoch renews the item vectors that share content rows.
_REFRESHES = 8
_VISIT = 32


class DivergenceError(ArithmeticError):
    """Training left the finite numbers."""


@dataclass(frozen=True)
class EpochRecord:
    """What an epoch did: `loss` is the mean over positives, `violators` the share of them that had one,
    `trials` the mean number of negatives scored, `validation` the model's metric on the validation log,
    `step` which step of a LaSR it is of.
    """

    epoch: int
    loss: float
    trials: float
    violators: float
    seconds: float
    learning_rate: float
    validation: float | None = None
    metric: str | None = None
    step: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as kept in the model file."""
        return {name: value for name, value in asdict(self).items() if (name, value) != ("step", None)}


class Session:
    """Trains a model's rows in place. Of each side, the first `frozen` rows stay as they are."""

    def __init__(
        self,
        model: Embedding,
        positives: Positives,
        max_norm: float | None,
        frozen: Mapping[str, int] | None = None,
        first_context: int = 0,
    ) -> None:
        if len(positives) == 0:
            raise ValueError("the log has no events to learn from")
        self.model = model
        self.positives = positives
        self.max_norm = max_norm
        self.frozen = dict(frozen or {})
        items = model.items_
        n_items = len(items.vocabulary)
        kernel = as_loss(model.loss).kernel(
            n_items if positives.drawable is None else len(positives.drawable)
        )
        threads = model.threads if model.threads is not None else (os.cpu_count() or 1)
        contexts = model.context_.tables if model.context_ is not None else 0
        self.apart = apart = model._contexts_apart() and self.frozen.get("context", 0) < contexts
        if apart:
            self.frozen["items"] = items.tables
        blocks = 1 if apart else self._blocks(kernel, threads, n_items)
        self.vectors = None if items.content is None else empty_rows(n_items, model._kernel_columns)
        alpha = model._overlap()
        self._engine = _core.Engine(
            positives.kernel(n_items),
            _kernel_loss(kernel, n_items),
            model._kernel_contexts(self._side),
            self._side(items),
            self.vectors,
            alpha,
            items.first if alpha > 0 else 0,
            threads,
            blocks,
            _REFRESHES * blocks if items.content is not None else blocks,
            _VISIT,
            apart,
            first_context,
        )

    def _blocks(self, kernel: KernelLoss, threads: int, n_items: int) -> int:
        """As many blocks of items as threads, where the loss looks at one positive and at draws only."""
        alone = self.model.context_ is not None and self.positives.pairs is None
        plain = self.model.items_.content is None and alone
        whole = kernel.exact or kernel.positions is not None or self.positives.drawable is not None
        return threads if plain and not whole and n_items >= _LEAST_BLOCK * threads else 1

    def _side(self, side: Side) -> _core.Side:
        frozen = next(
            (self.frozen.get(name, 0) for name, own in self.model._sides().items() if own is side), 0
        )
        if self.model.optimizer == "adagrad" and side.squares is None:
            side.squares = np.ones(side.tables, dtype=np.float32)
        content = side.content
        return _core.Side(
            side.rows.reshape(side.tables, -1),
            side.squares if self.model.optimizer == "adagrad" else None,
            self._radii(side),
            self.model.dim if side.lines == 1 else side.lines * side.rows.shape[1],
            side.ids,
            bool(self.model.item_bias) and side.lines == 1,
            side.first,
            frozen,
            None if content is None else content.indptr,
            None if content is None else content.indices,
            None if content is None else content.values,
        )

    def _radii(self, side: Side) -> Floats:
        """The ball of every row. Of items, one with n events has the radius C·(n/n̄)^κ, where n̄ is such that
        the mean over events is C: what is seen often may be long, what is seen seldom is kept short.
        """
        bound = self.model._max_norm_of(side, self.max_norm)
        norm = math.inf if bound is None else float(bound)
        radii = np.full(side.tables, norm, dtype=np.float32)
        exponent = float(self.model.norm_exponent)
        if exponent == 0 or self.max_norm is None or side is not self.model.items_ or not side.ids:
            return radii
        counts = np.bincount(self.positives.items, minlength=len(side.vocabulary)).astype(np.float64)
        shares = np.maximum(counts, 1) ** exponent
        radii[side.first :] = norm * shares / np.average(shares, weights=counts)
        return radii

    def rate(self, done: float, learning_rate: float) -> float:
        """The learning rate after a share of all epochs."""
        learning_rate = float(learning_rate)  # a number of numpy would find its way into records and files
        if self.model.schedule == "linear":
            return learning_rate * (1 - done)
        if self.model.schedule == "cosine":
            return learning_rate * (1 + math.cos(math.pi * done)) / 2
        return learning_rate

    def run_epoch(self, epoch: int, epochs: int, learning_rate: float) -> EpochRecord:
        """One pass over the log, the epochs counted from 0."""
        first, last = (self.rate((epoch + i) / epochs, learning_rate) for i in (0, 1))
        started = time.perf_counter()
        steps, trials, violations, loss = self._engine.run_epoch(self.model.seed, epoch, first, last)
        seconds = time.perf_counter() - started
        steps = max(steps, 1)
        record = EpochRecord(epoch + 1, loss / steps, trials / steps, violations / steps, seconds, first)
        self._check_finite(record)
        self.model._forget_index()
        return record

    def _check_finite(self, record: EpochRecord) -> None:
        sides = [
            side for side in self.model._sides().values() if not (self.apart and side is self.model.items_)
        ]
        with np.errstate(over="ignore", invalid="ignore"):
            total = sum(float(np.abs(side.rows).max(initial=0)) for side in sides)
        if math.isfinite(record.loss) and math.isfinite(total) and total < 1e15:
            return
        ball = "set max_norm" if self.max_norm is None else f"lower max_norm (now {self.max_norm:g})"
        raise DivergenceError(
            f"training diverged in epoch {record.epoch}: the loss is {record.loss:g} and the largest "
            f"parameter {total:g}; lower learning_rate (now {self.model.learning_rate:g}) or {ball}"
        )

    def update_mean_context(self) -> None:
        """What ids unknown to the model get: the mean over the contexts trained with."""
        self.model.mean_context_ = mean_context(self.model, self.positives)


def mean_context(model: Embedding, positives: Positives) -> Floats:
    """The mean over the contexts that have events."""
    trained = np.flatnonzero(np.diff(positives.indptr))
    total = np.zeros(model._vector_columns, dtype=np.float64)
    model.mean_context_ = total.astype(np.float32)
    for start in range(0, len(trained), 65536):
        part = trained[start : start + 65536]
        codes = {role: positives.codes(role, part) for role in model.roles}
        total += model._vectors_of(codes).sum(axis=0, dtype=np.float64)
    return (total / max(len(trained), 1)).astype(np.float32)


def _kernel_loss(loss: KernelLoss, n_items: int) -> _core.Loss:
    weights = loss.weights
    if loss.exact and len(weights) <= n_items:  # ranks among fewer drawable items than the catalogue
        weights = np.concatenate(
            [weights, np.full(n_items + 1 - len(weights), weights[-1], dtype=np.float32)]
        )
    return _core.Loss(
        loss.margin, loss.exact, loss.max_trials, loss.violators, weights, loss.trial_weights, loss.positions
    )
