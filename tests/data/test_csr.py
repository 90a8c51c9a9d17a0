from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from topwise.data import Csr

DENSE = hnp.arrays(
    np.float32,
    hnp.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=6),
    elements=st.sampled_from([0.0, 0.0, 1.0, -2.5, 3.25]),
)


@given(DENSE)
def test_dense_goes_there_and_back(dense: np.ndarray):
    matrix = Csr.from_dense(dense)
    assert matrix.shape == dense.shape
    assert matrix.nnz == np.count_nonzero(dense)
    np.testing.assert_array_equal(matrix.to_dense(), dense)


@given(DENSE)
def test_scipy_goes_there_and_back(dense: np.ndarray):
    matrix = Csr.from_scipy(scipy.sparse.coo_array(dense))
    np.testing.assert_array_equal(matrix.to_scipy().toarray(), dense)


@given(DENSE, st.data())
def test_take_equals_rows_of_the_dense_matrix(dense: np.ndarray, data: st.DataObject):
    rows = data.draw(st.lists(st.integers(-1, dense.shape[0] - 1), max_size=8))
    with_empty = np.vstack([dense, np.zeros((1, dense.shape[1]), dtype=np.float32)])
    np.testing.assert_array_equal(Csr.from_dense(dense).take(rows).to_dense(), with_empty[rows])


def test_coordinates_are_sorted_and_repeats_added_up():
    rows, columns = np.array([1, 0, 1, 1]), np.array([2, 1, 0, 2])
    matrix = Csr.from_coordinates(rows, columns, (3, 3), np.array([1.0, 2.0, 3.0, 4.0]))
    np.testing.assert_array_equal(matrix.to_dense(), [[0, 2, 0], [3, 0, 5], [0, 0, 0]])
    as_set = Csr.from_coordinates(rows, columns, (3, 3))
    assert as_set.values is None
    np.testing.assert_array_equal(as_set.to_dense(), [[0, 1, 0], [1, 0, 1], [0, 0, 0]])
    assert as_set.row(1).tolist() == [0, 2]
    assert as_set.lengths().tolist() == [1, 2, 0]
    assert as_set.row_of_entries().tolist() == [0, 1, 1]
    assert repr(as_set) == "Csr(3 × 3, 3 entries, a set)"


def test_types_are_those_that_kernels_take():
    matrix = Csr.from_dense(np.eye(2))
    assert matrix.values is not None
    assert (matrix.indptr.dtype, matrix.indices.dtype, matrix.values.dtype) == (
        np.int64,
        np.int32,
        np.float32,
    )


@pytest.mark.parametrize(
    ("indptr", "indices", "message"),
    [
        ([0, 1], [0, 1], "indptr must rise from 0 to the number of entries, 2"),
        ([0, 2, 1, 2], [0, 1], "indptr must rise"),
        ([1, 2], [0, 1], "indptr must rise"),
        ([0, 2], [0, 3], "indices must be between 0 and n_cols - 1 = 2"),
        ([0, 2], [-1, 1], "indices must be between"),
        ([0, 2], [1, 1], "sorted and unique"),
        ([0, 0, 2, 2], [1, 0], "sorted and unique"),
    ],
)
def test_arrays_that_point_outside_are_refused(indptr: list[int], indices: list[int], message: str):
    with pytest.raises(ValueError, match=message):
        Csr(np.array(indptr, dtype=np.int64), np.array(indices, dtype=np.int32), 3)


def test_rows_that_begin_lower_than_the_one_before_ends_are_fine():
    matrix = Csr(np.array([0, 0, 2, 2, 3, 3], dtype=np.int64), np.array([1, 2, 0], dtype=np.int32), 3)
    assert matrix.row(3).tolist() == [0]


@pytest.mark.parametrize("indices", [np.array([0]), [0], np.zeros((1, 1), dtype=np.int32)])
def test_other_types_are_refused(indices: Any):
    with pytest.raises(TypeError, match="indices must be a one-dimensional array of int32"):
        Csr(np.array([0, 1], dtype=np.int64), indices, 3)


def test_values_must_match_the_indices():
    with pytest.raises(ValueError, match="values must have one entry for each of 1 indices, got 2"):
        Csr(np.array([0, 1]), np.array([0], dtype=np.int32), 3, np.ones(2, dtype=np.float32))
