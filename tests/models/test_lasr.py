"""LaSR passes the contract, in every form of its composition; and what is its own: lists, bases, files."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_wsabie import features_of

import topwise as tw
from topwise.models import StaleListsError
from topwise.models.lists import ListMaker
from topwise.testing import ModelContract, checkerboard

SMALL = {"dim": 4, "epochs": 15, "learning_rate": 0.3, "max_norm": 0.7, "threads": 1, "list_size": 5}


class TestLaSR(ModelContract):
    def make_model(self, **params: Any) -> tw.LaSR:
        return tw.LaSR(**{**SMALL, **params})


class TestTwoStepsToTheLetter(ModelContract):
    def make_model(self, **params: Any) -> tw.LaSR:
        return tw.LaSR(**{**SMALL, "steps": 2, "leave_out": False, "item_bias": True, **params})


class TestOnFeaturesOfUsers(ModelContract):
    folds_users = False

    def make_model(self, **params: Any) -> tw.LaSR:
        return tw.LaSR(**{**SMALL, **params})

    def features(self, log: tw.Events) -> dict[str, tw.Features]:
        return {"user_features": features_of(log, "user")}


class TestOnFeaturesOfBoth(TestOnFeaturesOfUsers):
    def features(self, log: tw.Events) -> dict[str, tw.Features]:
        return {**super().features(log), "item_features": features_of(log, "item")}


class TestOnFeaturesOfItems(ModelContract):
    def make_model(self, **params: Any) -> tw.LaSR:
        return tw.LaSR(**{**SMALL, "warm": True, **params})

    def features(self, log: tw.Events) -> dict[str, tw.Features]:
        return {"item_features": features_of(log, "item")}


@pytest.fixture(scope="module")
def log() -> tw.Events:
    return checkerboard()[0]


@pytest.fixture(scope="module")
def pairs() -> tw.Events:
    """Items of which those of the same parity go together: queries are items."""
    query, item = (side.ravel() for side in np.meshgrid(np.arange(16), np.arange(16)))
    chosen = (query != item) & ((query + item) % 2 == 0) & ((3 * query + item) % 5 != 0)
    return tw.Events.from_arrays(query=[f"i{q}" for q in query[chosen]], item=[f"i{i}" for i in item[chosen]])


def fitted(log: tw.Events, **params: Any) -> tw.LaSR:
    return tw.LaSR(**{**SMALL, **params}).fit(log, progress=False)


# --- the definition --------------------------------------------------------------------------------------


def test_scores_are_those_of_equation_14(log: tw.Events) -> None:
    model = fitted(log, steps=2, dim=3)
    users = log.vocabulary("user").ids
    before = model.step(1)
    best, _ = before.recommend(users=users, k=5)
    np.testing.assert_array_equal(model.lists(users=users), best)
    assert model.context_ is not None
    u, v, s = (side.rows[:, :3] for side in (model.context_, model.items_, model.similar_))
    lists = model.item_vocabulary.codes(best.ravel()).reshape(best.shape)
    expected = u @ v.T
    for row, listed in enumerate(lists):
        for item in range(len(s)):
            expected[row, item] += sum(s[item] @ s[j] / (1 + place) for place, j in enumerate(listed))
    np.testing.assert_allclose(model.score_block(users=users), expected, rtol=1e-4, atol=1e-5)


def test_each_step_has_rows_of_its_own_in_the_ball(log: tw.Events) -> None:
    model = fitted(log, steps=2, norm_exponent=0.0, list_norm=0.5)
    first, second = model.step(1), model.step(2)
    assert second is model
    assert isinstance(first, tw.LaSR)
    assert type(model.step(0)) is tw.MatrixFactorization
    for mine, theirs in zip(model._sides().values(), first._sides().values(), strict=True):
        assert not np.shares_memory(mine.rows, theirs.rows)
        assert not np.array_equal(mine.rows, theirs.rows)
    for side, radius in ((model.context_, 0.7), (model.items_, 0.7), (model.similar_, 0.35)):
        assert side is not None
        norms = np.linalg.norm(side.rows[:, : model.dim], axis=1)
        assert 0.5 * radius < norms.max() <= radius * (1 + 1e-5)
    with pytest.raises(ValueError, match="step must be between 0 and 2, got 3"):
        model.step(3)


def test_the_ball_of_s_keeps_the_sum_of_a_list_in_that_of_u(log: tw.Events) -> None:
    model = fitted(log, norm_exponent=0.0, list_weights=[2.0, 1.0, 1.0, 0.0, 0.0])
    assert np.linalg.norm(model.similar_.rows, axis=1).max() <= 0.7 / 4 * (1 + 1e-5)
    sums = model.context_vectors(users=log.vocabulary("user").ids)[:, model.columns :]
    assert np.linalg.norm(sums, axis=1).max() <= 0.7 * (1 + 1e-5)


def test_warm_steps_begin_at_the_step_before(log: tw.Events) -> None:
    tiny = {"learning_rate": 1e-6, "warm": True, "steps": 2}
    model = fitted(log, base=fitted(log, steps=1), **{**tiny, "steps": 1})
    before = model.before_
    for name, side in model._sides().items():
        np.testing.assert_allclose(side.rows, before._sides()[name].rows, atol=1e-4)
    with pytest.raises(ValueError, match="warm=True needs a step before with rows of the same kind: dim=6"):
        fitted(log, dim=6, warm=True, base=before)


@pytest.mark.parametrize("loss", [tw.AUC(), tw.OWPC(), tw.KOS(), tw.WARP(violators=2)])
def test_every_loss_trains_it(loss: Any) -> None:
    train, held_out = checkerboard()
    model = fitted(train, loss=loss)
    assert tw.evaluate(model, held_out, metrics=["auc"], exclude=train)["auc"] > 0.95


def test_weighted_events_count(log: tw.Events) -> None:
    users, items = log.ids("user"), log.ids("item")
    weight = np.where(items == "i3", 50.0, 1.0)
    heavy = tw.Events.from_arrays(item=items, user=users, weight=weight)
    assert not np.allclose(fitted(heavy).item_vectors(), fitted(log).item_vectors())


# --- lists -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("base", ["default", "bag", "factors"])
def test_a_query_is_never_in_its_own_list(pairs: tw.Events, base: str) -> None:
    ids = pairs.vocabulary("query").ids
    own = {
        "default": None,
        "bag": tw.ItemBag(dim=4, epochs=5, max_norm=1.0, threads=1),
        "factors": tw.MatrixFactorization.from_vectors(
            pairs.vocabulary("item").ids,
            np.eye(16),
            queries=pairs.vocabulary("item").ids,
            query_vectors=np.eye(16),
        ),
    }[base]
    model = fitted(pairs, base=own)
    assert (model.lists(queries=ids) != ids[:, None]).all()
    for inference in ("iterative", "greedy", "beam"):
        found, _ = model.recommend(queries=ids, k=15, inference=inference)
        assert (found != ids[:, None]).all()
        rest, _ = model.recommend(queries=ids, k=9, candidates=9, inference=inference)
        assert (rest != ids[:, None]).all()
    if base == "factors":  # which would put it first
        assert (own.recommend(queries=ids, k=1)[0][:, 0] == ids).all()
        told = fitted(pairs, base=own, item_queries=False)
        assert (told.lists(queries=ids)[:, 0] == ids).all()


def test_users_that_are_called_like_items_are_none() -> None:
    numbers = checkerboard(text=False)[0]
    base = tw.MatrixFactorization.from_vectors(
        range(20), np.eye(20), users=range(20), user_vectors=np.eye(20)
    )
    model = fitted(numbers, base=base)
    assert (model.lists(users=range(20))[:, 0] == np.arange(20)).all()
    assert model.lists(users=3).shape == (5,)
    with pytest.raises(ValueError, match="does not know the user 99"):
        model.lists(users=99)


def test_a_base_with_other_items_in_another_order(log: tw.Events) -> None:
    """Items that only the base has are never listed; its order is not the model's."""
    ids = [*log.vocabulary("item").ids[::-1].tolist(), "strange"]
    rows = np.random.default_rng(0).normal(size=(21, 3))
    rows[-1] *= 100  # above everything for half of the users
    users = log.vocabulary("user").ids
    base = tw.MatrixFactorization.from_vectors(
        ids, rows, users=users[:15], user_vectors=np.random.default_rng(1).normal(size=(15, 3))
    )
    model = fitted(log, base=base)
    listed = model.lists(users=users)
    best, _ = base.recommend(users=users, k=5, items=ids[:-1])
    np.testing.assert_array_equal(listed, best)  # users unknown to the base get what suits its mean user
    assert (listed[15] == listed[16]).all()


