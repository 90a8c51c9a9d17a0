"""New users and items after training: as good as if they had been there, and no trace on the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from logs import parts

import topwise as tw

SETTINGS = {"dim": 32, "epochs": 20, "learning_rate": 0.8, "max_norm": 1.5, "threads": 1}


def quality(model: Any, test: tw.Events, train: tw.Events) -> float:
    return float(tw.evaluate(model, test, metrics=["ndcg@10"], exclude=train, bootstrap=1)["ndcg@10"])


@pytest.fixture(scope="module")
def films() -> tuple[tw.Events, tw.Events]:
    log = tw.datasets.movielens_small().log
    return tw.split.by_fraction(log, test=0.2, seed=1)


def afresh(log: tw.Events) -> tw.Events:
    """The same events with vocabularies of their own, as if read from another file."""
    return tw.Events.from_arrays(item=log.ids("item"), user=log.ids("user"))


def test_the_same_users_under_new_names_are_served_as_well(films: tuple[tw.Events, tw.Events]) -> None:
    """What fold_in learns of users from their events, the items fixed, is as good as training with all."""
    train, test = films
    model = tw.MatrixFactorization(**SETTINGS).fit(train)

    def renamed(log: tw.Events) -> tw.Events:
        some = log.take(log.user % 4 == 0)
        return tw.Events.from_arrays(item=some.ids("item"), user=[f"new {id_}" for id_ in some.ids("user")])

    old = quality(model, test.take(test.user % 4 == 0), train)
    model.fold_in(renamed(train))
    assert quality(model, renamed(test), renamed(train)) > 0.95 * old


def test_users_who_were_not_there_are_nearly_as_well_served(films: tuple[tw.Events, tw.Events]) -> None:
    """Their events are missed in the items' vectors too; what is left is far above what unknown users get."""
    train, test = films
    new = np.random.default_rng(2).random(train.n("user")) < 0.25
    theirs, asked = train.take(new[train.user]), test.take(new[test.user])
    full = tw.MatrixFactorization(**SETTINGS).fit(train)
    model = tw.MatrixFactorization(**SETTINGS).fit(afresh(train.take(~new[train.user])))
    unknown = quality(model, asked, train)
    model.fold_in(afresh(theirs))
    assert quality(model, asked, train) > 0.75 * quality(full, asked, train)
    assert quality(model, asked, train) > 1.3 * unknown


def test_new_items_find_their_users(films: tuple[tw.Events, tw.Events]) -> None:
    train, _ = films
    new = np.random.default_rng(3).random(train.n("item")) < 0.2
    model = tw.MatrixFactorization(**SETTINGS).fit(afresh(train.take(~new[train.item])))
    known = np.isin(train.vocabulary("user").ids, model.context_vocabulary.ids)
    theirs, asked = (log.take(new[log.item] & known[log.user]) for log in films)
    users = model.context_vocabulary.ids
    before = model.item_vectors(), model.context_vectors(users=users)
    model.fold_in(afresh(theirs), known=train)
    np.testing.assert_array_equal(model.item_vectors()[: len(before[0])], before[0])
    np.testing.assert_array_equal(model.context_vectors(users=users), before[1])
    report = tw.evaluate(model, asked, metrics=["auc"], exclude=train, bootstrap=1)
    assert report["auc"] > 0.75


