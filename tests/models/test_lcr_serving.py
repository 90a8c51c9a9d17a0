"""What LCR answers: known and unknown ids, batches, exclusion, content of queries, playlists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from twists import fitted, twisted

import topwise as tw
from topwise.testing import checkerboard

SMALL = {"dim": 4, "epochs": 2, "max_norm": 0.7, "threads": 1}

# --- unknown ids and a side left out ----------------------------------------------------------------------


def test_unknown_users_get_the_query_s_term_and_unknown_queries_the_user_s() -> None:
    model = fitted()
    s, v = (side.vectors(8) for side in (model.queries_, model.context_))  # type: ignore[union-attr]
    user, query = model._vocabulary("user").codes([4])[0], model._vocabulary("query").codes([5])[0]
    for users in ([-7], None):
        np.testing.assert_array_equal(model.context_vectors(users=users, queries=[5])[0], s[query])
    for queries in ([-7], None):
        np.testing.assert_array_equal(model.context_vectors(users=[4], queries=queries)[0], v[user])
    both = model.context_vectors(users=[-7], queries=[-7])[0]
    np.testing.assert_array_equal(both, model.mean_context_)
    np.testing.assert_array_equal(model.interactions([-7])[0], np.eye(8))
    report = tw.evaluate(model, tw.Events.from_arrays(item=[1, 2], user=[-7, 4], query=[5, 5]))
    assert report.unseen_contexts == 1


def test_the_mean_context_is_that_of_the_pairs() -> None:
    model, (train, _) = fitted(), twisted()
    pairs = tw.data.Pairs.of(train)
    users, queries = train.vocabulary("user").ids[pairs.users], train.vocabulary("query").ids[pairs.queries]
    mean = model.context_vectors(users=users, queries=queries).mean(axis=0)
    np.testing.assert_allclose(model.mean_context_, mean, atol=1e-5)


def test_a_log_without_a_side() -> None:
    train, _ = twisted()
    of_queries = tw.Events.from_arrays(item=train.ids("item"), query=train.ids("query"))
    model = tw.LCR(dim=8, epochs=3, max_norm=1.0, threads=1).fit(of_queries, progress=False)
    same = tw.MatrixFactorization(dim=8, epochs=3, max_norm=1.0, threads=1).fit(of_queries, progress=False)
    assert model.roles == ("query",)
    assert (model.user_vocabulary, model.query_vocabulary) == (None, model.context_vocabulary)
    np.testing.assert_array_equal(model.item_vectors(), same.item_vectors())
    with pytest.raises(ValueError, match="this model recommends for queries: pass queries="):
        model.recommend(users=[1])


# --- batches ----------------------------------------------------------------------------------------------


def test_batches_of_both() -> None:
    model, (train, _) = fitted(), twisted()
    users, queries = [1, 2, 3], [4, 5, 6]
    ids, scores = model.recommend(users=users, queries=queries, k=4)
    assert ids.shape == scores.shape == (3, 4)
    for row in range(3):
        one = model.recommend(users=users[row], queries=queries[row], k=4)
        assert one[0].shape == (4,)
        np.testing.assert_array_equal(one[0], ids[row])
    by_one = model.recommend(users=[1, 1, 1], queries=queries, k=4)[0]
    np.testing.assert_array_equal(model.recommend(users=1, queries=queries, k=4)[0], by_one)
    with pytest.raises(ValueError, match="must be as many, or one of them single, got 2 users and 3 queries"):
        model.recommend(users=[1, 2], queries=queries)
    with pytest.raises(ValueError, match="recommends for queries and users: pass queries=, users=, or both"):
        model.recommend()
    assert model.recommend(users=[], queries=[], k=3)[0].shape == (0, 3)
    assert len(train.roles) == 3


def test_what_is_left_out_is_the_pair_s_or_the_user_s_by_the_roles_of_the_log() -> None:
    model, (train, _) = fitted(), twisted()
    n = len(model.item_vocabulary)

    def shown(exclude: tw.Events, **asked: Any) -> set[Any]:
        ids, scores = model.recommend(**asked, k=n, exclude=exclude)
        return set(ids[np.isfinite(scores)].tolist())

    everything = set(model.item_vocabulary.ids.tolist())
    user, query, item = (train.ids(role) for role in train.roles)
    users_alone = tw.Events.from_arrays(item=item, user=user)
    for asked in (1, 2):
        of_user, of_query = user == asked, query == 7
        pair = {"users": asked, "queries": 7}
        assert shown(train, **pair) == everything - set(item[of_user & of_query].tolist())
        assert shown(users_alone, **pair) == everything - set(item[of_user].tolist())
        assert shown(train, users=asked) == everything - set(item[of_user].tolist())
        assert shown(train, queries=7) == everything - set(item[of_query].tolist())


def test_evaluation_leaves_out_by_the_roles_of_the_log() -> None:
    model, (train, test) = fitted(), twisted()
    users_alone = tw.Events.from_arrays(item=train.ids("item"), user=train.ids("user"))
    by_pair = tw.evaluate(model, test, metrics=["recall@2"], exclude=train)
    by_user = tw.evaluate(model, test, metrics=["recall@2"], exclude=users_alone)
    triples, pairs = (
        {*zip(*(log.ids(r).tolist() for r in log.roles), strict=True)} for log in (train, users_alone)
    )
    asked = list(zip(*(test.ids(role).tolist() for role in test.roles), strict=True))
    assert by_pair.excluded_events == sum(one in triples for one in asked)
    assert by_user.excluded_events == sum((user, item) in pairs for user, _, item in asked)
    assert 0 < by_pair.excluded_events < by_user.excluded_events


# --- content of queries (eq. 5) ---------------------------------------------------------------------------


def content_log() -> tuple[tw.Events, tw.Features, tw.Features]:
    train, _ = twisted()
    names = train.vocabulary("query").ids
    one_hot = np.eye(12, dtype=np.float32)
    queries = tw.Features.from_matrix(names, one_hot[names], identity=False)
    items = tw.Features.from_matrix(range(12), one_hot, identity=False)
    return train, queries, items


def test_queries_are_their_content_even_unseen() -> None:
    train, queries, items = content_log()
    model = tw.LCR(dim=8, interaction="full", epochs=10, max_norm=1.2, threads=1)
    model.fit(train, query_features=queries, item_features=items, progress=False)
    by_id = model.recommend(users=[3, 4], queries=[7, 2], k=5)
    rows = np.eye(12, dtype=np.float32)[[7, 2]]
    by_content = model.recommend(users=[3, 4], features=rows, k=5)
    np.testing.assert_array_equal(by_id[0], by_content[0])
    np.testing.assert_allclose(by_id[1], by_content[1], rtol=1e-5)
    np.testing.assert_array_equal(model.recommend(users=3, features=rows[0], k=5)[0], by_id[0][0])
    mixture = model.context_vectors(users=[-7], features=(rows[:1] + rows[1:]) / 2)
    parts = model.context_vectors(queries=[7, 2])
    np.testing.assert_allclose(mixture[0], parts.mean(axis=0), atol=1e-5)
    with pytest.raises(ValueError, match="features stand in place of queries: pass one of them"):
        model.recommend(queries=[1], features=rows[:1])
    with pytest.raises(ValueError, match="was fitted without features of its queries: pass query_features="):
        fitted().recommend(users=1, features=rows[0])


def test_a_query_that_only_the_features_have_is_served_by_its_content() -> None:
    train, queries, _ = content_log()
    more = tw.Features.from_matrix([*queries.vocabulary.ids, 99], np.eye(12)[[*queries.vocabulary.ids, 7]])
    model = tw.LCR(dim=8, epochs=5, max_norm=1.2, threads=1).fit(train, query_features=more, progress=False)
    content = model.queries_.rows[7, :8]  # type: ignore[union-attr]
    np.testing.assert_allclose(model.context_vectors(queries=[99])[0], content, atol=1e-6)


# --- playlists --------------------------------------------------------------------------------------------


def walks() -> tw.LCR:
    """Users walk up a circle of items, one by one."""
    lists = [[(start + step) % 10 for step in range(6)] for start in range(10) for _ in range(3)]
    log = tw.sessions.from_playlists(lists, users=[f"u{number % 5}" for number in range(30)])
    return tw.LCR(dim=8, interaction="diagonal", epochs=40, max_norm=1.5, threads=1).fit(log, progress=False)


def test_a_playlist_walks_without_repeats() -> None:
    model = walks()
    assert model.playlist("u1", 3, 5).tolist() == [4, 5, 6, 7, 8]
    assert model.playlist(None, 8, 3).tolist() == [9, 0, 1]
    everything = model.playlist("u1", 3, 50).tolist()
    assert sorted(everything) == [0, 1, 2, 4, 5, 6, 7, 8, 9]
    assert set(model.playlist("stranger", 3, 4, items=[4, 6, 9]).tolist()) == {4, 6, 9}
    heard = tw.Events.from_arrays(item=[4, 5], user=["u1", "u1"])
    assert not {4, 5} & set(model.playlist("u1", 3, 4, exclude=heard).tolist())


def test_playlists_that_cannot_be() -> None:
    model = walks()
    with pytest.raises(ValueError, match="the model knows the seed 'x' neither as an item nor as a query"):
        model.playlist("u1", "x", 3)
    with pytest.raises(ValueError, match="length must be at least 1, got 0"):
        model.playlist("u1", 3, 0)
    with pytest.raises(ValueError, match="needs an item to begin with: pass seed="):
        model.playlist("u1")
    train, _ = checkerboard(6)
    with pytest.raises(ValueError, match="a playlist needs a model of queries"):
        tw.LCR(**SMALL).fit(train, progress=False).playlist("u1", "i3", 3)