def test_bases_that_are_not_products_of_vectors(log: tw.Events) -> None:
    features = {f"{role}_features": features_of(log, role, identity=False) for role in ("user", "item")}
    plain = {name: SMALL[name] for name in SMALL if name != "list_size"}
    base = tw.Wsabie(**plain, alpha=3.0).fit(log, progress=False, **features)
    users = log.vocabulary("user").ids
    model = tw.LaSR(**SMALL, base=base).fit(log, progress=False, **features)
    np.testing.assert_array_equal(model.lists(users=users), base.recommend(users=users, k=5)[0])
    rows = features["user_features"].matrix.to_dense()[:4]
    np.testing.assert_allclose(
        model.context_vectors(features=rows),
        model.context_vectors(users=features["user_features"].vocabulary.ids[:4]),
        rtol=1e-5,
    )

    class Others(tw.MatrixFactorization):
        """Finds its items in a way of its own."""

        scores_by_product = False

        def recommend(self, *args: Any, **kwargs: Any) -> Any:
            kwargs["items"] = [i for i in self.item_vocabulary.ids if i != "i4"]
            return super().recommend(*args, **kwargs)

    other = Others(**plain).fit(log, progress=False)
    listed = fitted(log, base=other).lists(users=users)
    assert (listed != "i4").all()


