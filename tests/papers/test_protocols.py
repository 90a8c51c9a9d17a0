"""Splits and measures of the papers, against slow and obvious versions."""

from __future__ import annotations

import numpy as np
import pytest

import topwise as tw
from topwise.data import Csr
from topwise.papers import documents, protocols
from topwise.papers.methods import only
from topwise.papers.study import Task, joined


@pytest.fixture(scope="module")
def log() -> tw.Events:
    rng = np.random.default_rng(0)
    return tw.Events.from_arrays(
        user=rng.integers(0, 40, 1500),
        query=rng.integers(0, 25, 1500),
        item=(rng.random(1500) ** 2 * 60).astype(int),
        time=rng.integers(0, 40, 1500) * 86_400,
    )


def keys(log: tw.Events) -> list[tuple[object, ...]]:
    return list(zip(*(log.ids(role).tolist() for role in log.roles), log.time.tolist(), strict=True))


@pytest.mark.parametrize(
    "parts", [protocols.eighty_ten_ten, protocols.leave_five_out, protocols.one_day_in_five]
)
def test_parts_are_disjoint_and_whole(parts: object, log: tw.Events) -> None:
    train, validation, test = parts(log, 3)  # type: ignore[operator]
    assert sorted(keys(train) + keys(validation) + keys(test)) == sorted(keys(log))
    assert min(len(train), len(validation), len(test)) > 0


def test_eighty_ten_ten(log: tw.Events) -> None:
    assert [len(part) for part in protocols.eighty_ten_ten(log, 0)] == [1200, 150, 150]


def test_five_of_each_user_are_left_out_and_five_more_for_choices(log: tw.Events) -> None:
    _, validation, test = protocols.leave_five_out(log, 1)
    assert np.bincount(test.codes("user")).tolist() == [5] * 40
    assert np.bincount(validation.codes("user")).tolist() == [5] * 40


def test_one_day_in_five_is_the_test(log: tw.Events) -> None:
    train, validation, test = protocols.one_day_in_five(log, 1)
    days = [np.unique(part.time // 86_400_000_000_000 % 5).tolist() for part in (train, validation, test)]
    assert days == [[1, 2, 3, 4], [1, 2, 3, 4], [0]]


def test_items_of_the_tail_are_not_taught(log: tw.Events) -> None:
    head, validation, test = protocols.head_and_tail(log, 0, least=20, most=8)
    counts = np.bincount(log.item)
    assert counts[np.unique(head.item)].min() >= 20
    assert counts[np.unique(test.item)].max() <= 8
    assert not np.intersect1d(head.item, validation.item).size


def test_validation_is_put_back_for_the_last_fit(log: tw.Events) -> None:
    train, validation, test = protocols.eighty_ten_ten(log, 0)
    whole = Task(train, validation, test).whole().train
    assert sorted(keys(whole)) == sorted(keys(train) + keys(validation))
    assert keys(joined(train, validation)) == keys(whole)


def test_a_log_with_some_of_its_roles(log: tw.Events) -> None:
    assert only(log, "query").roles == ("query", "item")
    assert only(log, "query", "user").roles == ("user", "query", "item")
    assert len(only(log, "user")) == len(log)


def test_a_cut_has_no_more_ids_than_events(log: tw.Events) -> None:
    cut = protocols.some_contexts(log, 5)
    assert cut.n("user") == 5
    assert cut.n("item") == len(np.unique(cut.item))
    assert set(keys(cut)) <= set(keys(log))


def test_every_event_is_ranked_among_the_whole_catalogue(log: tw.Events) -> None:
    users = only(log, "user")
    train, test = tw.split.by_fraction(users, 0.3, seed=0)
    model = tw.MatrixFactorization(dim=4, epochs=2, max_norm=1.0, threads=1).fit(train, progress=False)
    scores = model.score_block(users=test.ids("user"))
    own = scores[np.arange(len(test)), model.item_vocabulary.codes(test.ids("item"))][:, None]
    # Nothing is left out: neither what was taught nor the other items to find.
    expected = (scores > own).sum(axis=1) + ((scores == own).sum(axis=1) + 1) / 2
    ranks = protocols.event_ranks(model, test)
    assert np.abs(ranks - expected).max() <= 1  # float32 products in another order may swap two neighbours
    assert (np.abs(ranks - expected) > 0).mean() < 0.05
    measured = protocols.pairs(5, 10)(model, Task(train, None, test), test)
    assert measured["recall@5"] == pytest.approx((ranks <= 5).mean())
    assert measured["mean_rank"] == pytest.approx(ranks.mean())


def test_an_unknown_item_stands_behind_the_catalogue(log: tw.Events) -> None:
    model = tw.MatrixFactorization(dim=4, epochs=1, max_norm=1.0, threads=1).fit(
        only(log, "user"), progress=False
    )
    test = tw.Events.from_arrays(user=[1, 1], item=[-7, -7])
    assert protocols.event_ranks(model, test).tolist() == [len(model.item_vocabulary) + 1] * 2


def test_what_a_user_has_is_left_out_of_the_lists(log: tw.Events) -> None:
    users = only(log, "user")
    train, validation, test = protocols.leave_five_out(users, 0)
    model = tw.MatrixFactorization(dim=4, epochs=2, max_norm=1.0, threads=1).fit(train, progress=False)
    task = Task(train, validation, test)
    judge = protocols.lists("mean_rank", "max_rank")
    assert judge(model, task, test) == {
        name: tw.evaluate(model, test, [name], exclude=[train, validation])[name]
        for name in ("mean_rank", "max_rank")
    }
    plain = protocols.lists("mean_rank", exclude=False)(model, task, test)["mean_rank"]
    assert plain == tw.evaluate(model, test, ["mean_rank"])["mean_rank"]


def test_keywords_of_counts_and_of_weights_are_the_same_words() -> None:
    rng = np.random.default_rng(0)
    counts = Csr.from_dense(rng.integers(0, 3, (60, 40)).astype(float))
    links = rng.integers(0, 60, (2, 500))
    task = documents.linked(counts, (links[0], links[1]), seed=0, quick=False, keywords=5)
    asked = task.features["query_features"].matrix
    counted = task.extra["counts"]["query_features"].matrix
    assert (asked.lengths() == np.minimum(counts.lengths(), 5)).all()
    assert np.array_equal(asked.indices, counted.indices)
    assert (counts.to_dense()[asked.to_dense() > 0] > 0).all()


def test_a_document_is_neither_asked_for_itself_nor_drawn() -> None:
    rng = np.random.default_rng(0)
    counts = Csr.from_dense(rng.integers(0, 3, (60, 40)).astype(float))
    links = rng.integers(0, 60, (2, 500))
    task = documents.linked(counts, (links[0], links[1]), seed=0, quick=False)
    for part in (task.validation, task.test):
        assert (part.ids("query") != part.ids("item")).all()
    itself = task.train.ids("query") == task.train.ids("item")
    assert np.unique(task.train.ids("query")[itself]).size == 60
    assert task.train.weight is not None
    assert (task.train.weight[itself] == 0).all()
    assert (task.train.weight[~itself] == 1).all()
    queries = [
        set(part.ids("query").tolist()) for part in (task.train.take(~itself), task.validation, task.test)
    ]
    assert not (queries[0] & queries[1])
    assert not (queries[0] & queries[2])
    assert not (queries[1] & queries[2])
