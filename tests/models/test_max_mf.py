"""MaxMF passes the contract in all its forms; its answers are those of the definition; bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import topwise as tw
from topwise.models.taste_side import number_of_tastes, order_weights
from topwise.models.tastes import merge_tastes
from topwise.testing import ModelContract, checkerboard

SMALL = {"dim": 4, "epochs": 15, "learning_rate": 0.3, "max_norm": 0.7, "threads": 1}


class TestMaxMF(ModelContract):
    def make_model(self, **params: Any) -> tw.MaxMF:
        return tw.MaxMF(**{**SMALL, "tastes": 3, **params})


class TestSmoothed(ModelContract):
    def make_model(self, **params: Any) -> tw.MaxMF:
        return tw.MaxMF(**{**SMALL, "tastes": 3, "smooth": 0.4, **params})


class TestTastesByPositives(ModelContract):
    size = 40

    def make_model(self, **params: Any) -> tw.MaxMF:
        return tw.MaxMF(**{**SMALL, "tastes": "auto", "item_bias": True, **params})


class TestTwoStages(ModelContract):
    def make_model(self, **params: Any) -> tw.MaxMF:
        return tw.MaxMF(**{**SMALL, "tastes": 2, "stages": 2, **params})


class TestSenses(ModelContract):
    """Content of both sides; a third of the items and users have none."""

    def make_model(self, **params: Any) -> tw.MaxMF:
        return tw.MaxMF(**{**SMALL, "tastes": 2, **params})

    def features(self, log: tw.Events) -> dict[str, tw.Features]:
        return {
            f"{role}_features": tw.Features.from_matrix(
                ids[: len(ids) * 2 // 3],
                [[float(int(str(id_).lstrip("ui")) % 2), 1.0] for id_ in ids[: len(ids) * 2 // 3]],
            )
            for role in ("user", "item")
            for ids in [log.vocabulary(role).ids.tolist()]
        }


@pytest.mark.parametrize("loss", [tw.AUC(), tw.OWPC(), tw.WARP(violators=3), tw.KOS()], ids=repr)
def test_every_loss_learns_the_checkerboard(loss: Any) -> None:
    train, held_out = checkerboard()
    for smooth in (0.0, 0.5):
        model = tw.MaxMF(**{**SMALL, "loss": loss, "tastes": 3, "smooth": smooth}).fit(train)
        assert tw.evaluate(model, held_out, metrics=["hit@1"], exclude=train)["hit@1"] > 0.9


@pytest.mark.parametrize(
    ("size", "params"),
    [
        (20, {}),
        (20, {"loss": tw.OWPC()}),
        (20, {"item_bias": True}),
        (20, {"loss": tw.WARP(violators=3)}),
        (160, {"threads": 2}),  # enough items to deal to two threads: with fewer, both write the same rows
    ],
    ids=str,
)
def test_one_taste_is_matrix_factorization(size: int, params: dict[str, Any]) -> None:
    # To rounding, and for an epoch: their loops are compiled apart, and sums may be ordered differently.
    train, _ = checkerboard(size)
    params = {**SMALL, **params, "epochs": 1}
    one = tw.MaxMF(**params, tastes=1).fit(train)
    plain = tw.MatrixFactorization(**params).fit(train)
    np.testing.assert_allclose(one.item_vectors(), plain.item_vectors(), atol=1e-5)
    users = train.vocabulary("user").ids
    ours, theirs = (model.context_vectors(users=users) for model in (one, plain))
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


def brute_force(model: tw.MaxMF, user: Any) -> np.ndarray[Any, Any]:
    """f(u, d) of all items, from the definition."""
    tastes, _ = model.taste_vectors(users=[user])
    products = np.sort(tastes.astype(float) @ model.item_vectors().astype(float).T, axis=0)[::-1]
    weights = np.array([model.smooth**i for i in range(len(tastes))])
    return weights / weights.sum() @ products


@pytest.fixture(scope="module")
def taste_log() -> tw.Events:
    rng = np.random.default_rng(3)
    users, items = rng.integers(0, 30, 900), rng.integers(0, 120, 900)
    return tw.Events.from_arrays(user=[f"u{u}" for u in users], item=items)


@pytest.mark.parametrize(
    "params", [{}, {"smooth": 0.5}, {"smooth": 1.0}, {"tastes": "auto"}, {"tastes": 14}], ids=str
)
class TestAnswers:
    @pytest.fixture
    def model(self, params: dict[str, Any], taste_log: tw.Events) -> tw.MaxMF:
        settings = {**SMALL, "epochs": 4, "max_norm": 2.0, "tastes": 4, "item_bias": True, **params}
        return tw.MaxMF(**settings).fit(taste_log)

    def test_recommendations_are_the_best_of_all_items(self, model: tw.MaxMF, taste_log: tw.Events) -> None:
        users = taste_log.vocabulary("user").ids.tolist()
        ids, scores, taste = model.recommend(users=users, k=9, exclude=taste_log, return_taste=True)
        for row, user in enumerate(users):
            expected = brute_force(model, user)
            np.testing.assert_allclose(model.score_block(users=[user])[0], expected, rtol=1e-4, atol=1e-5)
            known = taste_log.item[taste_log.ids("user") == user]
            expected[known] = -np.inf
            np.testing.assert_allclose(scores[row], np.sort(expected)[::-1][:9], rtol=1e-4, atol=1e-5)
            codes = model.item_vocabulary.codes(ids[row])
            np.testing.assert_allclose(expected[codes], scores[row], rtol=1e-4, atol=1e-5)
            own, _ = model.taste_vectors(users=[user])
            products = own @ model.item_vectors()[codes].T
            np.testing.assert_allclose(products[taste[row] - 1, range(9)], products.max(axis=0), rtol=1e-5)

    def test_evaluation_ranks_by_the_definition(self, model: tw.MaxMF, taste_log: tw.Events) -> None:
        train, test = tw.split.by_fraction(taste_log, test=0.3, seed=1)
        report = tw.evaluate(model, test, metrics=["mean_rank", "ndcg@10"], exclude=train)

        class Plain:
            """The same model by its scores alone."""

            roles, item_vocabulary, scores_by_product = ("user",), model.item_vocabulary, False
            context_vocabulary = model.context_vocabulary

            def item_vectors(self) -> Any: ...
            def context_vectors(self, users: Any = None, queries: Any = None) -> Any: ...
            def score_block(self, users: Any = None, queries: Any = None) -> Any:
                return np.array([brute_force(model, user) for user in users])

        plain = tw.evaluate(Plain(), test, metrics=["mean_rank", "ndcg@10"], exclude=train)
        assert report["mean_rank"] == pytest.approx(plain["mean_rank"], rel=1e-4)
        assert report["ndcg@10"] == pytest.approx(plain["ndcg@10"], rel=1e-4)

    def test_copies_and_files_have_the_tastes(self, model: tw.MaxMF, tmp_path: Any) -> None:
        model.save(tmp_path / "m.safetensors")
        loaded = tw.load(tmp_path / "m.safetensors")
        users = model.context_vocabulary.ids
        for ours, theirs in zip(
            model.taste_vectors(users=users), loaded.taste_vectors(users=users), strict=True
        ):
            np.testing.assert_array_equal(ours, theirs)


def test_merging_keeps_the_best_of_each_item() -> None:
    items = np.array([[3, 1], [1, 2], [5, -1]], dtype=np.int32)
    scores = np.array([[4, 2], [3, 2], [1, -np.inf]], dtype=np.float32)
    best, found, taste = merge_tastes(items, scores, np.array([0, 2, 3]))
    np.testing.assert_array_equal(best, [[3, 1], [5, -1]])
    np.testing.assert_array_equal(found, [[4, 3], [1, -np.inf]])
    np.testing.assert_array_equal(taste, [[1, 2], [1, 0]])


def test_the_number_of_tastes_by_positives() -> None:
    n = np.array([0, 1, 15, 16, 31, 32, 64, 4095, 4096, 10**9])
    np.testing.assert_array_equal(number_of_tastes("auto", n), [1, 1, 1, 2, 2, 3, 4, 9, 10, 10])
    np.testing.assert_array_equal(number_of_tastes(3, n), 3)
    np.testing.assert_allclose(order_weights(3, 0.5), [4 / 7, 2 / 7, 1 / 7], rtol=1e-6)
    np.testing.assert_array_equal(order_weights(3, 0), [1, 0, 0])


def test_tastes_are_shown_by_their_nearest_items(taste_log: tw.Events) -> None:
    model = tw.MaxMF(**{**SMALL, "tastes": 3}).fit(taste_log)
    vectors, _ = model.taste_vectors(users=["u1"])
    shown = model.tastes("u1", k=4, titles={item: f"title {item}" for item in range(120)})
    assert [taste.number for taste in shown] == [1, 2, 3]
    products = vectors @ model.item_vectors().T
    for taste in shown:
        np.testing.assert_allclose(taste.scores, np.sort(products[taste.number - 1])[::-1][:4], rtol=1e-5)
        assert f"title {taste.items[0]}" in repr(shown)
    by_angle = model.tastes("u1", k=120, metric="cosine")[0].scores
    assert np.abs(by_angle).max() <= 1 + 1e-5
    with pytest.raises(ValueError, match="does not know the user 'nobody'"):
        model.tastes("nobody")
    with pytest.raises(ValueError, match="of one user at a time"):
        model.tastes(["u1", "u2"])


def test_senses_of_queries_over_content_items() -> None:
    train, held_out = checkerboard()
    queries, asked = (
        tw.Events.from_arrays(query=log.ids("user"), item=log.ids("item")) for log in (train, held_out)
    )
    items = queries.vocabulary("item").ids.tolist()
    content = tw.Features.from_matrix(items, [[float(int(i[1:]) % 2 == p) for p in (0, 1)] for i in items])
    model = tw.MaxMF(**{**SMALL, "tastes": 2}).fit(queries, item_features=content)
    assert tw.evaluate(model, asked, metrics=["hit@1"], exclude=queries)["hit@1"] == 1
    assert "Senses of the query 'u3'" in repr(model.tastes("u3"))


def test_fewer_positives_than_tastes() -> None:
    """The documented behaviour: the other tastes stay as they began, and the answer is still exact."""
    log = tw.Events.from_arrays(user=["a", "b", "b", "c"], item=["x", "y", "z", "x"])
    model = tw.MaxMF(**{**SMALL, "tastes": 6}).fit(log)
    ids, scores, taste = model.recommend(users="a", k=3, return_taste=True)
    assert ids.tolist()[0] == "x"
    assert np.isfinite(scores).all()
    assert (taste >= 1).all()
    np.testing.assert_allclose(scores, np.sort(brute_force(model, "a"))[::-1], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"tastes": 0}, "tastes must be at least 1, got 0"),
        ({"tastes": "many"}, "tastes must be one of 'auto', got 'many'"),
        ({"smooth": -0.1}, "smooth must be between 0 .* and 1 .*, got -0.1"),
        ({"smooth": float("nan")}, "smooth must be between"),
        ({"stages": 3}, "stages must be 1 or 2, got 3"),
        ({"stages": 0}, "stages must be at least 1, got 0"),
    ],
)
def test_bad_parameters(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tw.MaxMF(**{**SMALL, **params}).fit(checkerboard(6)[0])
    with pytest.raises(TypeError, match=r"tastes must be a whole number, got 2\.5"):
        tw.MaxMF(**{**SMALL, "tastes": 2.5}).fit(checkerboard(6)[0])  # type: ignore[arg-type]


def test_features_where_none_are_allowed() -> None:
    train, _ = checkerboard(6)
    users = train.vocabulary("user").ids
    alone = tw.Features.from_matrix(users, np.ones((len(users), 1)), identity=False)
    with pytest.raises(
        ValueError, match=r"tastes are rows of the user's own, .* give them with identity=True"
    ):
        tw.MaxMF(**SMALL).fit(train, user_features=alone)
    with pytest.raises(ValueError, match=r"stages=2 .* takes no features, got user_features: use stages=1"):
        tw.MaxMF(**SMALL, stages=2).fit(train, user_features=alone)
    with pytest.raises(ValueError, match="fitted without features"):
        tw.MaxMF(**SMALL).fit(train).recommend(features=np.ones((1, 2)))
    with pytest.raises(ValueError, match="query_features were given"):
        tw.MaxMF(**SMALL).fit(train, query_features=alone)


def test_options_of_two_stages_alone() -> None:
    train, _ = checkerboard(6)
    for option in ({"cluster": "auto"}, {"items_from": tw.ItemBag()}, {"parts": "x"}):
        with pytest.raises(
            ValueError, match=f"{next(iter(option))} goes with training in two stages: set stages=2"
        ):
            tw.MaxMF(**SMALL).fit(train, **option)  # type: ignore[arg-type]
    two = tw.MaxMF(**SMALL, stages=2)
    with pytest.raises(TypeError, match="items_from must be a fitted model, got int"):
        two.fit(train, items_from=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="is not fitted yet"):
        two.fit(train, items_from=tw.ItemBag())
    with pytest.raises(ValueError, match=r"items_from has dim=3 .* must be the same"):
        two.fit(train, items_from=tw.ItemBag(**{**SMALL, "dim": 3}).fit(train))
    with pytest.raises(ValueError, match="pass cluster= as well"):
        two.fit(train, parts="folder")


def test_of_another_role() -> None:
    model = tw.MaxMF(**SMALL).fit(checkerboard(6)[0])
    with pytest.raises(ValueError, match="this model recommends for users: pass users="):
        model.recommend(queries=["u0"])
    with pytest.raises(ValueError, match="has no parameter 'n_tastes'"):
        model.set_params(n_tastes=3)
    assert model.set_params(tastes=2).get_params()["tastes"] == 2