def test_lists_end_early_where_the_base_has_fewer_items(log: tw.Events) -> None:
    base = tw.MatrixFactorization.from_vectors(
        ["i0", "i1", "i2"], np.eye(3), users=["u0"], user_vectors=[[3.0, 2.0, 1.0]]
    )
    model = fitted(log, base=base)
    assert model.lists(users="u0").tolist() == ["i0", "i1", "i2", None, None]
    assert np.isfinite(model.score_block(users=["u0", "u1"])).all()


def test_lists_are_made_in_blocks(log: tw.Events, monkeypatch: pytest.MonkeyPatch) -> None:
    base = tw.MatrixFactorization(dim=4, epochs=3, max_norm=1.0, threads=1).fit(log, progress=False)
    users, own = log.vocabulary("user").ids, np.arange(20)
    whole = ListMaker(base, base.item_vocabulary, 6).of_ids(users, own, 2)
    monkeypatch.setattr("topwise.models.lists._BLOCK", 7)
    np.testing.assert_array_equal(ListMaker(base, base.item_vocabulary, 6).of_ids(users, own, 1), whole)
    assert (whole != own[:, None]).all()


# --- bases -----------------------------------------------------------------------------------------------


def test_lists_of_a_base_trained_again_are_refused(log: tw.Events, tmp_path: Path) -> None:
    base = tw.MatrixFactorization(dim=4, epochs=5, max_norm=1.0, threads=1).fit(log, progress=False)
    model = fitted(log, base=base, steps=2)
    users = log.vocabulary("user").ids
    before = model.recommend(users=users, k=5)
    model.save(tmp_path / "model.safetensors")
    twins = [copy.deepcopy(model), pickle.loads(pickle.dumps(model)), tw.load(tmp_path / "model.safetensors")]
    base.fit(log, progress=False)
    for use in (
        lambda: model.recommend(users=users),
        lambda: model.item_vectors(),
        lambda: model.score_block(users=users),
        lambda: model.lists(users=users),
        lambda: model.save(tmp_path / "again.safetensors"),
        lambda: tw.evaluate(model, log),
    ):
        with pytest.raises(StaleListsError, match="the base, a MatrixFactorization, was trained again"):
            use()
    for twin in twins:
        found, scores = twin.recommend(users=users, k=5)
        np.testing.assert_array_equal(found, before[0])
        np.testing.assert_allclose(scores, before[1], rtol=1e-5)
    model.fit(log, progress=False)
    assert np.isfinite(model.recommend(users=users, k=5)[1]).all()


def test_an_unfitted_base_is_trained_and_left_as_it_is(log: tw.Events) -> None:
    base = tw.ItemBag(dim=7, epochs=4, max_norm=1.0, threads=1)
    model = fitted(log, base=base)
    assert not hasattr(base, "items_")
    assert isinstance(model.step(0), tw.ItemBag)
    assert model.step(0).dim == 7


def test_a_file_serves_alone(log: tw.Events, tmp_path: Path) -> None:
    base = tw.ItemBag(dim=7, epochs=4, max_norm=1.0, threads=1).fit(log, progress=False)
    model = fitted(log, base=base, steps=2, list_weights=np.array([3, 2, 1, 0.5, 0.5]))
    model.save(tmp_path / "model.safetensors")
    loaded = tw.load(tmp_path / "model.safetensors")
    assert isinstance(loaded, tw.LaSR)
    assert loaded.steps_ == 2
    assert loaded.get_params()["list_weights"] == [3, 2, 1, 0.5, 0.5]
    for number in range(3):
        np.testing.assert_array_equal(loaded.step(number).item_vectors(), model.step(number).item_vectors())
    users = log.vocabulary("user").ids
    for inference in ("iterative", "greedy", "beam"):
        found = [m.recommend(users=users, k=6, inference=inference, candidates=8)[0] for m in (model, loaded)]
        np.testing.assert_array_equal(*found)
    again = loaded.fit(log, progress=False)
    np.testing.assert_array_equal(again.item_vectors(), model.item_vectors())


