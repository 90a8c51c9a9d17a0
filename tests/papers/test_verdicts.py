"""The words for claims: what an interval over seeds must be for them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from topwise.papers.verdict import FAILS, HOLDS, PARTLY, effect, mean_interval, overall


@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_intervals_are_those_of_students_t(n: int) -> None:
    values = np.random.default_rng(n).normal(3, 1, n)
    mean, half = mean_interval(values.tolist())
    low, high = stats.t.interval(0.95, n - 1, loc=values.mean(), scale=stats.sem(values))
    assert half is not None
    assert (mean - half, mean + half) == pytest.approx((low, high), rel=1e-3)


def test_one_seed_has_no_interval() -> None:
    assert mean_interval([0.25]) == (0.25, None)


@pytest.mark.parametrize(
    ("better", "worse", "verdict"),
    [
        ([0.30, 0.31, 0.30], [0.20, 0.20, 0.21], HOLDS),
        ([0.30, 0.19, 0.25], [0.20, 0.20, 0.20], PARTLY),
        ([0.18, 0.19, 0.20], [0.20, 0.20, 0.20], FAILS),
        ([0.20, 0.20, 0.20], [0.20, 0.20, 0.20], FAILS),
        ([0.30], [0.20], PARTLY),
        ([0.10], [0.20], FAILS),
    ],
)
def test_an_effect_has_its_word(better: list[float], worse: list[float], verdict: str) -> None:
    assert effect(better, worse)["verdict"] == verdict


def test_an_effect_is_the_geometric_mean_of_the_ratios_of_seeds() -> None:
    found = effect([0.2, 0.3, 0.6], [0.1, 0.2, 0.3])
    assert found["effect"] == pytest.approx((2 * 1.5 * 2) ** (1 / 3) - 1)
    low, high = found["interval"]
    assert low < found["effect"] < high


def test_of_ranks_and_seconds_less_is_better() -> None:
    assert effect([10, 11, 10], [50, 55, 51], larger=False)["verdict"] == HOLDS
    assert effect([50, 55, 51], [10, 11, 10], larger=False)["verdict"] == FAILS


def test_a_claimed_factor_must_be_reached() -> None:
    ours, theirs = [1.0, 1.01, 0.99], [4.0, 4.1, 4.0]
    assert effect(ours, theirs, larger=False, by=3)["verdict"] == HOLDS
    assert effect(ours, theirs, larger=False, by=5)["verdict"] == FAILS


def test_a_value_of_zero_is_beaten_by_any_other() -> None:
    found = effect([0.1, 0.1, 0.1], [0.0, 0.0, 0.0])
    assert found["verdict"] == HOLDS
    assert math.isfinite(found["effect"])


@pytest.mark.parametrize(
    ("single", "word"),
    [
        ([HOLDS, HOLDS], HOLDS),
        ([HOLDS, FAILS], PARTLY),
        ([PARTLY, PARTLY], PARTLY),
        ([FAILS, FAILS], FAILS),
        ([], "not measured"),
    ],
)
def test_many_comparisons_make_one_word(single: list[str], word: str) -> None:
    assert overall(single) == word
