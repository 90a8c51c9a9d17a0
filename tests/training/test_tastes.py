"""MaxMF's composition: a step goes along the gradient of weight · |margin − f(positive) + f(negative)|₊ with
f(u, d) = max_t Û_tu · V_d, or smoothed Σ_i w_i (the i-th largest), differentiated numerically; and its two
stages.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from logs import parts, tastes
from oracles import Context, Floats, numeric_gradient
from runs import log_of, plain_model, session_on

import topwise as tw
from topwise.data import Features
from topwise.losses import OWPC, WARP
from topwise.training.fit import training_positives
from topwise.training.session import Session

DIM, N_ITEMS, N_FEATURES = 3, 5, 4
MARGIN, WEIGHT = 9.0, 3.0
ONE_EVENT = [Context([], known=[0, 1]), Context([2], known=[0, 1, 3]), Context([], known=[2])]
MANY_EVENTS = [
    Context([2, 0], known=[1, 3]),
    Context([4, 1, 3], known=[2]),
    Context([0], known=[1, 2, 3], weights=[1.5]),
]
X = np.random.default_rng(1).normal(0, 1, (3, N_FEATURES)).astype(np.float32).astype(float)
Y = np.random.default_rng(2).normal(0, 1, (N_ITEMS, N_FEATURES)).astype(np.float32).astype(float)
FORMS: dict[str, dict[str, Any]] = {
    "the maximum": {},
    "with biases": {"item_bias": True},
    "smoothed": {"smooth": 0.5},
    "smoothed, with biases": {"smooth": 0.3, "item_bias": True},
    "content of items": {"y": Y},
    "content of users": {"x": X},
    "content of both, smoothed, with biases": {"x": X, "y": Y, "smooth": 0.6, "item_bias": True},
    "six tastes": {"tastes": 6},
}
every_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())


class Problem:
    """A session over random rows, and the objective that its epoch should descend."""

    def __init__(self, form: dict[str, Any], contexts: list[Context], optimizer: str = "sgd") -> None:
        params = {"tastes": 3, **form}
        self.x, self.y = params.pop("x", None), params.pop("y", None)
        self.contexts = contexts
        loss = OWPC(alpha=[WEIGHT, 0.0], margin=MARGIN, refresh=1)
        self.model = plain_model(DIM, loss, tw.MaxMF, optimizer=optimizer, **params)
        given = {"user": self.x, "item": self.y}
        features = {
            role: Features.from_matrix(range(len(matrix)), matrix)
            for role, matrix in given.items()
            if matrix is not None
        }
        self.session = session_on(self.model, log_of(contexts, N_ITEMS), **features)
        rng = np.random.default_rng(5)
        for side in self.model._sides().values():
            side.rows[:, : self.model.columns] = rng.normal(0, 0.7, (len(side.rows), self.model.columns))
        if self.model.item_bias:
            self.model.context_.rows[:, DIM] = 1

    def rows(self) -> dict[str, Floats]:
        sides = self.model._sides().items()
        return {name: side.rows[:, : self.model.columns].astype(float) for name, side in sides}

    def score(self, rows: dict[str, Floats], user: int, item: int) -> float:
        side = self.model.context_
        tastes = rows["context"][side.first + np.arange(side.indptr[user], side.indptr[user + 1])]
        if self.x is not None:
            tastes = tastes + self.x[user] @ rows["context"][:N_FEATURES]
        if self.model.item_bias:
            tastes[:, DIM] = 1
        psi = rows["items"][self.model.items_.first + item]
        if self.y is not None:
            psi = psi + self.y[item] @ rows["items"][:N_FEATURES]
        products = np.sort(tastes @ psi)[::-1]
        weights = np.array([self.model.smooth**i for i in range(len(products))])
        return float(weights @ products / weights.sum())

    def objective(self, rows: dict[str, Floats]) -> float:
        total = 0.0
        mean = np.mean([c.weight(event) for c in self.contexts for event in range(len(c.positives))])
        for user, context in enumerate(self.contexts):
            for event, positive in enumerate(context.positives):
                (negative,) = context.negatives(N_ITEMS)
                behind = self.score(rows, user, negative) - self.score(rows, user, positive)
                assert MARGIN + behind > 0, "every pair of the problem must violate the margin"
                total += WEIGHT * context.weight(event) / mean * (MARGIN + behind)
        return total

    def gradient(self) -> dict[str, Floats]:
        rows = self.rows()
        found = {name: numeric_gradient(lambda: self.objective(rows), array) for name, array in rows.items()}
        if self.model.item_bias:
            found["context"][:, DIM] = 0  # stays 1
        return found


@every_form
def test_a_step_is_the_gradient(form: dict[str, Any]) -> None:
    problem = Problem(form, ONE_EVENT)
    before, gradient = problem.rows(), problem.gradient()
    expected = problem.objective(before)
    record = problem.session.run_epoch(0, 1, 0.001)
    assert record.loss == pytest.approx(expected, rel=1e-5)
    after = problem.rows()
    for name in before:
        assert np.abs(gradient[name]).max() > 0.1
        np.testing.assert_allclose((before[name] - after[name]) / 0.001, gradient[name], atol=3e-3, rtol=1e-3)
        still = np.abs(gradient[name]) < 1e-9
        np.testing.assert_array_equal(after[name][still], before[name][still])


@every_form
def test_an_epoch_of_short_steps_is_the_whole_gradient(form: dict[str, Any]) -> None:
    problem = Problem(form, MANY_EVENTS)
    before, gradient = problem.rows(), problem.gradient()
    rate = 1e-4
    problem.session.run_epoch(0, 1, rate)
    after = problem.rows()
    for name in before:
        longest = np.abs(gradient[name]).max()
        np.testing.assert_allclose((before[name] - after[name]) / rate, gradient[name], atol=0.015 * longest)


@every_form
def test_training_descends(form: dict[str, Any]) -> None:
    problem = Problem(form, MANY_EVENTS)
    losses = [problem.session.run_epoch(epoch, 30, 0.005).loss for epoch in range(30)]
    assert losses[-1] < 0.9 * losses[0]


def test_the_negative_is_moved_by_the_taste_that_suits_it_best() -> None:
    """Two tastes, one for each of the items: the winner of the positive rises, that of the negative falls."""
    problem = Problem({"tastes": 2}, [Context([0], known=[2, 3, 4])])
    context, items = problem.model.context_.rows, problem.model.items_.rows
    context[:] = items[:] = 0
    context[0, :DIM], context[1, :DIM] = [2, 0, 0], [0, 2, 0]
    items[0, :DIM], items[1, :DIM] = [1, 0.5, 0], [0.25, 1, 0]
    problem.session.run_epoch(0, 1, 0.01)
    step = 0.01 * WEIGHT
    np.testing.assert_allclose(
        context[:, :DIM], [[2 + step, 0.5 * step, 0], [-0.25 * step, 2 - step, 0]], atol=1e-6
    )
    np.testing.assert_allclose(items[:2, :DIM], [[1 + 2 * step, 0.5, 0], [0.25, 1 - 2 * step, 0]], atol=1e-6)


@pytest.mark.parametrize("smooth", [0.0, 0.5])
def test_violators_are_those_of_the_definition(smooth: float) -> None:
    """Draws from the third on are scored by fours: over many seeds all violators are met, and no others."""
    rng = np.random.default_rng(0)
    log = log_of([Context([7], known=[3, 9])], 80)
    model = plain_model(DIM, WARP(), tw.MaxMF, tastes=5, smooth=smooth)
    session = session_on(model, log)
    tastes, items = rng.normal(0, 1, (5, DIM)), rng.normal(0, 1, (80, DIM))
    weights = np.array([smooth**i for i in range(5)]) / sum(smooth**i for i in range(5))
    scores = weights @ -np.sort(-tastes @ items.T, axis=0)
    items[7] *= 1.5 * np.sort(scores)[-9] / scores[7]  # about so many are above it
    scores = weights @ -np.sort(-tastes @ items.T, axis=0)
    violators = set(np.flatnonzero(scores > scores[7] - 1)) - {3, 7, 9}
    assert 4 <= len(violators) <= 20
    met = set()
    for seed in range(400):
        model.context_.rows[:, :DIM], model.items_.rows[:, :DIM] = tastes, items
        model.seed = seed
        session.run_epoch(0, 1, 0.01)
        moved = np.abs(model.items_.rows[:, :DIM] - items).max(axis=1) > 1e-5
        met |= set(np.flatnonzero(moved)) - {7}
    assert met == violators


def test_two_threads_repeat_to_the_bit() -> None:
    """Items are dealt into blocks, as for MatrixFactorization."""
    log = tastes(n_items=160)
    first, second = (tw.MaxMF(dim=8, tastes=3, epochs=4, max_norm=1.5, threads=2).fit(log) for _ in range(2))
    np.testing.assert_array_equal(first.context_.rows, second.context_.rows)
    np.testing.assert_array_equal(first.items_.rows, second.items_.rows)


# --- two stages ---------------------------------------------------------------------------------------------

TWO: dict[str, Any] = {"dim": 8, "tastes": 3, "stages": 2, "max_norm": 1.5, "epochs": 4, "threads": 1}


@pytest.mark.parametrize("params", [{}, {"tastes": "auto"}, {"loss": tw.OWPC()}, {"loss": tw.KOS()}], ids=str)
def test_any_number_of_threads_gives_the_same_tastes(params: dict[str, Any]) -> None:
    train, _, _ = parts()
    bag = tw.ItemBag(dim=8, max_norm=1.5, epochs=4, threads=1).fit(train)
    first, *others = (
        tw.MaxMF(**{**TWO, **params, "threads": threads}).fit(train, items_from=bag)
        for threads in (1, 2, 3, 7)
    )
    for other in others:
        np.testing.assert_array_equal(first.context_.rows, other.context_.rows)
    np.testing.assert_array_equal(first.item_vectors(), bag.item_vectors())
    seeded = tw.MaxMF(**{**TWO, **params, "seed": 1}).fit(train, items_from=bag)
    assert not np.array_equal(first.context_.rows, seeded.context_.rows)


def test_the_first_stage_is_an_item_bag() -> None:
    train, validation, test = parts()
    model = tw.MaxMF(**{**TWO, "epochs": 15}).fit(train)
    shared = {name: TWO[name] for name in ("dim", "max_norm", "threads")}
    bag = tw.ItemBag(**shared, epochs=15).fit(train)
    np.testing.assert_array_equal(model.item_vectors(), bag.item_vectors())
    # Nine of ten items are of the user's own taste, one in five of all.
    assert tw.evaluate(model, test, metrics=["auc"], exclude=train)["auc"] > 0.75
    watched = tw.MaxMF(**{**TWO, "epochs": 10, "patience": 3}).fit(train, validation)
    assert watched.history_records_[0]["metric"] == "ndcg@10"


def test_the_norm_is_searched_without_what_judges_it(monkeypatch: pytest.MonkeyPatch) -> None:
    train, _, _ = parts()
    seen = []
    fit = tw.ItemBag.fit

    def watched(self: tw.ItemBag, log: tw.Events, *rest: Any, **named: Any) -> Any:
        seen.append(len(log))
        return fit(self, log, *rest, **named)

    monkeypatch.setattr(tw.ItemBag, "fit", watched)
    model = tw.MaxMF(**{**TWO, "max_norm": "auto"}).fit(train)
    assert isinstance(model.max_norm_, float)
    assert seen[0] == len(train)
    assert len(seen) == 2, "one more bag for the search, whatever the number of trials"
    assert seen[1] < len(train)


def test_two_stages_go_on_from_a_checkpoint(tmp_path: Path) -> None:
    train, validation, _ = parts()
    whole = tw.MaxMF(**TWO).fit(train, validation)
    path = tmp_path / "state"
    tw.MaxMF(**TWO).fit(train, validation, checkpoint=path, callback=lambda record: record.epoch < 2)
    assert (tmp_path / "state.items").exists()
    seen: list[int] = []
    resumed = tw.MaxMF(**TWO).fit(
        train, validation, checkpoint=path, resume=True, callback=lambda record: seen.append(record.epoch)
    )
    assert seen == [3, 4]
    np.testing.assert_array_equal(resumed.context_.rows, whole.context_.rows)
    with pytest.raises(ValueError, match="was written with tastes=3, and this model has tastes=2"):
        tw.MaxMF(**{**TWO, "tastes": 2}).fit(train, validation, checkpoint=path, resume=True)


def test_one_stage_goes_on_from_a_checkpoint(tmp_path: Path) -> None:
    train, _, _ = parts()
    one = {**TWO, "stages": 1, "tastes": "auto"}
    whole = tw.MaxMF(**one).fit(train)
    tw.MaxMF(**one).fit(train, checkpoint=tmp_path / "state", callback=lambda record: record.epoch < 2)
    resumed = tw.MaxMF(**one).fit(train, checkpoint=tmp_path / "state", resume=True)
    np.testing.assert_array_equal(resumed.context_.rows, whole.context_.rows)
    np.testing.assert_array_equal(resumed.items_.rows, whole.items_.rows)


def test_an_interrupted_first_stage_leaves_a_usable_model(monkeypatch: pytest.MonkeyPatch) -> None:
    train, _, _ = parts()
    run_epoch = Session.run_epoch

    def interrupted(self: Session, epoch: int, *rest: Any) -> Any:
        if isinstance(self.model, tw.ItemBag) and epoch == 3:
            raise KeyboardInterrupt
        return run_epoch(self, epoch, *rest)

    monkeypatch.setattr(Session, "run_epoch", interrupted)
    with pytest.warns(UserWarning, match="interrupted after 3 of 9 epochs"):
        model = tw.MaxMF(**{**TWO, "epochs": 9}).fit(train)
    assert len(model.history_records_) == 1
    assert np.isfinite(model.recommend(users="u1")[1]).all()


@pytest.mark.parametrize("stages", [1, 2])
def test_an_interrupted_search_leaves_a_usable_model(stages: int, monkeypatch: pytest.MonkeyPatch) -> None:
    train, _, _ = parts()
    run_epoch, runs = Session.run_epoch, []

    def interrupted(self: Session, epoch: int, *rest: Any) -> Any:
        if isinstance(self.model, tw.MaxMF):
            runs.append(epoch)
            if len(runs) == 9:
                raise KeyboardInterrupt
        return run_epoch(self, epoch, *rest)

    monkeypatch.setattr(Session, "run_epoch", interrupted)
    bag = tw.ItemBag(dim=8, max_norm=1.5, epochs=2, threads=1).fit(train) if stages == 2 else None
    settings = {**TWO, "stages": stages, "tastes": "auto", "max_norm": "auto"}
    with pytest.warns(UserWarning, match="interrupted while searching for max_norm"):
        model = tw.MaxMF(**settings).fit(train, items_from=bag)
    assert np.isfinite(model.recommend(users="u1")[1]).all()


def test_new_users_get_tastes_by_their_positives() -> None:
    log = tastes()
    train = log.take(np.char.not_equal(log.ids("user").astype(str), "u7"))
    for stages in (1, 2):
        model = tw.MaxMF(**{**TWO, "tastes": "auto", "stages": stages, "epochs": 10}).fit(train)
        before, items = model.context_.rows.copy(), model.item_vectors()
        new = log.take(np.char.equal(log.ids("user").astype(str), "u7"))
        many = tw.Events.from_arrays(user=["many"] * 40, item=[f"i{i}" for i in range(40)])
        model.fold_in(new).fold_in(many, epochs=2)
        np.testing.assert_array_equal(model.context_.rows[: len(before)], before)
        np.testing.assert_array_equal(model.item_vectors(), items)
        assert np.diff(model.taste_vectors(users=["u7", "many"])[1]).tolist() == [1, 3]
        # New items are learned with all tastes as they are.
        item = tw.Events.from_arrays(user=["u3", "u8", "u13"], item=["a new item"] * 3)
        contexts = model.context_.rows.copy()
        model.fold_in(item)
        np.testing.assert_array_equal(model.context_.rows, contexts)
        assert np.linalg.norm(model.item_vectors()[-1]) > 0.1


def test_items_that_the_given_vectors_lack_are_left_out() -> None:
    train, _, _ = parts()
    some = train.item != 0
    fewer = tw.Events.from_arrays(user=train.ids("user")[some], item=train.ids("item")[some])
    bag = tw.ItemBag(dim=8, max_norm=1.5, epochs=2, threads=1).fit(fewer)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = tw.MaxMF(**TWO).fit(train, items_from=bag)
    assert len(model.item_vocabulary) == len(bag.item_vocabulary)
    assert len(training_positives(model, train)) < len(train)