def test_new_users_and_items_are_folded_into_every_step(log: tw.Events) -> None:
    model = fitted(log, steps=2)
    new = tw.Events.from_arrays(
        item=["i0", "i2", "i4", "i6", *["a new item"] * 3], user=["someone"] * 4 + ["u0", "u2", "u4"]
    )
    known = model.item_vocabulary.ids
    vectors, before = model.item_vectors(), model.step(1)
    model.fold_in(new, epochs=30, progress=False)
    assert model.step(1) is not before
    assert model.lists(users="someone").shape == (5,)
    for number in range(3):
        assert model.step(number).item_vocabulary.codes("a new item")[0] == len(known)
        assert model.step(number).context_vocabulary.codes("someone")[0] >= 0
    np.testing.assert_array_equal(model.item_vectors()[: len(known)], vectors)
    scores = model.score_block(users=["u0", "u1"])[:, len(known)]
    assert scores[0] > scores[1], "the new item is one of the even"


# --- bad input -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"steps": 0}, "steps must be at least 1, got 0"),
        ({"list_size": 0}, "list_size must be at least 1, got 0"),
        ({"list_size": 21}, "list_size must be at most the 20 items of the catalogue, got 21"),
        ({"inference": "exact"}, "inference must be one of 'iterative', 'greedy', 'beam', got 'exact'"),
        ({"beam": 0}, "beam must be at least 1, got 0"),
        ({"candidates": 0}, "candidates must be at least 1, got 0"),
        ({"list_norm": 0}, "list_norm must be above 0"),
        ({"list_norm": 1.5}, "list_norm must be at most 1, the ball of U and V, got 1.5"),
        ({"list_weights": [1.0, 0.5]}, "list_weights must be one a place of the list, 5, got 2"),
        ({"list_weights": "flat"}, "list_weights must be one of '1/i', got 'flat'"),
        ({"list_weights": [1, 2, 1, 1, 1]}, "list_weights must be finite, not rise"),
        ({"list_weights": [0, 0, 0, 0, 0]}, "begin above 0"),
        ({"list_weights": [1, 1, 1, 1, -1]}, "not fall below 0"),
        ({"list_weights": [1, 1, 1, 1, float("nan")]}, "must be finite"),
    ],
)
def test_parameters_that_cannot_be(log: tw.Events, params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fitted(log, **params)


def test_bases_that_cannot_be(log: tw.Events, pairs: tw.Events) -> None:
    with pytest.raises(TypeError, match="base must be a model of this package, got ndarray"):
        fitted(log, base=np.eye(3))
    of_queries = tw.MatrixFactorization(dim=2, epochs=1, max_norm=1.0).fit(pairs, progress=False)
    with pytest.raises(ValueError, match="base must recommend for the user of the log"):
        fitted(log, base=of_queries)
    with pytest.raises(ValueError, match="list_size must be at most the 20 items of the catalogue, got 21"):
        fitted(log, base=of_queries, list_size=21)


def test_features_need_a_base_of_features(log: tw.Events) -> None:
    base = tw.MatrixFactorization(dim=4, epochs=2, max_norm=1.0).fit(log, progress=False)
    features = features_of(log, "user")
    model = tw.LaSR(**SMALL, base=base).fit(log, user_features=features, progress=False)
    with pytest.raises(
        ValueError, match="this MatrixFactorization was fitted without features of its user side"
    ):
        model.recommend(features=features.matrix.to_dense()[:2])


def test_vectors_made_elsewhere() -> None:
    u, v = np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[1.0, 1.0], [0.0, 3.0], [2.0, 0.0]])
    model = tw.MatrixFactorization.from_vectors([7, 8, 9], v, queries=["a", "b"], query_vectors=u)
    np.testing.assert_array_equal(model.score_block(queries=["a", "b"]), (u @ v.T).astype(np.float32))
    assert model.recommend(queries="b", k=2)[0].tolist() == [8, 7]
    np.testing.assert_allclose(model.context_vectors(queries="nobody"), [[0.5, 1.0]])
    for wrong, message in (
        (
            {"users": [1], "user_vectors": [[1.0, 0.0]], "queries": [1], "query_vectors": u},
            "pass one of them",
        ),
        ({"users": [1, 2], "user_vectors": [[1.0], [2.0]]}, "same number of columns"),
        ({"users": [1, 2, 3], "user_vectors": u}, "a row for each of 3 distinct ids, got 2"),
        ({"users": [1, 2], "user_vectors": u * np.nan}, "user_vectors must be finite"),
        ({"users": [1, 2]}, "user_vectors must be a matrix with a row for each id"),
    ):
        with pytest.raises(ValueError, match=message):
            tw.MatrixFactorization.from_vectors([7, 8, 9], v, **wrong)
