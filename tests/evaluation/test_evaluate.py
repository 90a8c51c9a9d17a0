from __future__ import annotations

from typing import Any

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vector_model import ScoreModel, VectorModel

from topwise.data import Events, Vocabulary
from topwise.evaluation import evaluate, ranking

CATALOGUE = [f"i{number}" for number in range(9)]
KNOWN_USERS = ["u0", "u1", "u2", "u3"]

# Items and users beyond those that the model knows are part of the game.
pairs = st.tuples(st.integers(0, 5), st.integers(0, 11))
logs = st.lists(pairs, min_size=1, max_size=25)


def log_of(pairs: list[tuple[int, int]]) -> Events:
    users, items = zip(*pairs, strict=True)
    return Events.from_arrays(user=[f"u{user}" for user in users], item=[f"i{item}" for item in items])


def expected_values(
    model: VectorModel, test: Events, exclude: list[Events], name: str, roles: tuple[str, ...] = ("user",)
) -> dict[tuple[Any, ...], float]:
    """Every context's value, by walking through the logs."""

    def contexts_of(log: Events) -> list[tuple[Any, ...]]:
        return list(zip(*(log.ids(role) for role in roles), strict=True))

    left_out = {pair for log in exclude for pair in zip(contexts_of(log), log.ids("item"), strict=True)}
    asked = set(zip(contexts_of(test), test.ids("item"), strict=True)) - left_out
    plural = {"user": "users", "query": "queries"}
    values = {}
    for context in {context for context, _ in asked}:
        vector = model.context_vectors(**{plural[r]: [id_] for r, id_ in zip(roles, context, strict=True)})[0]
        wanted = {item for of, item in asked if of == context}
        listed = [i for i in model.item_vocabulary.ids if (context, i) not in left_out]
        codes = model.item_vocabulary.codes(listed)
        scores = (vector @ model.item_vectors().T)[codes]
        missing = len(wanted - set(listed))
        values[context] = oracle.value(name, scores, [item in wanted for item in listed], missing)
    return values


@given(test=logs, exclude=st.lists(logs, max_size=2), seed=st.integers(0, 5), dense=st.booleans())
def test_every_metric_equals_its_definition(
    test: list[tuple[int, int]], exclude: list[list[tuple[int, int]]], seed: int, dense: bool
) -> None:
    kind = ScoreModel if dense else VectorModel
    model = kind.random(CATALOGUE, dim=2, seed=seed, highest=1, user=KNOWN_USERS)
    test_log, exclude_logs = log_of(test), [log_of(pairs) for pairs in exclude]
    if {*test} <= {pair for pairs in exclude for pair in pairs}:
        with pytest.raises(ValueError, match="nothing is left to evaluate"):
            evaluate(model, test_log, exclude=exclude_logs)
        return
    report = evaluate(model, test_log, oracle.NAMES, exclude=exclude_logs, threads=1)
    for name in oracle.NAMES:
        expected = expected_values(model, test_log, exclude_logs, name)
        got = dict(zip(((id_,) for id_ in report.contexts), report.per_context(name), strict=True))
        assert got == pytest.approx(expected, abs=1e-12), name
        assert report[name] == pytest.approx(np.mean(list(expected.values())), abs=1e-12)


@given(
    test=st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 8)), min_size=1, max_size=20
    ),
    exclude=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 8)), max_size=10),
    dense=st.booleans(),
)
def test_contexts_of_a_user_and_a_query(
    test: list[tuple[int, int, int]], exclude: list[tuple[int, int, int]], dense: bool
) -> None:
    def log(rows: list[tuple[int, int, int]]) -> Events:
        users, queries, items = zip(*rows, strict=True)
        return Events.from_arrays(user=users, query=[f"q{q}" for q in queries], item=[f"i{i}" for i in items])

    kind = ScoreModel if dense else VectorModel
    model = kind.random(CATALOGUE, highest=2, query=["q0", "q1"], user=[0, 1, 2])
    test_log, exclude_logs = log(test), [log(exclude)] if exclude else []
    if {*test} <= {*exclude}:
        return
    report = evaluate(model, test_log, ["map", "mean_rank"], exclude=exclude_logs)
    expected = expected_values(model, test_log, exclude_logs, "map", ("query", "user"))
    assert dict(zip(report.contexts, report.per_context("map"), strict=True)) == pytest.approx(expected)
    asked = {(q, u) for u, q, i in {*test} - {*exclude}}
    assert report.n_contexts == len(asked)
    assert report.unseen_contexts == sum(q == 2 or u == 3 for q, u in asked)


