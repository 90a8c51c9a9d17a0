"""Exact top-k against sorting all scores in NumPy."""

from __future__ import annotations

import signal
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from topwise import _core

Floats = NDArray[np.float32]
Found = tuple[NDArray[np.int32], Floats]


def ragged(rows: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Lists of item numbers as the index arrays of a CSR matrix, sorted and unique."""
    unique = [np.unique(np.asarray(row, dtype=np.int32)) for row in rows]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in unique])]).astype(np.int64)
    return indptr, np.concatenate([*unique, np.zeros(0, np.int32)]).astype(np.int32)


def search(
    items: Floats,
    contexts: Floats,
    k: int,
    exclude: Sequence[Sequence[int]] | None = None,
    candidates: Sequence[int] | None = None,
    threads: int = 1,
) -> Found:
    among = None if candidates is None else np.asarray(candidates, dtype=np.int32)
    excluded = ragged([[]] * len(contexts) if exclude is None else exclude)
    found: Found = _core.ItemIndex(items).search(contexts, k, *excluded, among, threads)
    return found


def oracle(
    items: Floats,
    contexts: Floats,
    k: int,
    exclude: Sequence[Sequence[int]] | None = None,
    candidates: Sequence[int] | None = None,
) -> Found:
    found = np.full((len(contexts), k), -1, np.int32)
    best = np.full((len(contexts), k), -np.inf, np.float32)
    for i, scores in enumerate(contexts.astype(np.float64) @ items.T.astype(np.float64)):
        left = np.arange(len(items)) if candidates is None else np.unique(np.asarray(candidates, int))
        left = np.setdiff1d(left, exclude[i] if exclude is not None else [])
        head = left[np.lexsort((left, -scores[left]))][:k]
        found[i, : len(head)], best[i, : len(head)] = head, scores[head]
    return found, best


def assert_same(actual: Found, expected: Found) -> None:
    np.testing.assert_array_equal(actual[0], expected[0])
    np.testing.assert_array_equal(actual[1], expected[1])


def normal(seed: int, rows: int, dim: int, spread: float = 0.0) -> Floats:
    """Normal rows whose lengths are spread log-normally."""
    rng = np.random.default_rng(seed)
    lengths = np.exp(spread * rng.standard_normal((rows, 1)))
    return (lengths * rng.standard_normal((rows, dim))).astype(np.float32)


@st.composite
def whole_number_problems(draw: st.DrawFn) -> dict[str, object]:
    """Small whole coordinates: every sum is exact, and ties are common."""
    m, n, dim = draw(st.integers(0, 70)), draw(st.integers(0, 15)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    some = st.lists(st.integers(0, m - 1), max_size=40) if m else st.just([])
    return {
        "items": rng.integers(-2, 3, (m, dim)).astype(np.float32),
        "contexts": rng.integers(-2, 3, (n, dim)).astype(np.float32),
        "k": draw(st.integers(1, 80)),
        "exclude": draw(st.none() | st.lists(some, min_size=n, max_size=n)),
        "candidates": draw(st.none() | some),
    }


@given(problem=whole_number_problems(), threads=st.integers(1, 4))
def test_equals_sorting_all_scores(problem: dict[str, object], threads: int) -> None:
    assert_same(search(**problem, threads=threads), oracle(**problem))  # type: ignore[arg-type]


@pytest.mark.parametrize("spread", [0.0, 0.2, 0.5, 1.0])
def test_prunes_nothing_that_belongs_in_the_list(spread: float) -> None:
    items, contexts = normal(1, 20_000, 24, spread), normal(2, 70, 24, 0.5)
    found, scores = search(items, contexts, 10)
    exact = contexts.astype(np.float64) @ items.T.astype(np.float64)
    expected = -np.sort(-exact, axis=1)[:, :10]
    np.testing.assert_allclose(scores, expected, rtol=1e-5)
    np.testing.assert_allclose(np.take_along_axis(exact, found, axis=1), expected, rtol=1e-5)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 7, 9, 11, 12, 13, 250, 601])
def test_batch_equals_single_to_the_bit_for_any_number_of_threads(n: int) -> None:
    items, contexts = normal(3, 3_000, 33, 0.3), normal(4, 601, 33)[:n]
    whole = search(items, contexts, 7)
    assert_same(search(items, contexts, 7, threads=3), whole)
    index, none = _core.ItemIndex(items), ragged([[]])
    for i in range(0, n, 50):
        found, scores = index.search(contexts[i : i + 1], 7, *none, None, 1)
        assert_same((found, scores), (whole[0][i : i + 1], whole[1][i : i + 1]))


@pytest.mark.parametrize("count", [0, 1, 40, 1_500, 2_900])
def test_candidates_give_what_a_catalogue_of_only_them_gives(count: int) -> None:
    items, contexts = normal(5, 3_000, 16, 0.5), normal(6, 30, 16)
    candidates = np.random.default_rng(7).permutation(3_000)[:count].astype(np.int32)
    kept = np.sort(candidates)
    found, scores = search(items, contexts, 5, candidates=[*candidates, *candidates[:3]])
    alone, alone_scores = search(items[kept], contexts, 5)
    np.testing.assert_array_equal(scores, alone_scores)
    np.testing.assert_array_equal(found, np.where(alone >= 0, np.append(kept, -1)[alone], -1))


def test_excluded_items_leave_no_gap() -> None:
    items, contexts = normal(8, 500, 8, 0.5), normal(9, 20, 8)
    first, _ = search(items, contexts, 20)
    found, _ = search(items, contexts, 10, exclude=[row[:10].tolist() for row in first])
    np.testing.assert_array_equal(found, first[:, 10:])


def test_nothing_left_is_minus_one_and_minus_infinity() -> None:
    items, contexts = normal(10, 6, 3), normal(11, 2, 3)
    found, scores = search(items, contexts, 4, exclude=[range(6), [0, 1, 2, 4, 5]])
    np.testing.assert_array_equal(found, [[-1] * 4, [3, -1, -1, -1]])
    assert np.isneginf(scores[0]).all()
    assert np.isneginf(scores[1, 1:]).all()
    assert np.isfinite(scores[1, 0])


@pytest.mark.parametrize(("n", "m", "k", "dim"), [(0, 5, 3, 2), (3, 0, 2, 2), (0, 0, 1, 1), (2, 5, 9, 1)])
def test_empty_and_small_shapes(n: int, m: int, k: int, dim: int) -> None:
    items, contexts = np.ones((m, dim), np.float32), np.ones((n, dim), np.float32)
    found, scores = search(items, contexts, k)
    assert found.shape == scores.shape == (n, k)
    assert found.dtype == np.int32
    assert scores.dtype == np.float32
    assert_same((found, scores), oracle(items, contexts, k))


@pytest.mark.parametrize("value", [1.0, -1.0, 0.0])
def test_equal_scores_come_in_item_order(value: float) -> None:
    items = np.full((1_000, 4), value, np.float32)
    found, _ = search(items, np.ones((3, 4), np.float32), 6, exclude=[[], [0, 2], []])
    np.testing.assert_array_equal(found, [[0, 1, 2, 3, 4, 5], [1, 3, 4, 5, 6, 7], [0, 1, 2, 3, 4, 5]])


def test_a_query_of_zeros_ties_all_items() -> None:
    found, scores = search(normal(12, 3_000, 5, 1.0), np.zeros((1, 5), np.float32), 4)
    np.testing.assert_array_equal(found, [[0, 1, 2, 3]])
    np.testing.assert_array_equal(scores, np.zeros((1, 4)))


def test_scores_are_rounded_once_a_coordinate_and_not_more() -> None:
    items, contexts = normal(13, 400, 128), normal(14, 5, 128)
    found, scores = search(items, contexts, 400)
    exact = np.take_along_axis(contexts.astype(np.float64) @ items.T.astype(np.float64), found, axis=1)
    sizes = np.take_along_axis(np.abs(contexts.astype(np.float64)) @ np.abs(items.T), found, axis=1)
    assert (np.abs(scores - exact) <= 128 * 2.0**-23 * sizes).all()


def test_the_index_keeps_its_own_copy_and_the_result_too() -> None:
    items, contexts = normal(15, 50, 4), normal(16, 2, 4)
    expected = oracle(items, contexts, 3)[0]
    index = _core.ItemIndex(items)
    assert (index.size, index.dim) == (50, 4)
    items[:] = 0
    found, scores = index.search(contexts, 3, *ragged([[], []]), None, 1)
    del index
    found[0, 0] = found[0, 0]  # writable
    np.testing.assert_array_equal(found, expected)
    assert np.isfinite(scores).all()


def test_arrays_that_cannot_be_written_are_read() -> None:
    items, contexts = normal(17, 9, 3), normal(18, 1, 3)
    for array in (items, contexts):
        array.flags.writeable = False
    assert_same(search(items, contexts, 9)[:1] * 2, oracle(items, contexts, 9)[:1] * 2)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_refused(bad: float) -> None:
    items, contexts = normal(19, 5, 3), normal(20, 2, 3)
    spoilt_items, spoilt_contexts = items.copy(), contexts.copy()
    spoilt_items[4, 1] = spoilt_contexts[1, 2] = bad
    with pytest.raises(ValueError, match=rf"items must be finite, got {bad} at row 4, column 1"):
        search(spoilt_items, contexts, 1)
    with pytest.raises(ValueError, match=rf"contexts must be finite, got {bad} at row 1, column 2"):
        search(items, spoilt_contexts, 1)


def test_vectors_too_long_for_float32_scores_are_refused() -> None:
    huge = np.full((1, 3), 1e25, np.float32)
    with pytest.raises(ValueError, match=r"context 0 has norm 1\.73205e\+25 .* scale the vectors down"):
        search(huge, huge, 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": 0}, "k must be in 1..2147483647, got 0"),
        ({"threads": 0}, "threads must be at least 1, got 0"),
        ({"candidates": np.array([5], np.int32)}, "candidates must be in 0..4, got 5"),
        ({"candidates": np.array([-1], np.int32)}, "candidates must be in 0..4, got -1"),
        ({"contexts": np.zeros((1, 2), np.float32)}, r"as many columns as items \(3\), got 2"),
        ({"exclude_indptr": np.zeros(3, np.int64)}, r"one entry more than contexts \(2\), got 3"),
        ({"exclude_indptr": np.zeros(0, np.int64)}, r"one entry more than contexts \(2\), got 0"),
        ({"exclude_indptr": np.array([0, 1])}, r"from 0 to the number of entries \(0\), got 0 to 1"),
        ({"exclude_indptr": np.array([0, 2]), "exclude": np.array([1, 0], np.int32)}, "got 0 after 1"),
        ({"exclude_indptr": np.array([0, 1]), "exclude": np.array([5], np.int32)}, r"in 0\.\.4, got 5"),
    ],
)
def test_bad_arguments_are_refused(change: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {
        "contexts": np.zeros((1, 3), np.float32),
        "k": 1,
        "exclude_indptr": np.zeros(2, np.int64),
        "exclude": np.zeros(0, np.int32),
        "candidates": None,
        "threads": 1,
    }
    index = _core.ItemIndex(np.zeros((5, 3), np.float32))
    with pytest.raises(ValueError, match=message):
        index.search(**(arguments | change))


def test_a_matrix_without_columns_is_refused() -> None:
    with pytest.raises(ValueError, match="dim must be at least 1, got 0"):
        _core.ItemIndex(np.zeros((4, 0), np.float32))


@pytest.mark.parametrize(
    "items", [np.zeros((4, 3)), np.zeros(3, np.float32), np.zeros((4, 6), np.float32)[:, ::2], None]
)
def test_arrays_of_another_kind_are_refused(items: object) -> None:
    with pytest.raises(TypeError):
        _core.ItemIndex(items)


def test_a_signal_ends_a_long_search() -> None:
    class Stop(Exception):
        pass

    def stop(*_: object) -> None:
        raise Stop

    index = _core.ItemIndex(normal(21, 100_000, 64))
    contexts = normal(22, 20_000, 64)
    nothing = ragged([[]] * len(contexts))
    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(Stop):
            index.search(contexts, 5, *nothing, None, 2)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    found, _ = index.search(contexts[:1], 5, *ragged([[]]), None, 1)
    assert (found >= 0).all()
