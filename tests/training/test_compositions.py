"""Every composition: a step goes along the gradient of weight · |margin − f(positive) + f(negative)|₊, where
f is written down here from the models' definitions and differentiated numerically.

All contexts know every item but one, and the loss counts exactly, so that the negative is certain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from oracles import Context, Floats, numeric_gradient
from runs import log_of, plain_model, session_on

from topwise.data import Features
from topwise.losses import OWPC
from topwise.models import ItemBag, MatrixFactorization, Wsabie
from topwise.models.base import Embedding
from topwise.models.side import Side

DIM, N_ITEMS, N_USERS, N_FEATURES = 3, 5, 3, 4
MARGIN, WEIGHT, ALPHA = 6.0, 3.0, 0.7
ONE_EVENT = [Context([], known=[0, 1]), Context([2], known=[0, 1, 3]), Context([], known=[2])]
MANY_EVENTS = [
    Context([2, 0], known=[1, 3]),
    Context([4, 1, 3], known=[2]),
    Context([0], known=[1, 2, 3], weights=[1.5]),
]


@dataclass
class Composition:
    """A model and what it is trained with; `x` and `y` are the contexts' and the items' content."""

    kind: type[Embedding]
    params: dict[str, Any]
    x: Floats | None = None
    y: Floats | None = None
    ids: bool = True

    def features(self) -> dict[str, Features]:
        given = {"user": self.x, "item": self.y}
        return {
            role: Features.from_matrix(range(len(matrix)), matrix, identity=self.ids)
            for role, matrix in given.items()
            if matrix is not None
        }


def _content(rows: int, seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    dense = rng.normal(0, 1, (rows, N_FEATURES)) * (rng.random((rows, N_FEATURES)) < 0.7)
    return dense.astype(np.float32).astype(float)


X, Y = _content(N_USERS, 1), _content(N_ITEMS, 2)
COMPOSITIONS = {
    "ids": Composition(MatrixFactorization, {}),
    "ids and biases": Composition(MatrixFactorization, {"item_bias": True}),
    "ids and content of users": Composition(MatrixFactorization, {}, x=X),
    "content of users alone": Composition(MatrixFactorization, {}, x=X, ids=False),
    "ids and content of items": Composition(MatrixFactorization, {}, y=Y),
    "content of items alone": Composition(MatrixFactorization, {}, y=Y, ids=False),
    "ids and content of both": Composition(MatrixFactorization, {}, x=X, y=Y),
    "content of both alone": Composition(MatrixFactorization, {}, x=X, y=Y, ids=False),
    "ids, content of both and biases": Composition(MatrixFactorization, {"item_bias": True}, x=X, y=Y),
    "Wsabie": Composition(Wsabie, {}, x=X),
    "Wsabie with features of labels": Composition(Wsabie, {}, x=X, y=Y, ids=False),
    "Wsabie with α": Composition(Wsabie, {"alpha": ALPHA}, x=X, y=Y, ids=False),
    "Wsabie with α, ids and biases": Composition(Wsabie, {"alpha": ALPHA, "item_bias": True}, x=X, y=Y),
    "ItemBag": Composition(ItemBag, {}),
    "ItemBag with biases": Composition(ItemBag, {"item_bias": True}),
}
every_composition = pytest.mark.parametrize("composition", COMPOSITIONS.values(), ids=COMPOSITIONS.keys())


def side_vector(side: Side, rows: Floats, content: Floats | None, entity: int) -> Floats:
    """The sum of the entity's content rows and its own."""
    total = np.zeros(rows.shape[1])
    if content is not None:
        total = content[entity] @ rows[:N_FEATURES]
    return total + rows[side.first + entity] if side.ids else total


class Problem:
    """A session over random rows, and the objective that its epoch should descend."""

    def __init__(self, composition: Composition, contexts: list[Context], optimizer: str = "sgd") -> None:
        self.composition = composition
        self.contexts = contexts
        self.model = plain_model(
            DIM,
            OWPC(alpha=[WEIGHT, 0.0], margin=MARGIN, refresh=1),
            composition.kind,
            optimizer=optimizer,
            **composition.params,
        )
        self.session = session_on(self.model, log_of(contexts, N_ITEMS), **composition.features())
        rng = np.random.default_rng(5)
        for side in self.sides().values():
            side.rows[:, : self.model.columns] = rng.normal(0, 0.7, (len(side.rows), self.model.columns))
            if side is self.model.context_ and self.model.item_bias:
                side.rows[:, DIM] = 1

    def sides(self) -> dict[str, Side]:
        context = self.model.context_
        return {"items": self.model.items_} | ({} if context is None else {"context": context})

    def rows(self) -> dict[str, Floats]:
        return {name: side.rows[:, : self.model.columns].astype(float) for name, side in self.sides().items()}

    def phi(self, rows: dict[str, Floats], user: int, left_out: int) -> Floats:
        side = self.model.context_
        if side is None:
            context = self.contexts[user]
            bag = sorted({*context.positives, *context.known} - {left_out})
            vector = rows["items"][bag].mean(axis=0)
        else:
            vector = side_vector(side, rows["context"], self.composition.x, user)
        if self.model.item_bias:
            vector[DIM] = 1
        return vector

    def score(self, rows: dict[str, Floats], user: int, item: int, left_out: int) -> float:
        composition = self.composition
        psi = side_vector(self.model.items_, rows["items"], composition.y, item)
        score = float(self.phi(rows, user, left_out) @ psi)
        if self.model._overlap() > 0:
            assert composition.x is not None
            assert composition.y is not None
            score += ALPHA * float(composition.x[user] @ composition.y[item])
        return score

    def objective(self, rows: dict[str, Floats]) -> float:
        """The sum over events of weight · hinge."""
        total = 0.0
        mean = np.mean([c.weight(event) for c in self.contexts for event in range(len(c.positives))])
        for user, context in enumerate(self.contexts):
            for event, positive in enumerate(context.positives):
                (negative,) = context.negatives(N_ITEMS)
                behind = self.score(rows, user, negative, positive) - self.score(
                    rows, user, positive, positive
                )
                assert MARGIN + behind > 0, "every pair of the problem must violate the margin"
                total += WEIGHT * context.weight(event) / mean * (MARGIN + behind)
        return total

    def gradient(self) -> dict[str, Floats]:
        rows = self.rows()
        return {name: numeric_gradient(lambda: self.objective(rows), array) for name, array in rows.items()}


