"""LaSR's steps one after the other: validation, records, progress, checkpoints, interruptions, the norm."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import topwise as tw
from topwise.models import ModelFileError
from topwise.models.lists import ListMaker
from topwise.testing import assert_same_vectors, checkerboard
from topwise.training import EpochRecord

SMALL = {
    "dim": 4,
    "steps": 2,
    "epochs": 4,
    "learning_rate": 0.3,
    "max_norm": 0.7,
    "threads": 1,
    "list_size": 5,
}


@pytest.fixture(scope="module")
def logs() -> tuple[tw.Events, tw.Events]:
    return checkerboard(12)


@pytest.fixture(scope="module")
def whole(logs: tuple[tw.Events, tw.Events]) -> tw.LaSR:
    return tw.LaSR(**SMALL).fit(*logs, progress=False)


def assert_same_chain(first: tw.LaSR, second: tw.LaSR) -> None:
    assert first.steps_ == second.steps_
    for number in range(first.steps_ + 1):
        assert_same_vectors(first.step(number), second.step(number))


class _Killed(Exception):
    pass


def killed_after(count: int) -> Any:
    """A callback that ends the process of learning, as a kill would, after so many epochs."""
    seen: list[EpochRecord] = []

    def callback(record: EpochRecord) -> None:
        seen.append(record)
        if len(seen) == count:
            raise _Killed

    return callback


def test_records_tell_their_step_and_each_is_validated(
    logs: tuple[tw.Events, tw.Events], whole: tw.LaSR
) -> None:
    records: list[EpochRecord] = []
    model = tw.LaSR(**SMALL).fit(*logs, callback=records.append, progress=False)
    assert [(r.step, r.epoch) for r in records] == [(s, e) for s in range(3) for e in range(1, 5)]
    assert all(r.validation is not None for r in records)
    for number in range(3):
        values = [r.validation for r in records if r.step == number]
        assert model.step(number).best_epoch_ == 1 + int(np.argmax(values))
    assert_same_chain(model, whole)


def test_a_callback_can_end_a_step(logs: tuple[tw.Events, tw.Events]) -> None:
    model = tw.LaSR(**SMALL).fit(logs[0], callback=lambda r: r.epoch < 2, progress=False)
    assert [len(model.step(number).history_records_) for number in range(3)] == [2, 2, 2]


def test_the_bar_says_which_step(
    logs: tuple[tw.Events, tw.Events], capfd: pytest.CaptureFixture[str]
) -> None:
    tw.LaSR(**SMALL).fit(logs[0], progress=True)
    shown = capfd.readouterr().err
    for text in ("step 0:", "lists of MatrixFactorization:", "step 1:", "lists of LaSR:", "step 2:"):
        assert text in shown
    assert (
        shown.index("step 0:") < shown.index("lists of Mat") < shown.index("step 1:") < shown.index("step 2:")
    )
    tw.LaSR(**SMALL).fit(logs[0], progress=False)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("count", [1, 3, 4, 5, 8, 9, 11])
def test_a_broken_run_goes_on_to_the_same_result(
    logs: tuple[tw.Events, tw.Events], whole: tw.LaSR, tmp_path: Path, count: int
) -> None:
    path = tmp_path / "state"
    with pytest.raises(_Killed):
        tw.LaSR(**SMALL).fit(*logs, callback=killed_after(count), checkpoint=path, progress=False)
    with pytest.raises(ModelFileError, match="is a checkpoint"):
        tw.load(path)
    records: list[EpochRecord] = []
    model = tw.LaSR(**SMALL).fit(*logs, checkpoint=path, resume=True, callback=records.append, progress=False)
    assert len(records) == 12 - count
    assert_same_chain(model, whole)


def test_a_run_on_a_given_base_goes_on(logs: tuple[tw.Events, tw.Events], tmp_path: Path) -> None:
    base, other = (tw.ItemBag(dim=3, epochs=2, max_norm=1.0, threads=1, seed=s).fit(logs[0]) for s in (0, 1))
    path = tmp_path / "state"
    made = {**SMALL, "base": base}
    straight = tw.LaSR(**made).fit(logs[0], progress=False)
    with pytest.raises(_Killed):
        tw.LaSR(**made).fit(logs[0], callback=killed_after(2), checkpoint=path, progress=False)
    with pytest.raises(ValueError, match="was written while training on other data"):
        tw.LaSR(**{**made, "base": other}).fit(logs[0], checkpoint=path, resume=True, progress=False)
    model = tw.LaSR(**made).fit(logs[0], checkpoint=path, resume=True, progress=False)
    assert_same_chain(model, straight)


def test_checkpoints_of_other_runs_are_refused(logs: tuple[tw.Events, tw.Events], tmp_path: Path) -> None:
    path = tmp_path / "state"
    for count in (2, 6):
        path.unlink(missing_ok=True)
        with pytest.raises(_Killed):
            tw.LaSR(**SMALL).fit(logs[0], callback=killed_after(count), checkpoint=path, progress=False)
        for change, message in (
            ({"learning_rate": 0.2}, "learning_rate=0.3"),
            ({"list_size": 4}, "list_size=5") if count == 6 else ({"dim": 3}, "dim=4"),
        ):
            with pytest.raises(ValueError, match=message):
                tw.LaSR(**{**SMALL, **change}).fit(logs[0], checkpoint=path, resume=True, progress=False)
        with pytest.raises(ValueError, match="on other data"):
            tw.LaSR(**SMALL).fit(logs[1], checkpoint=path, resume=True, progress=False)


def interrupted_at(step: int, epoch: int) -> Any:
    def callback(record: EpochRecord) -> None:
        if (record.step, record.epoch) == (step, epoch):
            raise KeyboardInterrupt

    return callback


@pytest.mark.parametrize(("step", "steps"), [(0, 1), (1, 1), (2, 2)])
def test_ctrl_c_leaves_the_steps_learned_so_far(
    logs: tuple[tw.Events, tw.Events], tmp_path: Path, step: int, steps: int
) -> None:
    train, held_out = logs
    with pytest.warns(UserWarning, match="interrupted after 4 of 4 epochs"):
        model = tw.LaSR(**SMALL).fit(train, callback=interrupted_at(step, 4), progress=False)
    assert model.steps_ == steps
    users = train.vocabulary("user").ids
    if step == 0:  # the one step adds nothing
        np.testing.assert_allclose(
            model.score_block(users=users), model.step(0).score_block(users=users), rtol=1e-5, atol=1e-6
        )
    plain = tw.LaSR(**{**SMALL, "steps": max(step, 1)}).fit(train, progress=False)
    if step > 0:
        assert_same_chain(model, plain)
    found = model.recommend(users=users, k=4)
    model.save(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(
        tw.load(tmp_path / "model.safetensors").recommend(users=users, k=4)[0], found[0]
    )
    assert 0 <= tw.evaluate(model, held_out, metrics=["auc"], exclude=train)["auc"] <= 1
    assert model.recommend(users="nobody")[0].shape == (10,)
    model.fit(train, progress=False)
    assert model.steps_ == 2


def test_ctrl_c_while_lists_are_made(
    logs: tuple[tw.Events, tw.Events], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    made = []
    of_ids = ListMaker.of_ids

    def second_fails(self: Any, *args: Any, **kwargs: Any) -> Any:
        made.append(self)
        if len(made) == 2:
            raise KeyboardInterrupt
        return of_ids(self, *args, **kwargs)

    monkeypatch.setattr("topwise.models.lists.ListMaker.of_ids", second_fails)
    model = tw.LaSR(**SMALL).fit(logs[0], progress=False)
    assert len(made) == 2
    assert model.steps_ == 1
    assert np.isfinite(model.recommend(users="u0")[1]).all()


def test_nothing_is_left_of_a_fit_that_failed(logs: tuple[tw.Events, tw.Events]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = tw.LaSR(**{**SMALL, "list_size": 99})
        with pytest.raises(ValueError, match="list_size must be at most the 12 items"):
            model.fit(logs[0], progress=False)
        with pytest.raises(tw.models.NotFittedError):
            model.recommend(users="u0")


# --- max_norm="auto" ---------------------------------------------------------------------------------------


def test_the_norm_of_each_step_is_found_without_its_judges(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lists of a trial run come from a step before that was fitted again without the held-out tenth."""
    from topwise.training import norm, steps

    rng = np.random.default_rng(0)
    users, items = np.nonzero(
        rng.random((40, 30)) < np.where(np.add.outer(np.arange(40), np.arange(30)) % 3 == 0, 0.7, 0.05)
    )
    log = tw.Events.from_arrays(user=users, item=items)
    searched, refits = [], []
    search, refit = norm._Search.__init__, steps.refitted

    def watch(self: Any, model: Any, fitting: Any, *rest: Any) -> None:
        searched.append((model, fitting))
        search(self, model, fitting, *rest)

    def count(model: Any, train: Any, features: Any) -> Any:
        again = refit(model, train, features)
        refits.append((again, len(train)))
        return again

    monkeypatch.setattr(norm._Search, "__init__", watch)
    monkeypatch.setattr(steps, "refitted", count)
    model = tw.LaSR(**{**SMALL, "max_norm": "auto"}).fit(log, progress=False)
    assert [type(m).__name__ for m, _ in searched] == ["MatrixFactorization", "LaSR", "LaSR"]
    assert all(len(fitting) < len(log) for _, fitting in searched)
    for number in (1, 2):
        trial = searched[number][0]._before
        assert type(trial) is type(model.step(number - 1))
        assert trial is not model.step(number - 1)
        assert trial.max_norm_ == pytest.approx(model.step(number - 1).max_norm_)
        assert not np.array_equal(trial.item_vectors(), model.step(number - 1).item_vectors())
    assert {count for _, count in refits} == {len(searched[0][1])}
    assert all(0.3 < model.step(number).max_norm_ < 5 for number in range(3))


def test_vectors_from_elsewhere_cannot_be_fitted_again(logs: tuple[tw.Events, tw.Events]) -> None:
    from topwise.training.steps import refitted

    base = tw.MatrixFactorization.from_vectors(["i0"], [[1.0]], users=["u0"], user_vectors=[[1.0]])
    assert refitted(base, logs[0], {}) is base
