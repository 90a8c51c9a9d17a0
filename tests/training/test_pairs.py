"""Contexts that are pairs: a step of LCR goes along the gradient of weight · |margin − f(positive) +
f(negative)|₊, where f is equation 2 or 6 of the paper, written down here and differentiated numerically.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from oracles import Floats, numeric_gradient
from runs import plain_model

from topwise import _core
from topwise.data import Events, Features, Pairs, Vocabulary
from topwise.losses import OWPC
from topwise.models import LCR
from topwise.training.positives import Positives, positives_of
from topwise.training.session import Session

DIM, RANK, N_ITEMS, N_FEATURES = 5, 2, 5, 3
MARGIN, WEIGHT = 30.0, 3.0
ROLES = ("user", "query", "item")


@dataclass
class Case:
    """(user, query): its positives, and the one item that it does not know."""

    user: int
    query: int
    positives: list[int]
    negative: int


ONE = [Case(1, 0, [2], 4)]
MANY = [Case(0, 1, [2, 0], 4), Case(1, 0, [4, 1, 3], 0), Case(1, 2, [0], 3), Case(2, 1, [1, 1], 2)]


def content(rows: int, seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    return rng.normal(0, 1, (rows, N_FEATURES)).astype(np.float32).astype(float)


CONTENT = {"user": content(3, 1), "query": content(3, 2), "item": content(N_ITEMS, 3)}


def log_of(cases: list[Case]) -> Events:
    rows = [
        (case.user, case.query, item, 1.0 if item in case.positives else 0.0)
        for case in cases
        for item in [*case.positives, *({*range(N_ITEMS)} - {*case.positives, case.negative})]
    ]
    user, query, item = (np.array([row[at] for row in rows], dtype=np.int32) for at in range(3))
    weight = np.array([row[3] for row in rows], dtype=np.float32)
    vocabularies = {
        "user": Vocabulary(range(3)),
        "query": Vocabulary(range(3)),
        "item": Vocabulary(range(N_ITEMS)),
    }
    return Events(item=item, user=user, query=query, weight=weight, vocabularies=vocabularies)


class Problem:
    """A session over random rows, and the objective that its epoch should descend."""

    def __init__(
        self, interaction: str, of: tuple[str, ...], cases: list[Case], ids: bool = True, bias: bool = False
    ) -> None:
        self.cases, self.of, self.bias = cases, of, bias
        features = {
            role: Features.from_matrix(range(len(CONTENT[role])), CONTENT[role], identity=ids)
            if role in of
            else None
            for role in ROLES
        }
        loss = OWPC(alpha=[WEIGHT, 0.0], margin=MARGIN, refresh=1)
        params = {"interaction": interaction, "rank": RANK, "interaction_norm": None, "item_bias": bias}
        self.model: Any = plain_model(DIM, loss, LCR, **params)
        log = log_of(cases)
        self.model._create_sides(log, "user", features)
        rng = np.random.default_rng(5)
        for side in self.model._sides().values():
            columns = self.model.columns if side.role == "item" else DIM
            side.rows[:, :columns] = rng.normal(0, 0.7, (len(side.rows), columns))
        self.session = Session(self.model, positives_of(self.model, log), None)

    def rows(self) -> dict[str, Floats]:
        return {
            name: side.rows[:, : self.model.columns].astype(float)
            for name, side in self.model._sides().items()
        }

    def vector(self, rows: Floats, role: str, entity: int) -> Floats:
        side = {"user": self.model.context_, "query": self.model.queries_, "item": self.model.items_}[role]
        total = CONTENT[role][entity] @ rows[:N_FEATURES] if role in self.of else np.zeros(rows.shape[1])
        return total + rows[side.first + entity] if side.ids else total

    def score(self, rows: dict[str, Floats], case: Case, item: int) -> float:
        s, v = (
            self.vector(rows["queries"], "query", case.query),
            self.vector(rows["context"], "user", case.user),
        )
        t = self.vector(rows["items"], "item", item)
        matrix = np.eye(DIM)
        if "interactions" in rows:
            lines = self.model.interactions_.lines
            block = rows["interactions"][case.user * lines : (case.user + 1) * lines, :DIM]
            if self.model.interaction == "full":
                matrix = matrix + block
            else:
                matrix = matrix + np.diag(block[0]) + block[1:].T @ block[1:]
        return float(s[:DIM] @ matrix @ t[:DIM] + v[:DIM] @ t[:DIM] + (t[DIM] if self.bias else 0))

    def objective(self, rows: dict[str, Floats]) -> float:
        total = 0.0
        for case in self.cases:
            for positive in case.positives:
                behind = self.score(rows, case, case.negative) - self.score(rows, case, positive)
                assert MARGIN + behind > 0, "every pair of the problem must violate the margin"
                total += WEIGHT * (MARGIN + behind)
        return total

    def gradient(self) -> dict[str, Floats]:
        rows = self.rows()
        return {name: numeric_gradient(lambda: self.objective(rows), array) for name, array in rows.items()}


PROBLEMS = {
    **{form: (form, (), True, False) for form in ("none", "diagonal", "lowrank", "full")},
    "full with biases": ("full", (), True, True),
    "eq. 4": ("full", ("item",), False, False),
    "eq. 5": ("diagonal", ("query", "item"), False, False),
    "eq. 6": ("lowrank", ("query", "item"), True, False),
    "eq. 6, content of users and biases": ("full", ROLES, True, True),
}
every_problem = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS.keys())


@every_problem
def test_a_step_is_the_gradient(problem: tuple[str, tuple[str, ...], bool, bool]) -> None:
    form, of, ids, bias = problem
    case = Problem(form, of, ONE, ids, bias)
    before, gradient = case.rows(), case.gradient()
    record = case.session.run_epoch(0, 1, 0.001)
    assert record.loss == pytest.approx(case.objective(before), rel=1e-5)
    after = case.rows()
    for name in before:
        assert np.abs(gradient[name]).max() > 0.1, name
        found = (before[name] - after[name]) / 0.001
        np.testing.assert_allclose(found, gradient[name], atol=3e-3, rtol=1e-3, err_msg=name)


@every_problem
def test_an_epoch_of_short_steps_is_the_whole_gradient(
    problem: tuple[str, tuple[str, ...], bool, bool],
) -> None:
    """Pairs that share users and queries: nothing is lost, nothing counted twice."""
    form, of, ids, bias = problem
    case = Problem(form, of, MANY, ids, bias)
    before, gradient = case.rows(), case.gradient()
    rate = 1e-5
    case.session.run_epoch(0, 1, rate)
    after = case.rows()
    for name in before:
        longest = np.abs(gradient[name]).max()
        np.testing.assert_allclose(
            (before[name] - after[name]) / rate, gradient[name], atol=0.015 * longest, err_msg=name
        )


def test_every_event_is_visited_once_whatever_the_number_of_pairs_of_a_user() -> None:
    """Users of many pairs of few events, and of one pair with many, on one thread and on three."""
    rng = np.random.default_rng(0)
    user = np.concatenate([np.zeros(150), np.ones(100), rng.integers(2, 9, 60)]).astype(int)
    query = np.concatenate([np.arange(150) % 70, np.zeros(100), rng.integers(0, 70, 60)]).astype(int)
    log = Events.from_arrays(item=np.arange(310) % 200, user=user, query=query, weight=np.arange(310) % 7 > 0)
    for threads in (1, 3):
        model = LCR(dim=4, threads=threads, epochs=1, max_norm=1.0).fit(log, progress=False)
        positives = positives_of(model, log)
        session = Session(model, positives, 1.0)
        steps, *_ = session._engine.run_epoch(0, 0, 0.1, 0.1)
        assert steps == len(positives) == np.count_nonzero(np.arange(310) % 7)


def test_pairs_are_grouped_by_their_user() -> None:
    log = Events.from_arrays(item=[1, 2, 3, 1, 2], user=[5, 4, 5, 5, 4], query=[8, 8, 9, 8, 8])
    vocabularies = {role: log.vocabulary(role) for role in log.roles}
    positives = Positives.of_pairs(log, vocabularies, log.take([0, 2]))
    pairs = positives.pairs
    assert pairs is not None
    assert pairs.users.tolist() == [0, 0, 1]
    assert pairs.queries.tolist() == [0, 1, 0]
    assert positives.indptr.tolist() == [0, 2, 3, 5]
    assert positives.items.tolist() == [0, 0, 2, 1, 1]
    assert [positives.known.row(row).tolist() for row in range(3)] == [[0], [2], [1]]
    assert positives.events_of("user", 2).tolist() == [3, 2]
    assert positives.events_of("query", 2).tolist() == [4, 1]


def test_pairs_find_each_other() -> None:
    log = Events.from_arrays(item=[1, 2, 3], user=["a", "b", "a"], query=["x", "x", "y"])
    pairs = Pairs.of(log)
    assert pairs.find(np.array([0, 1, 1, -1, 0]), np.array([1, 0, 1, 0, -1])).tolist() == [1, 2, -1, -1, -1]
    none = Pairs.of(log.take([]))
    assert len(none) == 0
    assert none.find(np.array([0]), np.array([0])).tolist() == [-1]


def test_the_kernel_refuses_what_does_not_fit() -> None:
    def side(count: int, columns: int = 16, dim: int = 4) -> _core.Side:
        from topwise.models.tables import empty_rows

        rows = empty_rows(count, columns)
        radii = np.ones(count, dtype=np.float32)
        return _core.Side(rows, None, radii, dim, True, False, 0, 0, None, None, None)

    with pytest.raises(ValueError, match="interaction must be none, diagonal, lowrank or full, got half"):
        _core.Contexts.by_pairs(side(2), side(2), "half", 0, None)
    with pytest.raises(ValueError, match="every form but none needs blocks"):
        _core.Contexts.by_pairs(side(2), side(2), "full", 0, None)
    with pytest.raises(ValueError, match="blocks must have the columns of their form"):
        _core.Contexts.by_pairs(side(2), side(2), "full", 0, side(2))
    with pytest.raises(ValueError, match="rank goes with lowrank"):
        _core.Contexts.by_pairs(side(2), side(2), "lowrank", 0, side(2))
    with pytest.raises(ValueError, match="users and queries must have the same dim"):
        _core.Contexts.by_pairs(side(2), side(2, dim=5), "none", 0, None)