@every_composition
def test_a_step_is_the_gradient(composition: Composition) -> None:
    problem = Problem(composition, ONE_EVENT)
    before, gradient = problem.rows(), problem.gradient()
    expected = problem.objective(before)
    record = problem.session.run_epoch(0, 1, 0.01)
    assert record.loss == pytest.approx(expected, rel=1e-5)
    assert record.violators == 1
    after = problem.rows()
    for name in before:
        assert np.abs(gradient[name]).max() > 0.1
        np.testing.assert_allclose((before[name] - after[name]) / 0.01, gradient[name], atol=3e-4, rtol=1e-4)


@every_composition
def test_an_epoch_of_short_steps_is_the_whole_gradient(composition: Composition) -> None:
    """Several contexts with several events that share rows: nothing is lost, nothing counted twice."""
    problem = Problem(composition, MANY_EVENTS)
    before, gradient = problem.rows(), problem.gradient()
    rate = 1e-4
    problem.session.run_epoch(0, 1, rate)
    after = problem.rows()
    for name in before:
        longest = np.abs(gradient[name]).max()
        np.testing.assert_allclose((before[name] - after[name]) / rate, gradient[name], atol=0.01 * longest)


@every_composition
def test_training_descends(composition: Composition) -> None:
    problem = Problem(composition, MANY_EVENTS)
    losses = [problem.session.run_epoch(epoch, 30, 0.005).loss for epoch in range(30)]
    assert losses[-1] < 0.9 * losses[0]
    assert losses == sorted(losses, reverse=True)


@every_composition
def test_rows_that_no_event_reaches_stay(composition: Composition) -> None:
    problem = Problem(composition, ONE_EVENT, "adagrad")
    before, gradient = problem.rows(), problem.gradient()
    problem.session.run_epoch(0, 1, 0.1)
    after = problem.rows()
    for name in before:
        still = np.abs(gradient[name]) < 1e-9
        np.testing.assert_array_equal(after[name][still], before[name][still])


def test_item_bag_leaves_the_trained_item_out_of_its_own_context() -> None:
    """The same positive twice: the second step's φ must not have the item's own, now moved, vector in it."""
    context = Context([0, 0], known=[1, 2])
    model = plain_model(DIM, OWPC(alpha=[1.0], margin=50.0, refresh=1), ItemBag)
    session = session_on(model, log_of([context], 4))
    rng = np.random.default_rng(8)
    model.items_.rows[:, :DIM] = rng.normal(0, 1, (4, DIM))
    rate = 0.5
    rows = model.items_.rows[:, :DIM].astype(float)
    # The other items of the bag move at the end of the visit, so φ is the same in both steps.
    phi = rows[[1, 2]].mean(axis=0)
    reached = np.zeros(DIM)
    for _ in range(2):
        reached += rate * (rows[0] - rows[3]) / 2
        rows[0] += rate * phi
        rows[3] -= rate * phi
    rows[[1, 2]] += reached
    session.run_epoch(0, 1, rate)
    np.testing.assert_allclose(model.items_.rows[:, :DIM], rows, atol=1e-5)


def test_item_bag_skips_contexts_with_one_item() -> None:
    model = plain_model(DIM, OWPC(), ItemBag)
    session = session_on(model, log_of([Context([1])], 4))
    before = model.items_.rows.copy()
    record = session.run_epoch(0, 1, 0.5)
    np.testing.assert_array_equal(model.items_.rows, before)
    assert record.violators == 0


def test_an_item_that_shares_content_with_a_moved_one_is_renewed() -> None:
    """Negatives are scored against materialised vectors; an epoch's refreshes make these follow content."""
    problem = Problem(COMPOSITIONS["ids and content of items"], MANY_EVENTS)
    for epoch in range(3):
        problem.session.run_epoch(epoch, 3, 0.01)
    rows = problem.rows()["items"]
    side = problem.model.items_
    for item in range(N_ITEMS):
        expected = side_vector(side, rows, Y, item)
        np.testing.assert_allclose(problem.model.item_vectors()[item], expected, atol=1e-5)