def test_a_model_of_queries_merges_the_users_of_a_log() -> None:
    model = VectorModel.random(CATALOGUE, query=["rock", "folk"])
    test = Events.from_arrays(user=[1, 2, 3], query=["folk", "rock", "folk"], item=["i1", "i2", "i1"])
    report = evaluate(model, test)
    assert report.contexts.tolist() == ["folk", "rock"]
    assert report.repeated_events == 1
    assert report.roles == ("query",)


@pytest.mark.parametrize("kind", [VectorModel, ScoreModel])
def test_equal_scores_for_everything_are_a_coin(kind: type[VectorModel]) -> None:
    model = kind(Vocabulary(range(101)), np.zeros((101, 3)), user=(Vocabulary([7]), np.ones((1, 3))))
    report = evaluate(model, Events.from_arrays(user=[7], item=[50]), ["auc", "rank_loss", "mean_rank"])
    assert report["auc"] == 0.5
    assert report["rank_loss"] == 50
    assert report["mean_rank"] == 51


def test_what_is_counted_beside_the_metrics() -> None:
    model = VectorModel.random(CATALOGUE, user=KNOWN_USERS)
    test = log_of([(0, 1), (0, 1), (0, 2), (5, 3), (5, 10), (1, 10), (1, 11), (2, 4), (2, 4)])
    exclude = log_of([(2, 4), (1, 11), (0, 5), (9, 9)])
    report = evaluate(model, test, exclude=exclude)
    assert report.contexts.tolist() == ["u0", "u5", "u1"]
    assert report.n_contexts == 3
    assert report.n_relevant == 5
    assert report.unseen_contexts == 1  # u5
    assert report.unseen_items == 1  # i10 twice, while i11 is left out
    assert report.excluded_events == 3
    assert report.repeated_events == 1


def test_ids_count_and_not_the_codes_of_a_log() -> None:
    rng = np.random.default_rng(0)
    model = VectorModel.random(list(range(50)), user=list(range(20)))
    users, items = rng.integers(0, 20, 300), rng.integers(0, 50, 300)
    is_test = rng.random(300) < 0.5
    whole = Events.from_arrays(user=users, item=items)
    one = evaluate(model, whole.take(is_test), exclude=whole.take(~is_test))
    # The same as text, with vocabularies of their own, in the opposite order.
    test = Events.from_arrays(user=users[is_test][::-1].astype(str), item=items[is_test][::-1].astype(str))
    exclude = Events.from_arrays(user=list(map(str, users[~is_test])), item=items[~is_test])
    other = evaluate(model, test, exclude=exclude)
    assert one.n_contexts == other.n_contexts
    assert one.excluded_events == other.excluded_events > 0
    assert {name: other[name] for name in other} == pytest.approx({name: one[name] for name in one})
    assert dict(zip(map(str, one.contexts), one.per_context("map"), strict=True)) == pytest.approx(
        dict(zip(other.contexts, other.per_context("map"), strict=True))
    )


