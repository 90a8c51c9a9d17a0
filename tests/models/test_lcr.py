"""LCR passes the contract, with a side left out and with pairs; whatever is asked for is served."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from twists import fitted, twisted

import topwise as tw
from topwise.memory import NotEnoughMemoryError
from topwise.models import ModelFileError
from topwise.testing import ModelContract

SMALL = {"dim": 4, "epochs": 15, "learning_rate": 0.3, "max_norm": 0.7, "threads": 1, "rank": 2}
FORMS = ("none", "diagonal", "lowrank", "full")


class TestOfUsers(ModelContract):
    """A log without queries: f = V_u · T_d."""

    def make_model(self, **params: Any) -> tw.LCR:
        return tw.LCR(**{**SMALL, **params})


class TestPairs(ModelContract):
    """Every user asks one of three queries, which say nothing."""

    interaction = "full"

    def make_model(self, **params: Any) -> tw.LCR:
        return tw.LCR(**{**SMALL, "interaction": self.interaction, "max_norm": 0.5, **params})

    def asked(self, users: Any) -> dict[str, Any]:
        if np.ndim(users) == 0:
            return {"users": users, "queries": _query_of(users)}
        return {"users": users, "queries": [_query_of(user) for user in users]}

    def log_of(self, log: tw.Events) -> tw.Events:
        users = log.ids("user").tolist()
        return tw.Events.from_arrays(item=log.ids("item"), user=users, query=self.asked(users)["queries"])


class TestPairsWithoutInteraction(TestPairs):
    interaction = "none"


class TestPairsDiagonal(TestPairs):
    interaction = "diagonal"


class TestPairsOfLowRank(TestPairs):
    interaction = "lowrank"


class TestPairsWithContentAndBiases(TestPairs):
    """Equation 6: ids and content of all three sides, and biases."""

    def make_model(self, **params: Any) -> tw.LCR:
        return super().make_model(**{"item_bias": True, **params})

    def features(self, log: tw.Events) -> dict[str, Any]:
        return {
            f"{role}_features": tw.Features.from_matrix(
                ids[: len(ids) * 2 // 3],
                [[float(_number(id_) % 2), 1.0] for id_ in ids[: len(ids) * 2 // 3]],
            )
            for role in ("user", "query", "item")
            for ids in [log.vocabulary(role).ids.tolist()]
        }


def _query_of(user: Any) -> str:
    return f"q{_number(user) % 3}" if str(user).lstrip("u").isdecimal() else "a new query"


def _number(id_: Any) -> int:
    text = str(id_).lstrip("uiq")
    return int(text) if text.isdecimal() else 0


# --- what depends on both --------------------------------------------------------------------------------


def test_interactions_learn_what_a_sum_of_two_terms_cannot() -> None:
    _, test = twisted()
    quality = {}
    for form in FORMS:
        model = fitted(form, interaction_norm=None)
        quality[form] = tw.evaluate(model, test, metrics=["recall@2"])["recall@2"]
    assert quality["none"] < 0.75
    assert min(quality["full"], quality["diagonal"], quality["lowrank"]) > quality["none"] + 0.1, quality


@pytest.mark.parametrize("form", FORMS)
def test_scores_are_those_of_the_equation(form: str) -> None:
    model = fitted(form)
    users, queries = [0, 5, 7, 0], [3, 3, 1, 11]
    s, v, t = (side.vectors(8) for side in (model.queries_, model.context_, model.items_))  # type: ignore[union-attr]
    matrices = model.interactions(users)
    codes = {role: model._vocabulary(role).codes(of) for role, of in (("user", users), ("query", queries))}
    expected = np.stack(
        [
            (s[q] @ matrix + v[u]) @ t.T
            for q, u, matrix in zip(codes["query"], codes["user"], matrices, strict=True)
        ]
    )
    np.testing.assert_allclose(model.score_block(users=users, queries=queries), expected, atol=1e-5)
    deviation = np.abs(matrices - np.eye(8)).max()
    assert (deviation == 0) if form == "none" else (deviation > 0.01)
    if form == "diagonal":
        assert not (matrices * (1 - np.eye(8))).any()
    if form == "lowrank":
        np.testing.assert_allclose(matrices, matrices.transpose(0, 2, 1), atol=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_the_interaction_begins_at_the_identity(form: str) -> None:
    log, _ = twisted()
    model = tw.LCR(dim=8, interaction=form, rank=3)
    model._create_sides(log, "user", {"user": None, "query": None, "item": None})
    np.testing.assert_allclose(model.interactions(), np.broadcast_to(np.eye(8), (24, 8, 8)), atol=0.03)
    np.testing.assert_allclose(np.diagonal(model.interactions(), axis1=1, axis2=2), 1, atol=1e-6)


@pytest.mark.parametrize("form", ["diagonal", "full"])
def test_the_interaction_stays_in_its_ball(form: str) -> None:
    norms = np.linalg.norm(fitted(form, interaction_norm=0.3).interactions() - np.eye(8), axis=(1, 2))
    assert norms.max() == pytest.approx(0.3, rel=1e-4)
    free = np.linalg.norm(fitted(form, interaction_norm=None).interactions() - np.eye(8), axis=(1, 2))
    assert free.max() > 1


@pytest.mark.parametrize("loss", [tw.AUC(), tw.OWPC(), tw.WARP(violators=2), tw.KOS()], ids=repr)
def test_every_loss_learns(loss: Any) -> None:
    _, test = twisted()
    assert tw.evaluate(fitted(loss=loss), test, metrics=["recall@2"])["recall@2"] > 0.7


def test_two_threads_learn_as_well_and_one_repeats() -> None:
    _, test = twisted()
    two = tw.evaluate(fitted(threads=2, interaction_norm=None), test, metrics=["recall@2"])["recall@2"]
    assert two > 0.8
    first, second = fitted(), fitted()
    for name, side in first._sides().items():
        np.testing.assert_array_equal(side.rows, second._sides()[name].rows)


# --- memory, parameters, files ---------------------------------------------------------------------------


def test_what_does_not_fit_is_told_before_training(monkeypatch: pytest.MonkeyPatch) -> None:
    train, _ = twisted()
    monkeypatch.setattr("topwise.memory.available_memory", lambda: 5000)
    with pytest.raises(
        NotEnoughMemoryError, match=r"U_u of 24 users with interaction='full', 8 × 8 each, take"
    ):
        tw.LCR(dim=8, interaction="full").fit(train)
    with pytest.raises(
        MemoryError, match=r"5.0 kB are available: use interaction='lowrank' or interaction='dia"
    ):
        tw.LCR(dim=8, interaction="full").fit(train)
    assert tw.LCR(dim=8, interaction="diagonal", epochs=1, max_norm=1.0).fit(train, progress=False).dim == 8
    huge = tw.Events.from_arrays(item=[1, 2, 3], user=[1, 2, 3], query=[1, 1, 1])
    monkeypatch.undo()
    with pytest.raises(ValueError, match=r"take .* GB, and .* are available"):
        tw.LCR(dim=200_000, interaction="full").fit(huge)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"interaction": "half"},
            "interaction must be one of 'none', 'diagonal', 'lowrank', 'full', got 'half'",
        ),
        ({"interaction": "lowrank", "rank": 8}, "rank must be below dim, 8, got 8: lower it, or use"),
        ({"interaction": "lowrank", "rank": 0}, "rank must be at least 1, got 0"),
        ({"interaction_norm": 0}, "interaction_norm must be above 0 and finite, got 0"),
    ],
)
def test_bad_parameters(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tw.LCR(dim=8, **params).fit(twisted()[0])


@pytest.mark.parametrize("form", FORMS)
def test_files_hold_all_sides(form: str, tmp_path: Path) -> None:
    model = fitted(form, item_bias=True)
    model.save(tmp_path / "m.safetensors")
    loaded = tw.load(tmp_path / "m.safetensors")
    assert isinstance(loaded, tw.LCR)
    assert loaded.roles == ("user", "query")
    asked = {"users": [1, -7, 2], "queries": [3, 4, -7]}
    np.testing.assert_array_equal(loaded.context_vectors(**asked), model.context_vectors(**asked))
    np.testing.assert_array_equal(loaded.interactions(), model.interactions())
    damaged = (tmp_path / "m.safetensors").read_bytes()[:-40]
    (tmp_path / "m.safetensors").write_bytes(damaged)
    with pytest.raises(ModelFileError):
        tw.load(tmp_path / "m.safetensors")


@pytest.mark.parametrize("form", ["lowrank", "full"])
def test_a_resumed_run_equals_an_unbroken_one(form: str, tmp_path: Path) -> None:
    train, test = twisted()

    def make() -> tw.LCR:
        return tw.LCR(dim=8, interaction=form, rank=3, epochs=6, max_norm=1.0, threads=1)

    whole = make().fit(train, test, progress=False)
    path = tmp_path / "checkpoint"
    make().fit(train, test, progress=False, checkpoint=path, callback=lambda record: record.epoch < 3)
    resumed = make().fit(train, test, progress=False, checkpoint=path, resume=True)
    for name, side in whole._sides().items():
        np.testing.assert_array_equal(side.rows, resumed._sides()[name].rows)
    other = tw.Events.from_arrays(
        item=train.ids("item"), user=train.ids("user"), query=np.roll(train.ids("query"), 1)
    )
    with pytest.raises(ValueError, match="other data"):
        make().fit(other, test, progress=False, checkpoint=path, resume=True)


def test_max_norm_is_found_for_pairs() -> None:
    model = fitted(max_norm="auto", epochs=8)
    assert model.max_norm_ is not None
    assert 0.3 < model.max_norm_ < 3


def test_validation_with_repeats_leaves_nothing_out() -> None:
    train, _ = twisted()
    same = tw.LCR(dim=8, epochs=2, max_norm=1.0, repeats=True, threads=1).fit(train, train, progress=False)
    assert same.history_records_[-1]["validation"] > 0
    with pytest.raises(ValueError, match="nothing is left to evaluate"):
        tw.LCR(dim=8, epochs=2, max_norm=1.0, threads=1).fit(train, train, progress=False)


def test_folding_in_new_users_and_queries() -> None:
    train, _ = twisted()
    model = fitted()
    before = {name: side.rows.copy() for name, side in model._sides().items()}
    like = train.ids("user") == 1
    new = tw.Events.from_arrays(
        item=train.ids("item")[like], user=[77] * int(like.sum()), query=train.ids("query")[like]
    )
    model.fold_in(new, epochs=30, progress=False)
    for name, side in model._sides().items():
        np.testing.assert_array_equal(side.rows[: len(before[name])], before[name])
    assert np.abs(model.interactions([77])[0] - np.eye(8)).max() > 0.01
    quality = tw.evaluate(model, new, metrics=["recall@2"])["recall@2"]
    assert quality > 0.7
    asked = tw.Events.from_arrays(item=[1, 2, 1, 2], user=[1, 1, 3, 3], query=[88] * 4)
    model.fold_in(asked, epochs=30, progress=False)
    assert set(model.recommend(queries=88, k=2)[0].tolist()) == {1, 2}
