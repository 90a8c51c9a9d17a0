"""The kernel on tiny problems: rows that the test gives, epochs run many times from the same start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from oracles import Context, Floats, Outcome, Rows

from topwise.data import Events, Features, Vocabulary
from topwise.losses import Loss
from topwise.models.base import Embedding
from topwise.models.matrix_factorization import MatrixFactorization
from topwise.training.positives import Positives
from topwise.training.session import EpochRecord, Session


def plain_model(
    dim: int, loss: Loss, kind: type[Embedding] = MatrixFactorization, **params: Any
) -> Embedding:
    """A model whose epoch is gradient descent and nothing else."""
    settings = {"optimizer": "sgd", "schedule": "constant", "max_norm": None, "threads": 1}
    return kind(dim=dim, loss=loss, **{**settings, **params})


def log_of(contexts: list[Context], n_items: int) -> Events:
    """Contexts and items are numbered from 0; what is only known is an event of weight 0."""
    users, items, weights = [], [], []
    for user, context in enumerate(contexts):
        both = [*context.positives, *context.known]
        users += [user] * len(both)
        items += both
        weights += [context.weight(event) for event in range(len(context.positives))]
        weights += [0.0] * len(context.known)
    return Events(
        item=np.array(items, dtype=np.int32),
        user=np.array(users, dtype=np.int32),
        weight=np.array(weights, dtype=np.float32),
        vocabularies={"user": Vocabulary(range(len(contexts))), "item": Vocabulary(range(n_items))},
    )


def session_on(model: Embedding, log: Events, max_norm: float | None = None, **features: Features) -> Session:
    """A session over fresh rows, every item of the catalogue a possible negative."""
    given = {"user": None, "query": None, "item": None, **features}
    role = model._context_role(log)
    model._create_sides(log, role, given)
    positives = Positives.of(log, role, model.context_vocabulary, model.item_vocabulary)
    return Session(model, positives, max_norm)


class Bench:
    """A matrix factorisation of one context that starts from the same rows with every seed."""

    def __init__(self, loss: Loss, start: Rows, context: Context, rate: float, bias: bool = False) -> None:
        self.start = start
        self.rate = rate
        log = log_of([context], len(start.items))
        self.model = plain_model(start.dim, loss, item_bias=bias)
        self.session = session_on(self.model, log)

    def run(self, seed: int) -> tuple[Rows, EpochRecord]:
        """One epoch from the start."""
        columns = self.start.items.shape[1]
        assert self.model.context_ is not None
        user, items = self.model.context_.rows, self.model.items_.rows
        user[0, :columns] = self.start.user
        items[:, :columns] = self.start.items
        self.model.seed = seed
        record = self.session.run_epoch(0, 1, self.rate)
        end = Rows(user[0, :columns].astype(float), items[:, :columns].astype(float), self.start.dim)
        return end, record

    def runs(self, count: int) -> Iterator[tuple[Rows, EpochRecord]]:
        """Epochs with the seeds 0, 1, …"""
        return (self.run(seed) for seed in range(count))


def start_rows(n_items: int, dim: int, seed: int, bias: bool = False, scale: float = 0.8) -> Rows:
    """Random rows, exact in float32; with a bias the context has a 1 there."""
    rng = np.random.default_rng(seed)
    columns = dim + bias
    user = rng.normal(0, scale, columns).astype(np.float32).astype(float)
    items = rng.normal(0, scale, (n_items, columns)).astype(np.float32).astype(float)
    if bias:
        user[dim] = 1
    return Rows(user, items, dim)


def flat(rows: Rows) -> Floats:
    """All rows as one vector."""
    return np.concatenate([rows.user, rows.items.ravel()])


def assert_agrees(bench: Bench, ends: list[Outcome], count: int = 3000) -> None:
    """Every epoch of the kernel ends in one of the outcomes, in each about as often as its probability says,
    and so on average where the oracle says.
    """
    points = np.array([flat(end) for _, end in ends])
    chances = np.array([probability for probability, _ in ends])
    found = np.array([flat(end) for end, _ in bench.runs(count)])
    nearest = np.array([np.abs(points - end).max(axis=1).argmin() for end in found])
    apart = np.abs(points[nearest] - found).max()
    assert apart < 1e-5 * max(1, np.abs(points).max()), f"an epoch ended {apart:g} from any outcome"

    error = found.std(axis=0) / np.sqrt(count)
    expected = chances @ points
    off = np.abs(found.mean(axis=0) - expected)
    assert (off <= 4 * error + 1e-5).all(), f"the mean is off by {(off / (error + 1e-9)).max():.1f} errors"

    # Outcomes that cannot be told apart count as one.
    labels = _merged(points)
    often = np.bincount(labels[nearest], minlength=len(points)) / count
    wanted = np.bincount(labels, chances, minlength=len(points))
    spread = np.sqrt(wanted * (1 - wanted) / count)
    assert (np.abs(often - wanted) <= 4.5 * spread + 1e-3).all(), (often, wanted)


def _merged(points: Floats) -> np.ndarray[Any, np.dtype[np.int64]]:
    labels = np.arange(len(points))
    for at in range(len(points)):
        same = np.flatnonzero(np.abs(points[: at + 1] - points[at]).max(axis=1) < 1e-5)
        labels[at] = labels[same[0]]
    return labels
