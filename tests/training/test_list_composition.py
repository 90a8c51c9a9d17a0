"""LaSR's composition: a step goes along the gradient of eq. 14's hinge, which is written down here from the
definition and differentiated numerically; S at the listed items included.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from oracles import Context, Floats, numeric_gradient
from runs import log_of, plain_model, session_on

from topwise import _core
from topwise.data import Features
from topwise.losses import OWPC, WARP
from topwise.models import LaSR, MatrixFactorization

DIM, N_ITEMS, N_USERS, N_FEATURES, K = 3, 6, 3, 4, 3
MARGIN, WEIGHT = 9.0, 3.0
# Each context knows all items but one, and the loss counts exactly, so the negative is certain.
ONE_EVENT = [Context([], known=[0, 1]), Context([2], known=[0, 1, 3, 5]), Context([], known=[2])]
MANY_EVENTS = [
    Context([2, 0], known=[1, 3, 5]),
    Context([4, 1, 3], known=[2, 0]),
    Context([0], known=[1, 2, 3, 4], weights=[1.5]),
]
# By these vectors the list of user 1 is 0, 4 (its negative) and 2 (its positive).
BASE = np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 3.0], [2.0, 3.0, 0.0], [0.0, -1.0, 2.0], [3.0, 1.0, 0.0]])


@dataclass
class Form:
    """A form of the composition; `x` and `y` are the contexts' and the items' content."""

    leave_out: bool
    x: Floats | None = None
    y: Floats | None = None
    ids: bool = True
    bias: bool = False


def _content(rows: int, seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    return rng.normal(0, 1, (rows, N_FEATURES)) * (rng.random((rows, N_FEATURES)) < 0.7)


X, Y = _content(N_USERS, 1), _content(N_ITEMS, 2)
FORMS = {
    "ids": Form(False),
    "ids, left out": Form(True),
    "ids and biases": Form(True, bias=True),
    "content of users": Form(False, x=X),
    "content of users, left out": Form(True, x=X),
    "ids and content of items": Form(True, y=Y),
    "content of items alone": Form(False, y=Y, ids=False),
    "content of both, left out": Form(True, x=X, y=Y, ids=False),
    "content of both and biases": Form(False, x=X, y=Y, bias=True),
}
every_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())


class Problem:
    """A session over random rows, and the objective that its epoch should descend."""

    def __init__(self, form: Form, contexts: list[Context], optimizer: str = "sgd") -> None:
        self.form, self.contexts = form, contexts
        self.model = plain_model(
            DIM,
            OWPC(alpha=[WEIGHT, 0.0], margin=MARGIN, refresh=1),
            LaSR,
            optimizer=optimizer,
            list_size=K,
            list_weights=[1.0, 0.7, 0.2],
            leave_out=form.leave_out,
            item_bias=form.bias,
        )
        assert isinstance(self.model, LaSR)
        self.model._before = MatrixFactorization.from_vectors(
            [2, 5, 0, 1, 4], BASE, users=[0, 1, 2], user_vectors=np.array([[1.0, 0, 0], [3, 2, 1], [0, 0, 1]])
        )
        features = {
            role: Features.from_matrix(range(len(matrix)), matrix, identity=form.ids)
            for role, matrix in (("user", form.x), ("item", form.y))
            if matrix is not None
        }
        self.session = session_on(self.model, log_of(contexts, N_ITEMS), **features)
        self.model.lists_[2, 2] = -1  # a list that ends early
        self.lists = self.model.lists_.copy()
        assert self.lists[1].tolist() == [0, 4, 2]
        self.session = type(self.session)(self.model, self.session.positives, None)
        rng = np.random.default_rng(5)
        for name, side in self.model._sides().items():
            side.rows[:, :DIM] = rng.normal(0, 0.7, (len(side.rows), DIM))
            if form.bias and name == "items":
                side.rows[:, DIM] = rng.normal(0, 0.7, len(side.rows))
            if form.bias and name == "context":
                side.rows[:, DIM] = 1

    def rows(self) -> dict[str, Floats]:
        columns = self.model.columns
        return {name: side.rows[:, :columns].astype(float) for name, side in self.model._sides().items()}

    def vectors(self, rows: dict[str, Floats], name: str) -> Floats:
        """The sums of the rows of each entity of a side."""
        side = self.model._sides()[name]
        content = self.form.x if name == "context" else self.form.y
        total = np.zeros((N_USERS if name == "context" else N_ITEMS, self.model.columns))
        if content is not None:
            total += content.astype(np.float32).astype(float) @ rows[name][:N_FEATURES]
        return total + rows[name][side.first :] if side.ids else total

    def score(self, rows: dict[str, Floats], user: int, item: int, positive: int) -> float:
        u, v, s = (self.vectors(rows, name) for name in ("context", "items", "similar"))
        own = u[user].copy()
        if self.form.bias:
            own[DIM] = 1
        total = own @ v[item]
        for weight, listed in zip((1.0, 0.7, 0.2), self.lists[user], strict=True):
            if listed >= 0 and not (self.form.leave_out and listed == positive):
                total += weight * (s[item, :DIM] @ s[listed, :DIM])
        return float(total)

    def objective(self, rows: dict[str, Floats]) -> float:
        total = 0.0
        mean = np.mean([c.weight(event) for c in self.contexts for event in range(len(c.positives))])
        for user, context in enumerate(self.contexts):
            for event, positive in enumerate(context.positives):
                (negative,) = context.negatives(N_ITEMS)
                behind = self.score(rows, user, negative, positive)
                behind -= self.score(rows, user, positive, positive)
                assert MARGIN + behind > 0, "every pair of the problem must violate the margin"
                total += WEIGHT * context.weight(event) / mean * (MARGIN + behind)
        return total

    def gradient(self) -> dict[str, Floats]:
        rows = self.rows()
        return {name: numeric_gradient(lambda: self.objective(rows), array) for name, array in rows.items()}


@every_form
def test_a_step_is_the_gradient(form: Form) -> None:
    problem = Problem(form, ONE_EVENT)
    before, gradient = problem.rows(), problem.gradient()
    expected = problem.objective(before)
    record = problem.session.run_epoch(0, 1, 0.01)
    assert record.loss == pytest.approx(expected, rel=1e-5)
    after = problem.rows()
    for name in before:
        assert np.abs(gradient[name]).max() > 0.1
        np.testing.assert_allclose((before[name] - after[name]) / 0.01, gradient[name], atol=2e-3, rtol=1e-3)


@every_form
def test_an_epoch_of_short_steps_is_the_whole_gradient(form: Form) -> None:
    problem = Problem(form, MANY_EVENTS)
    before, gradient = problem.rows(), problem.gradient()
    rate = 1e-4
    problem.session.run_epoch(0, 1, rate)
    after = problem.rows()
    for name in before:
        longest = np.abs(gradient[name]).max()
        np.testing.assert_allclose((before[name] - after[name]) / rate, gradient[name], atol=0.01 * longest)


@every_form
def test_training_descends(form: Form) -> None:
    problem = Problem(form, MANY_EVENTS)
    losses = [problem.session.run_epoch(epoch, 30, 0.0015).loss for epoch in range(30)]
    assert losses[-1] < 0.9 * losses[0]
    assert losses[:12] == sorted(losses[:12], reverse=True)


@every_form
def test_rows_that_no_event_reaches_stay(form: Form) -> None:
    problem = Problem(form, ONE_EVENT, "adagrad")
    before, gradient = problem.rows(), problem.gradient()
    problem.session.run_epoch(0, 1, 0.1)
    after = problem.rows()
    for name in before:
        still = np.abs(gradient[name]) < 1e-9
        np.testing.assert_array_equal(after[name][still], before[name][still])


def test_the_same_positive_twice_leaves_no_trace_in_its_own_list() -> None:
    """The second step's φ must not have the positive's own, now moved, row in it."""
    context = Context([0, 0], known=[1, 2])
    model = plain_model(
        DIM, OWPC(alpha=[1.0], margin=50.0, refresh=1), LaSR, list_size=2, list_weights=[1.0, 0.5]
    )
    assert isinstance(model, LaSR)
    model._before = MatrixFactorization.from_vectors(
        range(4), np.array([[4.0], [1], [3], [0]]), users=[0], user_vectors=[[1.0]]
    )
    session = session_on(model, log_of([context], 4))
    assert model.lists_.tolist() == [[0, 2]]
    rng, rate = np.random.default_rng(8), 0.3
    for side in model._sides().values():
        side.rows[:, :DIM] = rng.normal(0, 1, (len(side.rows), DIM))
    u, v, s = (model._sides()[n].rows[:, :DIM].astype(float) for n in ("context", "items", "similar"))
    reached = np.zeros(DIM)
    phi = 0.5 * s[2]  # item 2 moves at the end of the visit
    for _ in range(2):
        own, toward, similar = u[0].copy(), v[0] - v[3], s[0] - s[3]
        v[0] += rate * own
        v[3] -= rate * own
        s[0] += rate * phi
        s[3] -= rate * phi
        u[0] += rate * toward
        reached += rate * similar
    s[2] += 0.5 * reached
    session.run_epoch(0, 1, rate)
    for name, rows in (("context", u), ("items", v), ("similar", s)):
        np.testing.assert_allclose(model._sides()[name].rows[:, :DIM], rows, atol=1e-4)


@pytest.mark.parametrize("optimizer", ["sgd", "adagrad"])
@pytest.mark.parametrize("threads", [1, 3])
def test_rows_stay_in_their_balls(optimizer: str, threads: int) -> None:
    rng = np.random.default_rng(3)
    contexts = [Context(rng.choice(30, 6, replace=False).tolist()) for _ in range(50)]
    model = plain_model(
        5, WARP(), LaSR, optimizer=optimizer, list_size=4, list_norm=0.4, threads=threads, norm_exponent=0.0
    )
    assert isinstance(model, LaSR)
    model._before = MatrixFactorization.from_vectors(
        range(30), rng.normal(size=(30, 3)), users=range(50), user_vectors=rng.normal(size=(50, 3))
    )
    session = session_on(model, log_of(contexts, 30), max_norm=0.5)
    for epoch in range(5):
        session.run_epoch(epoch, 5, 0.8)
    for name, radius in (("context", 0.5), ("items", 0.5), ("similar", 0.2)):
        norms = np.linalg.norm(model._sides()[name].rows, axis=1)
        assert norms.max() <= radius * (1 + 1e-5)
        assert norms.max() > 0.9 * radius


def test_parts_that_do_not_fit_are_refused() -> None:
    problem = Problem(FORMS["ids"], ONE_EVENT)
    model = problem.model
    assert isinstance(model, LaSR)

    def contexts(lists: Any) -> None:
        model.lists_ = np.asarray(lists, dtype=np.int32)
        type(problem.session)(model, problem.session.positives, None)

    contexts(np.full((3, K), 5))
    for wrong, message in (
        (np.full((3, K), 6), r"lists must hold items in 0\.\.5, or -1, got 6"),
        (np.full((3, K), -2), r"lists must hold items in 0\.\.5, or -1, got -2"),
        (np.zeros((4, K)), "lists must be one a context, 9 items in all, got 12"),
    ):
        with pytest.raises(ValueError, match=message):
            contexts(wrong)
    apart = np.zeros((4, 32), dtype=np.float32)
    with pytest.raises(ValueError, match="padded to 16 columns and aligned"):
        _core.Side(apart[:, 1:17], None, np.ones(4, np.float32), 3, True, False, 0, 0, None, None, None)
