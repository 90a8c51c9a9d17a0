from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats
from vector_model import VectorModel

from topwise.data import Events
from topwise.evaluation import Report, compare, evaluate
from topwise.evaluation.resampling import sign_flip_p_value

RNG = np.random.default_rng(0)
TEST = Events.from_arrays(user=RNG.integers(0, 80, 600), item=RNG.integers(0, 100, 600))


def report(seed: int, test: Events = TEST) -> Report:
    model = VectorModel.random(range(100), seed=seed, user=range(80))
    return evaluate(model, test, ["map", "mean_rank"])


def test_p_values_equal_those_of_all_signs() -> None:
    for size in (3, 8, 10):
        differences = RNG.normal(0.4, 1, size).round(1)  # rounded, so that some sums tie and some are 0
        sums = [abs(np.dot(signs, differences)) for signs in itertools.product([-1, 1], repeat=size)]
        exact = np.mean(np.array(sums) >= abs(differences.sum()) - 1e-9)
        assert sign_flip_p_value(differences, 40_000, 0) == pytest.approx(exact, abs=0.01)


def test_p_values_equal_scipys() -> None:
    differences = RNG.normal(0.15, 1, 200)
    scipys = stats.permutation_test(
        (differences, np.zeros(200)),
        lambda a, b, axis: (a - b).mean(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=20_000,
        rng=0,
    )
    assert sign_flip_p_value(differences, 20_000, 0) == pytest.approx(scipys.pvalue, abs=0.015)


def test_p_values_of_chance_are_spread_evenly() -> None:
    p_values = [sign_flip_p_value(RNG.normal(size=30), 400, seed) for seed in range(400)]
    assert stats.kstest(p_values, "uniform").pvalue > 0.001


def test_two_models_of_chance_do_not_differ() -> None:
    a, b = report(1), report(2)
    outcome = compare(a, b, "AP")
    assert outcome.metric == "map"
    assert outcome.difference == pytest.approx(a["map"] - b["map"])
    assert outcome.p_value > 0.05
    assert outcome.interval[0] < 0 < outcome.interval[1]
    assert outcome.n_contexts == a.n_contexts
    assert f"{outcome.difference:+.4f}" in str(outcome)


def test_a_model_that_knows_the_answers_differs() -> None:
    known = TEST.matrix().to_dense()
    best = VectorModel(
        TEST.vocabulary("item"), np.eye(len(TEST.vocabulary("item"))), user=(TEST.vocabulary("user"), known)
    )
    outcome = compare(evaluate(best, TEST, "map"), report(1), "map")
    assert outcome.difference > 0.8
    assert outcome.p_value < 0.001
    assert outcome.interval[0] > 0.8


def test_a_report_does_not_differ_from_itself() -> None:
    outcome = compare(report(1), report(1), "map")
    assert (outcome.difference, outcome.p_value, outcome.interval) == (0, 1, (0, 0))


def test_a_difference_counts_in_both_directions_alike() -> None:
    a, b = report(3), report(5)
    assert compare(a, b, "map").p_value == compare(b, a, "map").p_value


def test_many_contexts_are_flipped_in_groups_with_about_the_same_p_value() -> None:
    differences = RNG.normal(0.005, 1, 100_000)
    normal = 2 * stats.norm.sf(abs(differences.mean()) / differences.std() * np.sqrt(len(differences)))
    assert sign_flip_p_value(differences, 4000, 0) == pytest.approx(normal, abs=0.05)


def test_reports_of_other_tests_are_refused() -> None:
    part = TEST.take(TEST.user > 3)
    with pytest.raises(ValueError, match="must be of the same test"):
        compare(report(1), report(1, part), "map")
    with pytest.raises(ValueError, match="evaluate both with the same test log and exclude"):
        compare(report(1), report(1, TEST.take(np.arange(len(TEST)) > 2)), "map")
    with pytest.raises(TypeError, match="b must be a report of evaluate, got float"):
        compare(report(1), 0.3, "map")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="auc was not evaluated"):
        compare(report(1), report(2), "auc")
    with pytest.raises(ValueError, match="resamples must be at least 1"):
        compare(report(1), report(2), "map", resamples=0)
