"""max_norm="auto": close to the best of a grid, and harmless where there is nothing to search with."""

from __future__ import annotations

import numpy as np
import pytest
from logs import parts

import topwise as tw
from topwise.training.norm import RATIO, _climb, first_guess


def quality(model: tw.MatrixFactorization, test: tw.Events, train: tw.Events) -> float:
    return float(tw.evaluate(model, test, metrics=["ndcg@10"], exclude=train, bootstrap=1)["ndcg@10"])


def test_within_3_percent_of_the_best_of_a_grid() -> None:
    """Against a curve through the grid: a single run on a log this small is off by 1 to 2 % itself."""
    train, test = tw.split.by_fraction(tw.datasets.movielens_small().log, test=0.2, seed=0)
    settings = {"dim": 32, "threads": 2}
    grid = np.array([1.1, 1.25, 1.4, 1.55, 1.7, 1.85, 2.0])
    values = [
        quality(tw.MatrixFactorization(**settings, max_norm=norm).fit(train), test, train) for norm in grid
    ]
    found = tw.MatrixFactorization(**settings).fit(train)
    curve = np.poly1d(np.polyfit(grid, values, 3))
    best = curve(np.linspace(1.1, 2.0, 100)).max()
    assert min(values[0], values[-1]) < 0.93 * best, "the grid must have what is to be found inside"
    assert curve(found.max_norm_) >= 0.97 * best
    assert quality(found, test, train) >= 0.95 * best


def test_the_found_norm_trains_as_if_it_were_given() -> None:
    train, _, _ = parts()
    settings = {"dim": 8, "epochs": 8, "threads": 1}
    found = tw.MatrixFactorization(**settings).fit(train)
    given = tw.MatrixFactorization(**settings, max_norm=found.max_norm_).fit(train)
    assert found.max_norm == "auto"
    assert given.max_norm_ == found.max_norm_
    np.testing.assert_array_equal(found.item_vectors(), given.item_vectors())


def test_a_second_fit_searches_anew() -> None:
    train, _, _ = parts()
    model = tw.MatrixFactorization(dim=8, epochs=8, threads=1).fit(train)
    first = model.max_norm_
    assert model.fit(train).max_norm_ == first


@pytest.mark.parametrize("top", [-7, -1, 0, 3, 12])
def test_the_climb_finds_the_one_peak(top: int) -> None:
    asked: list[int] = []

    def value(place: int) -> float:
        asked.append(place)
        return -abs(place - top)

    assert _climb(value) == top
    assert max(map(abs, asked)) <= abs(top) + 1


@pytest.mark.parametrize("top", [-3.4, 0.3, 2.5])
def test_between_steps_the_peak_is_that_of_a_parabola(top: float) -> None:
    assert _climb(lambda place: 1 - 0.1 * (place - top) ** 2) == pytest.approx(top)


def test_the_climb_ends_where_quality_always_rises() -> None:
    assert abs(_climb(float)) <= 42


def test_the_guess_grows_with_the_events_of_a_user() -> None:
    guesses = [first_guess(events, 100) for events in (0, 100, 700, 7600, 10**9)]
    assert guesses == sorted(guesses)
    assert guesses[0] >= 0.5
    assert RATIO > 1


@pytest.mark.parametrize(
    "log",
    [
        tw.Events.from_arrays(item=["a"], user=["u"]),
        tw.Events.from_arrays(item=["a", "b"], user=["u", "u"]),
        tw.Events.from_arrays(item=["a"] * 40, user=["u"] * 40),
        tw.Events.from_arrays(item=["a", "b"] * 30, user=["u", "v"] * 30),
        tw.Events.from_arrays(item=["a", "b", "c"] * 20, user=["u"] * 60),
        tw.Events.from_arrays(item=list(range(30)), user=[0] * 30, weight=[1.0] + [0.0] * 29),
    ],
    ids=["one event", "one user", "one pair", "repeats alone", "all known", "nearly all of weight 0"],
)
def test_logs_too_small_to_search_with(log: tw.Events) -> None:
    model = tw.MatrixFactorization(dim=4, epochs=3, threads=1).fit(log)
    assert model.max_norm_ > 0
    assert np.isfinite(model.item_vectors()).all()