@pytest.mark.parametrize("bias", [False, True])
def test_users_and_items_at_once(bias: bool, tmp_path: Any) -> None:
    train, _, _ = parts()
    model = tw.MatrixFactorization(**{**SETTINGS, "item_bias": bias}).fit(train)
    items, users = model.item_vocabulary.ids, train.vocabulary("user").ids
    before = (
        model.item_vectors(),
        model.context_vectors(users=users),
        model.recommend(users="u7", k=5, items=items),
    )
    taste = [f"i{n}" for n in (0, 5, 10, 15, 20)]
    others = [f"u{n}" for n in range(0, 100, 5)]
    new = tw.Events.from_arrays(
        item=[*taste, "a new item", *["a new item"] * len(others)], user=["a new user"] * 6 + others
    )
    model.fold_in(new, known=train)
    np.testing.assert_array_equal(model.item_vectors()[: len(items)], before[0])
    np.testing.assert_array_equal(model.context_vectors(users=users), before[1])
    again = model.recommend(users="u7", k=5, items=items)
    np.testing.assert_array_equal(again[0], before[2][0])
    assert len(model.item_vocabulary) == len(items) + 1
    assert "a new item" in model.recommend(users="u5", k=10, exclude=train)[0]
    if not bias:  # the bias of an item that is folded in says only that it has events
        assert "a new item" not in model.recommend(users="u6", k=10, exclude=train)[0]
    model.save(tmp_path / "model.safetensors")
    loaded = tw.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(
        loaded.recommend(users="a new user", k=9)[0], model.recommend(users="a new user", k=9)[0]
    )


def test_folding_the_same_log_twice_changes_nothing() -> None:
    train, _, _ = parts()
    model = tw.MatrixFactorization(**SETTINGS).fit(train)
    new = tw.Events.from_arrays(item=["i0", "i5"], user=["newcomer", "newcomer"])
    model.fold_in(new)
    once = model.context_vectors(users="newcomer")
    model.fold_in(new)
    model.fold_in(train)
    np.testing.assert_array_equal(model.context_vectors(users="newcomer"), once)


def test_it_repeats_itself() -> None:
    train, _, _ = parts()
    new = tw.Events.from_arrays(item=["i0", "i5", "i7"], user=["newcomer"] * 3)
    models = [tw.MatrixFactorization(**SETTINGS).fit(train).fold_in(new) for _ in range(2)]
    np.testing.assert_array_equal(*(model.context_vectors(users="newcomer") for model in models))


def test_a_hybrid_learns_rows_for_new_ids_with_the_content_fixed() -> None:
    train, _, _ = parts()
    items = train.vocabulary("item").ids
    features = tw.Features.from_matrix(items, np.eye(5)[[int(id_[1:]) % 5 for id_ in items]])
    model = tw.MatrixFactorization(**SETTINGS).fit(train, item_features=features)
    rows = model.items_.rows.copy()
    model.fold_in(tw.Events.from_arrays(item=["i0", "i5", "i10", "new"], user=["newcomer"] * 4))
    np.testing.assert_array_equal(model.items_.rows[: len(rows)], rows)
    ids, _ = model.recommend(users="newcomer", k=5, items=items)
    assert all(int(id_[1:]) % 5 == 0 for id_ in ids)


def test_what_cannot_be_folded_in() -> None:
    train, _, _ = parts()
    model = tw.MatrixFactorization(**SETTINGS).fit(train)
    with pytest.raises(TypeError, match=r"fold_in takes a log of events \(tw.Events\), got list"):
        model.fold_in([1, 2])
    with pytest.raises(ValueError, match="the log must have the role 'user', it has query, item"):
        model.fold_in(tw.Events.from_arrays(item=["i0"], query=["q"]))
    with pytest.raises(ValueError, match="epochs must be at least 1, got 0"):
        model.fold_in(train, epochs=0)


def test_a_fold_that_fails_leaves_the_model_as_it_was() -> None:
    train, _, _ = parts()
    model = tw.MatrixFactorization(
        **{**SETTINGS, "max_norm": None, "optimizer": "sgd", "learning_rate": 0.05}
    )
    model.fit(train)
    before = model.recommend(users="u0", k=5)
    new = tw.Events.from_arrays(item=["i0", "i5"], user=["newcomer", "newcomer"])
    with pytest.raises(tw.training.DivergenceError):
        model.fold_in(new, learning_rate=1e30)
    assert "newcomer" not in model.context_vocabulary
    after = model.recommend(users="u0", k=5)
    np.testing.assert_array_equal(after[0], before[0])
    np.testing.assert_array_equal(after[1], before[1])
    assert np.isfinite(model.fold_in(new).context_vectors(users="newcomer")).all()
