"""Users and items without events, served from their content."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from logs import tastes

import topwise as tw

SETTINGS = {"dim": 16, "epochs": 15, "learning_rate": 0.4, "max_norm": 1.5, "threads": 1}
N_TASTES = 5


def taste_features(ids: list[str], **options: Any) -> tw.Features:
    """The taste of an id, one of five, as its content."""
    return tw.Features.from_matrix(ids, np.eye(N_TASTES)[[int(id_[1:]) % N_TASTES for id_ in ids]], **options)


def all_features(**options: Any) -> dict[str, tw.Features]:
    """Content of the 150 users and 90 items of `tastes`, and of ten more each."""
    return {
        "user_features": taste_features([f"u{n}" for n in range(160)], **options),
        "item_features": taste_features([f"i{n}" for n in range(100)], **options),
    }


@pytest.mark.parametrize("identity", [True, False], ids=["ids and content", "content alone"])
@pytest.mark.parametrize("loss", [tw.WARP(), tw.OWPC()], ids=repr)
def test_cold_users_and_items_are_served_by_their_taste(identity: bool, loss: tw.losses.Loss) -> None:
    model = tw.MatrixFactorization(**SETTINGS, loss=loss).fit(tastes(), **all_features(identity=identity))
    cold_users = [f"u{n}" for n in range(150, 160)]
    cold_items = [f"i{n}" for n in range(90, 100)]
    ids, _ = model.recommend(users=cold_users, k=10)
    own = np.array(
        [
            [int(i[1:]) % N_TASTES == int(u[1:]) % N_TASTES for i in row]
            for u, row in zip(cold_users, ids, strict=True)
        ]
    )
    assert own.mean() > 0.95, "chance is 0.2"
    ids, _ = model.recommend(users=["u0", "u1", "u2", "u3", "u4"], k=2, items=cold_items)
    assert [{int(i[1:]) % N_TASTES for i in row} for row in ids] == [{0}, {1}, {2}, {3}, {4}]


def test_items_without_events_are_no_negatives() -> None:
    """Their own rows stay at zero, so that nothing but their content speaks for or against them."""
    model = tw.MatrixFactorization(**SETTINGS).fit(tastes(), **all_features())
    side = model.items_
    cold = side.vocabulary.codes([f"i{n}" for n in range(90, 100)])
    assert np.count_nonzero(side.rows[side.first + cold]) == 0
    assert np.count_nonzero(side.rows[side.first : side.first + 90, :16]) == 90 * 16


def test_ids_without_features_have_their_own_rows_alone() -> None:
    log = tastes()
    some = [id_ for id_ in log.vocabulary("item").ids if int(id_[1:]) < 40]
    model = tw.MatrixFactorization(**SETTINGS).fit(log, item_features=taste_features(some))
    codes = model.item_vocabulary.codes(["i70", "i5"])
    own = model.items_.rows[model.items_.first + codes, :16]
    np.testing.assert_array_equal(model.item_vectors()[codes[0]], own[0])
    assert not np.array_equal(model.item_vectors()[codes[1]], own[1])


def test_films_nobody_has_seen_yet() -> None:
    """Genres of real films: those that a user will like stand above chance among films without any event."""
    data = tw.datasets.movielens_small()
    log = data.log
    cold = np.random.default_rng(0).random(log.n("item")) < 0.15
    train, later = log.take(~cold[log.item]), log.take(cold[log.item])
    train = tw.Events.from_arrays(item=train.ids("item"), user=train.ids("user"))
    model = tw.MatrixFactorization(**{**SETTINGS, "epochs": 8, "threads": 2})
    model.fit(train, item_features=data.item_features)
    candidates = np.unique(later.ids("item"))
    users = np.unique(later.ids("user"))
    users = users[np.isin(users, train.vocabulary("user").ids)]
    shown, _ = model.recommend(users=users, k=20, items=candidates)
    liked = {user: set() for user in users}
    for user, item in zip(later.ids("user"), later.ids("item"), strict=True):
        liked.setdefault(user, set()).add(item)
    hits = np.mean([len(liked[user] & set(row)) / 20 for user, row in zip(users, shown, strict=True)])
    chance = np.mean([len(liked[user]) / len(candidates) for user in users])
    assert hits > 1.5 * chance


def test_a_saved_hybrid_serves_cold_ids_too(tmp_path: Any) -> None:
    model = tw.MatrixFactorization(**SETTINGS).fit(tastes(), **all_features())
    model.save(tmp_path / "model.safetensors")
    loaded = tw.load(tmp_path / "model.safetensors")
    asked = ["u3", "u155", "nobody"]
    np.testing.assert_array_equal(loaded.recommend(users=asked)[0], model.recommend(users=asked)[0])
    rows = np.eye(N_TASTES)
    np.testing.assert_array_equal(loaded.recommend(features=rows)[0], model.recommend(features=rows)[0])


def test_features_of_the_wrong_side_or_kind() -> None:
    log = tastes()
    with pytest.raises(
        ValueError, match="query_features were given, but the contexts of this model are of role 'user'"
    ):
        tw.MatrixFactorization(**SETTINGS).fit(log, query_features=taste_features(["u1"]))
    model = tw.MatrixFactorization(**SETTINGS).fit(log)
    with pytest.raises(ValueError, match="was fitted without features of its user side"):
        model.recommend(features=np.ones((1, 5)))
