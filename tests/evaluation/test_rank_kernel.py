"""Ranks among the whole catalogue against counting all scores in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from topwise import _core

Floats = NDArray[np.float32]
Lists = Sequence[Sequence[int]]
Counts = tuple[NDArray[np.int32], NDArray[np.int32]]


def ragged(rows: Lists) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Lists of item numbers as the index arrays of a CSR matrix, sorted and unique."""
    unique = [np.unique(np.asarray(row, dtype=np.int32)) for row in rows]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in unique])]).astype(np.int64)
    return indptr, np.concatenate([*unique, np.zeros(0, np.int32)]).astype(np.int32)


def rank(contexts: Floats, items: Floats, targets: Lists, exclude: Lists, threads: int = 1) -> Counts:
    counts: Counts = _core.rank_items(contexts, items, *ragged(targets), *ragged(exclude), threads)
    return counts


def oracle(scores: NDArray[np.floating], targets: Lists, exclude: Lists) -> Counts:
    greater, equal = [], []
    for row, wanted, excluded in zip(scores, targets, exclude, strict=True):
        others = np.setdiff1d(np.arange(len(row)), [*wanted, *excluded])
        for target in np.unique(np.asarray(wanted, int)):
            greater.append(np.count_nonzero(row[others] > row[target]))
            equal.append(np.count_nonzero(row[others] == row[target]))
    return np.array(greater, np.int32), np.array(equal, np.int32)


def own_scores(contexts: Floats, items: Floats) -> Floats:
    """Every score as the kernels round it, from a search for the whole catalogue."""
    none = ragged([[]] * len(contexts))
    found, best = _core.ItemIndex(items).search(contexts, len(items), *none, None, 1)
    scores = np.empty_like(best)
    np.put_along_axis(scores, found, best, axis=1)
    return scores


def assert_same(actual: Counts, expected: Counts) -> None:
    np.testing.assert_array_equal(actual[0], expected[0])
    np.testing.assert_array_equal(actual[1], expected[1])


def random_lists(rng: np.random.Generator, rows: int, m: int, most: int) -> list[list[int]]:
    return [rng.integers(0, m, rng.integers(0, most + 1)).tolist() for _ in range(rows)]


@st.composite
def whole_number_problems(draw: st.DrawFn) -> tuple[Floats, Floats, Lists, Lists]:
    """Small whole coordinates: every sum is exact, and ties are common."""
    m, n, dim = draw(st.integers(1, 60)), draw(st.integers(0, 15)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    some = st.lists(st.lists(st.integers(0, m - 1), max_size=20), min_size=n, max_size=n)
    contexts, items = rng.integers(-2, 3, (n, dim)), rng.integers(-2, 3, (m, dim))
    return contexts.astype(np.float32), items.astype(np.float32), draw(some), draw(some)


@given(problem=whole_number_problems(), threads=st.integers(1, 4))
def test_equals_counting_all_scores(problem: tuple[Floats, Floats, Lists, Lists], threads: int) -> None:
    contexts, items, targets, exclude = problem
    expected = oracle(contexts @ items.T, targets, exclude)
    assert_same(rank(contexts, items, targets, exclude, threads), expected)


@pytest.mark.parametrize("most_targets", [3, 90, 110, 700])
@pytest.mark.parametrize("threads", [1, 3])
def test_few_and_many_targets_across_slabs_of_the_catalogue(most_targets: int, threads: int) -> None:
    rng = np.random.default_rng(most_targets)
    contexts, items = rng.integers(-3, 4, (70, 4)), rng.integers(-3, 4, (2_503, 4))
    targets, exclude = random_lists(rng, 70, 2_503, most_targets), random_lists(rng, 70, 2_503, 200)
    expected = oracle(contexts @ items.T, targets, exclude)
    actual = rank(contexts.astype(np.float32), items.astype(np.float32), targets, exclude, threads)
    assert expected[1].sum() > 0
    assert_same(actual, expected)


@pytest.mark.parametrize("dim", [1, 7, 64, 100])
def test_scores_are_those_that_search_returns(dim: int) -> None:
    rng = np.random.default_rng(dim)
    contexts = rng.standard_normal((40, dim)).astype(np.float32)
    items = rng.standard_normal((1_300, dim)).astype(np.float32)
    items[650:] = items[:650]  # so each item outside the targets may tie with one among them
    targets, exclude = random_lists(rng, 40, 1_300, 30), random_lists(rng, 40, 1_300, 50)
    expected = oracle(own_scores(contexts, items), targets, exclude)
    assert expected[1].sum() > 0
    assert_same(rank(contexts, items, targets, exclude, 2), expected)


def test_equal_rows_tie_wherever_they_stand() -> None:
    rng = np.random.default_rng(0)
    items = np.repeat(rng.standard_normal((1, 48)).astype(np.float32), 2_000, axis=0)
    contexts = rng.standard_normal((13, 48)).astype(np.float32)
    greater, equal = rank(contexts, items, [[i] for i in range(13)], [[1_999]] * 13)
    np.testing.assert_array_equal(greater, np.zeros(13))
    np.testing.assert_array_equal(equal, np.full(13, 1_998))


def test_targets_do_not_stand_in_each_other_s_way() -> None:
    items = np.arange(6, dtype=np.float32)[:, None]
    greater, equal = rank(np.ones((2, 1), np.float32), items, [[0, 5], [0, 1, 2, 3, 4, 5]], [[4], [1]])
    np.testing.assert_array_equal(greater, [3, 0, 0, 0, 0, 0, 0, 0])
    np.testing.assert_array_equal(equal, np.zeros(8))


@pytest.mark.parametrize(("n", "m"), [(0, 5), (3, 5), (3, 0), (0, 0)])
def test_without_targets_there_is_nothing_to_rank(n: int, m: int) -> None:
    contexts, items = np.ones((n, 2), np.float32), np.ones((m, 2), np.float32)
    greater, equal = rank(contexts, items, [[]] * n, [[]] * n)
    assert greater.shape == equal.shape == (0,)
    assert greater.dtype == equal.dtype == np.int32


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"contexts": np.full((2, 3), np.nan, np.float32)}, "contexts must be finite, got nan at row 0"),
        ({"items": np.full((4, 3), np.inf, np.float32)}, "items must be finite, got inf at row 0"),
        ({"contexts": np.ones((2, 4), np.float32)}, r"as many columns as items \(3\), got 4"),
        ({"items": np.ones((4, 0), np.float32)}, "dim must be at least 1, got 0"),
        ({"indptr": np.array([0, 2])}, r"targets_indptr must have .* contexts \(3\), got 2"),
        ({"indptr": np.array([0, 2, 1])}, "targets_indptr must go from 0"),
        ({"indptr": np.array([0, 3, 2])}, "targets_indptr must not decrease, but does after row 1"),
        ({"targets": np.array([3, 4], np.int32)}, r"targets of row 1 must be .* in 0\.\.3, got 4"),
        ({"exclude": np.array([-1], np.int32)}, r"exclude of row 0 must be .* in 0\.\.3, got -1"),
        ({"threads": 0}, "threads must be at least 1, got 0"),
    ],
)
def test_bad_arguments_are_refused(change: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {
        "contexts": np.ones((2, 3), np.float32),
        "items": np.ones((4, 3), np.float32),
        "indptr": np.array([0, 1, 2]),
        "targets": np.array([3, 3], np.int32),
        "exclude_indptr": np.array([0, 1, 1]),
        "exclude": np.array([0], np.int32),
        "threads": 1,
    }
    _core.rank_items(**arguments)
    with pytest.raises(ValueError, match=message):
        _core.rank_items(**(arguments | change))