@pytest.mark.parametrize("kind", [VectorModel, ScoreModel])
def test_the_size_of_chunks_and_the_threads_change_nothing(
    kind: type[VectorModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = kind.random(CATALOGUE, highest=1, user=KNOWN_USERS)
    rng = np.random.default_rng(1)
    test = log_of(list(zip(rng.integers(0, 30, 200), rng.integers(0, 11, 200), strict=True)))
    exclude = log_of(list(zip(rng.integers(0, 30, 100), rng.integers(0, 11, 100), strict=True)))
    whole = evaluate(model, test, oracle.NAMES, exclude, threads=1)
    monkeypatch.setattr(ranking, "_CONTEXTS", 4)
    monkeypatch.setattr(ranking, "_SCORES", 4 * len(CATALOGUE))
    parted = evaluate(model, test, oracle.NAMES, exclude, threads=3)
    assert np.array_equal(whole.values, parted.values)


def test_a_model_of_scores_never_holds_more_than_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    class Watched(ScoreModel):
        def score_block(self, users: Any = None, queries: Any = None) -> Any:
            asked.append(len(users))
            return super().score_block(users, queries)

    monkeypatch.setattr(ranking, "_SCORES", 3 * len(CATALOGUE))
    evaluate(Watched.random(CATALOGUE, user=KNOWN_USERS), log_of([(u, 1) for u in range(10)]))
    assert asked == [3, 3, 3, 1]


def test_negative_zero_ties_with_zero_in_both_ways_of_counting() -> None:
    contexts = {"user": (Vocabulary([0]), [[1.0]])}
    rows = [[0.0], [-0.0], [-1.0], [2.0]]
    test = Events.from_arrays(user=[0], item=[1])
    for kind in (VectorModel, ScoreModel):
        assert evaluate(kind(Vocabulary(range(4)), rows, **contexts), test)["mean_rank"] == 2.5


MODEL = VectorModel.random(CATALOGUE, user=KNOWN_USERS)
TEST = log_of([(0, 1), (1, 2)])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"test": [("u0", "i1")]}, TypeError, "test must be a log of events, got list: make one by"),
        ({"exclude": "train"}, TypeError, "exclude must be a log of events, got str"),
        ({"exclude": {0: TEST}}, TypeError, "exclude must be a log of events, got dict"),
        ({"model": TEST}, TypeError, "Events has no item_vocabulary"),
        ({"model": 3}, TypeError, "int has no roles"),
        ({"test": TEST.take([False, False])}, ValueError, "test must have at least one event"),
        ({"exclude": TEST}, ValueError, "exclude has all of the 2 test events: leave exclude out"),
        ({"metrics": ["recall@0"]}, ValueError, "k must be at least 1"),
        ({"metrics": []}, ValueError, "at least one"),
        ({"metrics": 3}, TypeError, "metrics must be names"),
        ({"confidence": 95}, ValueError, "confidence must be between 0 and 1, got 95"),
        ({"confidence": "95%"}, TypeError, "confidence must be a number"),
        ({"bootstrap": 0}, ValueError, "bootstrap must be at least 1, got 0"),
        ({"threads": 0}, ValueError, "threads must be at least 1, got 0"),
        ({"threads": 1.5}, TypeError, "threads must be a whole number, got 1.5"),
        ({"seed": -1}, ValueError, "seed must be at least 0, got -1"),
        (
            {"test": Events.from_arrays(query=["a"], item=["i1"])},
            ValueError,
            "test must have the role 'user'",
        ),
        ({"exclude": Events.from_arrays(query=["a"], item=["i1"])}, ValueError, "exclude must have the role"),
        (
            {"test": TEST.recode({"item": Vocabulary(["i1"])})},
            ValueError,
            "1 events of test have an unknown item",
        ),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        evaluate(**{"model": MODEL, "test": TEST, **arguments})


def test_scores_that_are_no_numbers_are_refused() -> None:
    class Broken(ScoreModel):
        def score_block(self, users: Any = None, queries: Any = None) -> Any:
            return np.full((len(users), len(CATALOGUE)), np.nan, dtype=np.float32)

    with pytest.raises(ValueError, match="the scores of a Broken must be finite"):
        evaluate(Broken.random(CATALOGUE, user=KNOWN_USERS), TEST)
