"""How a row moves: Adagrad with an accumulator a row, the ball, the schedules, the weights of events."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from oracles import Context, Floats
from runs import Bench, log_of, plain_model, session_on, start_rows

from topwise.losses import AUC, OWPC, WARP
from topwise.models.base import Embedding
from topwise.training.session import Session

DIM = 3
WEIGHT = 1.5
CERTAIN = OWPC(alpha=[WEIGHT], margin=40.0, refresh=1)  # of two items, the other one is the negative


def two_items(**params: Any) -> tuple[Embedding, Session]:
    """One user, a positive and a negative: nothing is left to chance."""
    model = plain_model(DIM, CERTAIN, **params)
    session = session_on(model, log_of([Context([0])], 2), params.get("max_norm"))
    rng = np.random.default_rng(12)
    assert model.context_ is not None
    model.items_.rows[:, : model.columns] = rng.normal(0, 0.5, (2, model.columns))
    model.context_.rows[:, :DIM] = rng.normal(0, 0.5, (1, DIM))
    return model, session


def rate_after(schedule: str, done: float) -> float:
    if schedule == "linear":
        return 1 - done
    return (1 + math.cos(math.pi * done)) / 2 if schedule == "cosine" else 1.0


def replay(
    user: Floats, items: Floats, rates: list[float], adagrad: bool, radius: float
) -> tuple[Floats, Floats, dict[str, float]]:
    """Steps of the positive 0 and the negative 1, in the order and by the rules of the kernel, in doubles."""
    user, items = user.copy(), items.copy()
    squares = {"user": 1.0, "positive": 1.0, "negative": 1.0}

    def move(name: str, row: Floats, gradient: Floats, rate: float) -> None:
        if adagrad:
            # One accumulator a row: the mean square of the gradient over the row's dimensions.
            squares[name] += float(gradient @ gradient) / DIM
            rate = rate / math.sqrt(squares[name])
        row += rate * gradient
        norm = np.linalg.norm(row[:DIM])
        if norm > radius:
            row[:DIM] *= radius / norm

    for rate in rates:
        toward = items[0] - items[1]
        toward[DIM:] = 0  # the context's coordinate of the biases stays 1
        phi = user.copy()
        move("positive", items[0], WEIGHT * phi, rate)
        move("negative", items[1], -WEIGHT * phi, rate)
        move("user", user, WEIGHT * toward, rate)
    return user, items, squares


@pytest.mark.parametrize("optimizer", ["adagrad", "sgd"])
@pytest.mark.parametrize("bias", [False, True], ids=["no bias", "bias"])
@pytest.mark.parametrize("max_norm", [None, 1.2])
@pytest.mark.parametrize("schedule", ["linear", "cosine", "constant"])
def test_epochs_replayed_in_numpy(optimizer: str, bias: bool, max_norm: float | None, schedule: str) -> None:
    model, session = two_items(
        optimizer=optimizer, item_bias=bias, max_norm=max_norm, schedule=schedule, norm_exponent=0.0
    )
    assert model.context_ is not None
    epochs, learning_rate, columns = 7, 0.1, model.columns
    user, items = (rows[:, :columns].astype(float) for rows in (model.context_.rows, model.items_.rows))
    rates = [learning_rate * rate_after(schedule, epoch / epochs) for epoch in range(epochs)]
    user, items, squares = replay(
        user[0], items, rates, optimizer == "adagrad", math.inf if max_norm is None else max_norm
    )
    for epoch in range(epochs):
        record = session.run_epoch(epoch, epochs, learning_rate)
        assert record.learning_rate == pytest.approx(rates[epoch])
    np.testing.assert_allclose(model.context_.rows[0, :columns], user, rtol=2e-5, atol=2e-6)
    np.testing.assert_allclose(model.items_.rows[:, :columns], items, rtol=2e-5, atol=2e-6)
    if optimizer == "adagrad":
        assert model.context_.squares is not None
        assert model.items_.squares is not None
        np.testing.assert_allclose(model.context_.squares, [squares["user"]], rtol=2e-5)
        np.testing.assert_allclose(
            model.items_.squares, [squares["positive"], squares["negative"]], rtol=2e-5
        )


def test_padding_stays_zero() -> None:
    model, session = two_items(optimizer="adagrad", item_bias=True)
    for epoch in range(5):
        session.run_epoch(epoch, 5, 0.4)
    assert model.context_ is not None
    for side in (model.context_, model.items_):
        assert side.rows.shape[1] % 16 == 0
        assert np.count_nonzero(side.rows[:, model.columns :]) == 0


@pytest.mark.parametrize("exponent", [0.0, 0.3])
@pytest.mark.parametrize("optimizer", ["adagrad", "sgd"])
def test_rows_stay_in_their_ball(exponent: float, optimizer: str) -> None:
    """Of an item with n events the radius is C·(n/n̄)^κ, and over events its mean is C."""
    rng = np.random.default_rng(3)
    contexts = [Context(sorted({*rng.zipf(1.5, 9).clip(max=40) - 1})) for _ in range(60)]
    log = log_of(contexts, 40)
    model = plain_model(4, WARP(), optimizer=optimizer, max_norm=1.4, norm_exponent=exponent)
    session = session_on(model, log, 1.4)
    for epoch in range(8):
        session.run_epoch(epoch, 8, 2.0)
    counts = np.bincount(log.item, minlength=40)
    shares = np.maximum(counts, 1.0) ** exponent
    radii = 1.4 * shares / (shares @ counts / counts.sum())
    norms = np.linalg.norm(model.item_vectors(), axis=1)
    assert (norms <= radii * (1 + 1e-5)).all()
    assert (norms > 0.999 * radii).sum() > 5, "steps this long reach the surface"
    assert model.context_ is not None
    users = np.linalg.norm(model.context_.rows, axis=1)
    assert 1.399 < users.max() <= 1.4 * (1 + 1e-5)


def test_biases_are_outside_of_the_ball() -> None:
    model, session = two_items(item_bias=True, max_norm=0.5, norm_exponent=0.0)
    for epoch in range(30):
        session.run_epoch(epoch, 30, 0.2)
    assert np.linalg.norm(model.items_.rows[:, :DIM], axis=1).max() <= 0.5 * (1 + 1e-5)
    assert np.abs(model.items_.rows[:, DIM]).min() > 2


def test_weights_multiply_steps_and_have_the_mean_1() -> None:
    """Two users alike, one event each: they move by shares of 1/2 and 3/2."""
    for scale in (1.0, 7.0):
        contexts = [Context([0], weights=[scale]), Context([0], weights=[3 * scale])]
        model = plain_model(DIM, CERTAIN)
        session = session_on(model, log_of(contexts, 2))
        model.items_.rows[:, :DIM] = [[0.5, 1.0, -1.0], [1.0, -1.0, 0.25]]
        assert model.context_ is not None
        model.context_.rows[:, :DIM] = [0.5, 0.25, 0.75]
        before = model.context_.rows[:, :DIM].copy()
        record = session.run_epoch(0, 1, 1e-4)
        moved = (model.context_.rows[:, :DIM] - before) / 1e-4
        np.testing.assert_allclose(moved[0], 0.5 * WEIGHT * np.array([-0.5, 2.0, -1.25]), rtol=5e-3)
        np.testing.assert_allclose(moved[1], 1.5 * WEIGHT * np.array([-0.5, 2.0, -1.25]), rtol=5e-3)
        hinge = 40 - 0.5 * -0.5 - 0.25 * 2 - 0.75 * -1.25
        assert record.loss == pytest.approx(WEIGHT * hinge, rel=1e-3)


@pytest.mark.parametrize("loss", [AUC(), WARP(), OWPC()], ids=repr)
def test_what_is_known_is_never_a_negative(loss: AUC | WARP | OWPC) -> None:
    """Events of weight 0 are known and not trained: over many draws their rows do not move by a bit."""
    known = [1, 4, 5, 7, 8, 11]
    start = start_rows(12, 2, seed=1)
    moved = np.zeros(12, dtype=bool)
    for end, _ in Bench(loss, start, Context([3], known=known), 0.1).runs(400):
        moved |= (end.items != start.items).any(axis=1)
    assert not moved[known].any()
    assert moved[3]
    assert moved.sum() > 3


def test_a_context_of_weight_0_alone_is_not_trained() -> None:
    model = plain_model(DIM, AUC(margin=30.0))
    session = session_on(model, log_of([Context([0]), Context([], known=[1, 2])], 6))
    assert model.context_ is not None
    before = model.context_.rows.copy()
    steps = [session.run_epoch(epoch, 5, 0.1) for epoch in range(5)]
    np.testing.assert_array_equal(model.context_.rows[1], before[1])
    assert (model.context_.rows[0] != before[0]).any()
    assert all(record.trials == 1 for record in steps)


def test_repeated_events_are_steps_of_their_own() -> None:
    model = plain_model(DIM, CERTAIN)
    once = session_on(model, log_of([Context([0])], 2))
    one_step = once.run_epoch(0, 1, 1e-5)
    start = model.items_.rows.copy()
    session = session_on(model, log_of([Context([0, 0, 0])], 2))
    np.testing.assert_allclose(session.run_epoch(0, 1, 1e-5).loss, one_step.loss, rtol=1e-3)
    fresh = plain_model(DIM, CERTAIN)
    session_on(fresh, log_of([Context([0])], 2))
    np.testing.assert_allclose(
        model.items_.rows - fresh.items_.rows, 3 * (start - fresh.items_.rows), rtol=0.02, atol=1e-9
    )


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_an_epoch_trains_every_event_once(threads: int) -> None:
    """Contexts of all sizes, also of more events than are taken at a visit, in one block and in several."""
    rng = np.random.default_rng(0)
    sizes = (1, 5, 40, 33, 250, 1)
    positives = [sorted(rng.choice(400, size, replace=False).tolist()) for size in sizes]
    # What one context likes the others know as well, so that no positive is ever a negative.
    liked = set().union(*positives)
    contexts = [Context(own, known=sorted(liked - set(own))) for own in positives]
    log = log_of(contexts, 3000)
    model = plain_model(DIM, AUC(margin=50.0), threads=threads, item_bias=True)
    session = session_on(model, log)
    rate = 1e-5
    record = session.run_epoch(0, 1, rate)
    assert record.violators == 1
    steps = np.round(model.items_.rows[:, DIM] / rate).astype(int)  # a bias rises by the rate at each step
    counts = np.bincount(np.concatenate(positives), minlength=3000)
    np.testing.assert_array_equal(steps[sorted(liked)], counts[sorted(liked)])
    assert steps.sum() == 0
