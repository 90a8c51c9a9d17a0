"""Judgments from arrays and frames: what is refused, what is kept, and parts of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import topwise as tw
from topwise.data import Csr
from topwise.data.joining import aligned, concatenated

X = np.arange(12, dtype=np.float32).reshape(6, 2)
LABELS = [0, 1, 2, 0, 1, 0]
QIDS = ["a", "a", "b", "b", "b", "c"]


def test_rows_of_queries() -> None:
    judged = tw.Judgments.from_arrays(X, LABELS, QIDS)
    assert (len(judged), judged.n_queries, judged.n_features) == (6, 3, 2)
    assert judged.indptr.tolist() == [0, 2, 5, 6]
    assert judged.indptr.dtype == np.int64
    assert judged.labels.dtype == np.float32
    assert judged.qids.tolist() == ["a", "b", "c"]
    assert [judged.rows(i) for i in range(3)] == [slice(0, 2), slice(2, 5), slice(5, 6)]
    assert judged.query_of_rows().tolist() == [0, 0, 1, 1, 1, 2]
    assert judged.features.flags.c_contiguous
    assert repr(judged) == "Judgments(6 rows × 2 features, 3 queries, labels 0 to 2)"


def test_groups_in_place_of_qids() -> None:
    judged = tw.Judgments.from_arrays(X, LABELS, groups=[2, 3, 1])
    assert judged.indptr.tolist() == [0, 2, 5, 6]
    assert judged.qids.tolist() == [0, 1, 2]
    named = tw.Judgments.from_arrays(X, LABELS, qids=["x", "y", "z"], groups=[2, 3, 1])
    assert named.qids.tolist() == ["x", "y", "z"]


def test_taking_queries() -> None:
    judged = tw.Judgments.from_arrays(X, LABELS, QIDS, docids=list("uvwxyz"), feature_names=["f", "g"])
    part = judged.take([2, 0])
    assert part.qids.tolist() == ["c", "a"]
    assert part.indptr.tolist() == [0, 1, 3]
    np.testing.assert_array_equal(part.dense(), X[[5, 0, 1]])
    assert part.docids is not None
    assert part.docids.tolist() == ["z", "u", "v"]
    assert part.feature_names == ["f", "g"]
    assert judged.take(np.array([False, True, False])).labels.tolist() == [2, 0, 1]
    assert len(judged.take([])) == 0
    with pytest.raises(ValueError, match="query numbers must be between 0 and 2, got 3"):
        judged.take([3])
    with pytest.raises(ValueError, match="one entry for each of 3 queries, got 1"):
        judged.take(np.array([True]))


def test_rows_that_do_not_follow_each_other() -> None:
    apart = ["a", "b", "a", "b", "c", "a"]
    with pytest.raises(ValueError, match=r"query 'a' goes on in row 2 .*pass regroup=True"):
        tw.Judgments.from_arrays(X, LABELS, apart)
    judged = tw.Judgments.from_arrays(X, LABELS, apart, regroup=True, docids=range(6))
    assert judged.qids.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(judged.dense(), X[[0, 2, 5, 1, 3, 4]])
    assert judged.labels.tolist() == [0, 2, 0, 1, 0, 1]
    assert judged.docids is not None
    assert judged.docids.tolist() == [0, 2, 5, 1, 3, 4]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": [0, 1, -1, 0, 1, 0]}, "labels must be finite and at least 0, got -1 in row 2"),
        ({"labels": [0, np.nan, 1, 0, 1, 0]}, "labels must be finite and at least 0, got nan in row 1"),
        ({"labels": [1]}, "labels must have one entry for each of 6 rows, got 1"),
        ({"features": np.where(X == 7, np.nan, X)}, "got nan in row 3, feature 1"),
        ({"features": np.where(X == 7, 1e39, X.astype(float))}, r"got 1e\+39 in row 3, feature 1"),
        ({"features": np.where(X == 2, -np.inf, np.where(X == 3, np.inf, X))}, "got -inf in row 1"),
        ({"qids": None}, "judgments need to know their queries"),
        ({"qids": ["a"]}, "qids must have one entry for each of 6 rows, got 1"),
        ({"qids": None, "groups": [2, 3]}, "the groups must add up to the 6 rows, got 5"),
        ({"qids": None, "groups": [2, 0, 4]}, "at least one row, got 0 for group 1"),
        ({"groups": [2, 4]}, "one entry for each of 2 groups, got 6"),
        ({"docids": ["u"]}, "docids must have one entry for each of 6 rows, got 1"),
        ({"feature_names": ["f"]}, "feature_names must have one entry for each of 2 features, got 1"),
    ],
)
def test_bad_values_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tw.Judgments.from_arrays(**{"features": X, "labels": LABELS, "qids": QIDS, **change})


def test_wrong_types_are_refused() -> None:
    with pytest.raises(TypeError, match="features must be a matrix of numbers, got 1 dimensions"):
        tw.Judgments.from_arrays([1, 2], [0, 1], ["a", "a"])
    with pytest.raises(TypeError, match="labels must be numbers"):
        tw.Judgments.from_arrays(X, list("abcdef"), QIDS)
    with pytest.raises(TypeError, match="features must be an array of 2 dimensions of float32"):
        tw.Judgments(X.astype(np.float64), np.zeros(6, np.float32), np.array([0, 6]), np.array([1]))  # type: ignore[arg-type]


def test_sparse_features_are_the_same() -> None:
    from scipy.sparse import csr_array

    sparse = tw.Judgments.from_arrays(csr_array(X), LABELS, QIDS)
    assert isinstance(sparse.features, Csr)
    np.testing.assert_array_equal(sparse.dense(), X)
    np.testing.assert_array_equal(sparse.take([1]).dense(), X[2:5])
    assert "sparse" in repr(sparse)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_frames(make: Any) -> None:
    frame = make({"label": LABELS, "query": QIDS, "f": X[:, 0], "g": X[:, 1], "doc": list("uvwxyz")})
    judged = tw.Judgments.from_frame(frame, docid="doc")
    assert judged.feature_names == ["f", "g"]
    np.testing.assert_array_equal(judged.dense(), X)
    assert tw.Judgments.from_frame(frame, features=["g"]).dense()[:, 0].tolist() == X[:, 1].tolist()
    with pytest.raises(TypeError, match="the feature 'doc' must be numbers"):
        tw.Judgments.from_frame(frame)
    with pytest.raises(ValueError, match="there is no column 'grade'"):
        tw.Judgments.from_frame(frame, label="grade")


def test_missing_features_of_a_frame_are_refused() -> None:
    frame = pd.DataFrame({"label": [0, 1], "query": [1, 1], "f": [1.0, None]})
    with pytest.raises(ValueError, match="the feature 'f' is missing in row 1"):
        tw.Judgments.from_frame(frame)


def test_joining() -> None:
    one = tw.Judgments.from_arrays(X, LABELS, QIDS)
    narrow = tw.Judgments.from_arrays(X[:2, :1], [1, 0], [7, 7])
    wide = aligned(one, narrow)[1]
    assert wide.n_features == 2
    both = concatenated(one, wide)
    assert both.indptr.tolist() == [0, 2, 5, 6, 8]
    assert both.qids.tolist() == ["a", "b", "c", "7"]
    np.testing.assert_array_equal(both.dense()[6:], [[0, 0], [2, 0]])
