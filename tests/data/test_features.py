from __future__ import annotations

import datetime as dt
import json
import math
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from topwise.data import Csr, Events, Features, Vocabulary
from topwise.data.encoding import encode_frame, plan_names

DENSE = np.array([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]], dtype=np.float32)
COLUMNS = {
    "item": ["x", "y", "z"],
    "year": [1990, None, 2010],
    "studio": ["A", None, "B"],
    "colour": [True, False, None],
    "genres": [["drama", "war"], [], None],
}
NAMES = ["year", "studio=A", "studio=B", "colour=false", "colour=true", "genres=drama", "genres=war"]
HALF = 1 / math.sqrt(2)
ENCODED = [
    [-1.0, 1, 0, 0, 1, HALF, HALF],
    [0.0, 0, 0, 1, 0, 0, 0],
    [1.0, 0, 1, 0, 0, 0, 0],
]


# --- from a matrix ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "matrix",
    [
        DENSE,
        DENSE.tolist(),
        Csr.from_dense(DENSE),
        scipy.sparse.csr_array(DENSE),
        scipy.sparse.coo_matrix(DENSE),
        scipy.sparse.csc_matrix(DENSE.astype(np.float64)),
    ],
)
def test_any_matrix(matrix: Any):
    features = Features.from_matrix(["x", "y", "z"], matrix, names=["a", "b"])
    np.testing.assert_array_equal(features.matrix.to_dense(), DENSE)
    assert features.matrix.values is not None
    assert features.names == ["a", "b"]
    assert features.identity
    assert len(features) == 3
    assert repr(features) == "Features(3 ids × 2 columns, 2 entries, identity and content)"


def test_a_set_gets_values_of_one():
    features = Features.from_matrix([1], Csr(np.array([0, 1]), np.array([1], dtype=np.int32), 2))
    assert features.matrix.values is not None
    assert features.matrix.values.tolist() == [1.0]
    assert features.names == ["0", "1"]


def test_content_alone():
    features = Features.from_matrix([1, 2, 3], DENSE, identity=False)
    assert not features.identity
    assert "content alone" in repr(features)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e39])
@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_array])
def test_values_that_are_not_finite_are_named(bad: float, kind: Any):
    with pytest.raises(ValueError, match=r"must be finite, got .* for id 'y' in column 'b'"):
        Features.from_matrix(["x", "y"], kind([[1.0, 0.0], [0.0, bad]]), names=["a", "b"])


@pytest.mark.parametrize(
    ("ids", "matrix", "names", "error", "message"),
    [
        (["x", "x", "y"], DENSE, None, ValueError, "distinct, got 'x' more than once"),
        (["x", "y"], DENSE, None, ValueError, "a row for each of 2 ids, got 3 rows"),
        (
            ["x", "y", "z"],
            DENSE,
            ["a"],
            ValueError,
            "one entry for each of 2 columns, got 1",
        ),
        (["x", "y", "z"], [1.0, 2.0, 3.0], None, TypeError, "a matrix of numbers, got 1 dimensions"),
        (["x"], [["word"]], None, TypeError, "a matrix of numbers"),
    ],
)
def test_what_does_not_fit(ids: Any, matrix: Any, names: Any, error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        Features.from_matrix(ids, matrix, names=names)


# --- alignment --------------------------------------------------------------------------------------------


def test_rows_follow_another_vocabulary():
    features = Features.from_matrix([3, 1, 2], DENSE)
    rows = features.rows(Vocabulary(["1", "9", "3"]))
    np.testing.assert_array_equal(rows.to_dense(), [[0, 2], [0, 0], [1, 0]])


def test_rows_of_a_log():
    log = Events.from_arrays(user=[1, 1], item=["y", "new"])
    rows = Features.from_matrix(["x", "y", "z"], DENSE).rows(log.vocabulary("item"))
    np.testing.assert_array_equal(rows.to_dense(), [[0, 2], [0, 0]])


# --- from a frame -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame(COLUMNS),
        pl.LazyFrame(COLUMNS),
        pl.DataFrame(COLUMNS).cast({"studio": pl.Categorical, "year": pl.Int16}),
        pd.DataFrame(COLUMNS),
        pd.DataFrame(COLUMNS).convert_dtypes(),
        pd.DataFrame(COLUMNS).astype({"studio": "category"}),
        pd.DataFrame({**COLUMNS, "genres": [np.array(["drama", "war"]), np.array([]), None]}),
        pd.DataFrame({**COLUMNS, "genres": [("drama", "war"), (), None]}),
        pa.table(COLUMNS),
    ],
)
def test_mixed_columns_of_any_frame(frame: Any):
    features = Features.from_frame(frame, id="item")
    assert features.vocabulary.ids.tolist() == ["x", "y", "z"]
    assert features.names == NAMES
    np.testing.assert_allclose(features.matrix.to_dense(), ENCODED, rtol=1e-6)


def test_chosen_columns():
    features = Features.from_frame(pl.DataFrame(COLUMNS), id="item", columns=["studio"], identity=False)
    assert features.names == ["studio=A", "studio=B"]
    assert not features.identity


def test_values_twice_in_a_list_count_once():
    features = Features.from_frame(pl.DataFrame({"item": [1], "tags": [["a", "b", "a"]]}))
    np.testing.assert_allclose(features.matrix.to_dense(), [[HALF, HALF]], rtol=1e-6)


def test_lists_of_ints():
    features = Features.from_frame(pl.DataFrame({"item": [1, 2], "tags": [[7], [7, 8]]}))
    assert features.names == ["tags=7", "tags=8"]


def test_a_constant_column_says_nothing():
    features = Features.from_frame(pl.DataFrame({"item": [1, 2], "year": [5.0, 5.0]}))
    assert features.matrix.nnz == 0
    assert features.encode(pl.DataFrame({"year": [6.0]})).to_dense().tolist() == [[1.0]]


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame(
            {"item": [], "year": [], "studio": []},
            schema={"item": pl.Int64, "year": pl.Int64, "studio": pl.String},
        ),
        pl.DataFrame({"item": [1, 2], "nothing": [None, None]}),
        pl.DataFrame(
            {"item": [1, 2], "tags": [[], None]}, schema={"item": pl.Int64, "tags": pl.List(pl.String)}
        ),
        pl.DataFrame({"item": [1, 2]}),
    ],
)
def test_frames_with_nothing_to_learn_from(frame: pl.DataFrame):
    features = Features.from_frame(frame)
    assert len(features) == len(frame)
    assert features.matrix.shape == (len(frame), len(features.names))
    assert features.matrix.nnz == 0
    assert features.encode(frame).shape == features.matrix.shape


# --- encoding new rows ------------------------------------------------------------------------------------


def test_encode_uses_what_was_learned():
    features = Features.from_frame(pl.DataFrame(COLUMNS))
    new = pl.DataFrame(
        {
            "genres": [["war", "jazz"], ["jazz"]],
            "colour": [None, True],
            "studio": ["C", "A"],
            "year": [2020, None],
        }
    )
    expected = [[2.0, 0, 0, 0, 0, 0, 1], [0, 1, 0, 0, 1, 0, 0]]
    np.testing.assert_allclose(features.encode(new).to_dense(), expected, rtol=1e-6)


def test_the_plan_survives_json():
    features = Features.from_frame(pl.DataFrame(COLUMNS))
    plan = json.loads(json.dumps(features.plan))
    assert plan_names(plan) == NAMES
    again = encode_frame(plan, pl.DataFrame(COLUMNS))
    np.testing.assert_array_equal(again.to_dense(), features.matrix.to_dense())


def test_pickles():
    features = pickle.loads(pickle.dumps(Features.from_frame(pl.DataFrame(COLUMNS))))
    np.testing.assert_allclose(features.encode(pd.DataFrame(COLUMNS)).to_dense(), ENCODED, rtol=1e-6)


def test_features_of_a_matrix_encode_nothing():
    with pytest.raises(ValueError, match=r"only features made by Features\.from_frame can encode"):
        Features.from_matrix([1, 2, 3], DENSE).encode(pl.DataFrame(COLUMNS))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"year": ["old"]}, TypeError, "'year' was numeric when the features were made, got String"),
        ({"year": [math.inf]}, ValueError, "'year' must be finite, got inf in row 0"),
        ({"studio": [["A"]]}, TypeError, "'studio' was no list when the features were made"),
        ({"genres": ["war"]}, TypeError, "'genres' was a list when the features were made, got String"),
    ],
)
def test_columns_of_another_kind_are_refused(change: dict[str, Any], error: type[Exception], message: str):
    features = Features.from_frame(pl.DataFrame(COLUMNS))
    with pytest.raises(error, match=message):
        features.encode(pl.DataFrame({name: values[:1] for name, values in COLUMNS.items()} | change))


def test_a_missing_column_lists_those_there_are():
    features = Features.from_frame(pl.DataFrame(COLUMNS))
    with pytest.raises(ValueError, match="no column 'year'; the columns are 'item', 'studio'"):
        features.encode(pl.DataFrame({"item": ["x"], "studio": ["A"]}))
    with pytest.raises(ValueError, match="no column 'movie'; the columns are 'item', 'year'"):
        Features.from_frame(pl.DataFrame(COLUMNS), id="movie")
    with pytest.raises(ValueError, match="no column 'budget'"):
        Features.from_frame(pl.DataFrame(COLUMNS), columns=["budget"])


@pytest.mark.parametrize(
    ("column", "error", "message"),
    [
        ([1.0, math.inf], ValueError, "'c' must be finite, got inf in row 1: use null"),
        ([1.0, math.nan], ValueError, "'c' must be finite, got nan in row 1"),
        ([dt.date(2020, 1, 1)] * 2, TypeError, "'c' of type Date cannot become features"),
        ([{"a": 1}] * 2, TypeError, "'c' of type Struct.* cannot become features"),
        ([[0.5], [1.5]], TypeError, "'c' of type Float64 cannot become features"),
    ],
)
def test_columns_that_are_no_features(column: Any, error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        Features.from_frame(pl.DataFrame({"item": [1, 2], "c": column}))


def test_a_column_of_several_types_is_refused():
    frame = pd.DataFrame({"item": [1, 2], "c": pd.Series([1, "a"], dtype=object)})
    with pytest.raises(TypeError, match="column 'c' mixes several types"):
        Features.from_frame(frame)


def test_repeated_and_missing_ids_are_refused():
    with pytest.raises(ValueError, match="distinct, got 'x' more than once"):
        Features.from_frame(pl.DataFrame({"item": ["x", "x"], "year": [1, 2]}))
    with pytest.raises(ValueError, match="in row 1 is missing"):
        Features.from_frame(pl.DataFrame({"item": ["x", None], "year": [1, 2]}))


# --- properties -------------------------------------------------------------------------------------------


@given(
    st.lists(
        st.tuples(
            st.none() | st.floats(-1e6, 1e6),
            st.none() | st.text(st.characters(codec="utf-8"), max_size=3),
            st.none() | st.lists(st.sampled_from("abcd"), max_size=5),
        ),
        min_size=1,
        max_size=15,
    )
)
def test_encoding_equals_its_definition(rows: list[tuple[Any, Any, Any]]):
    schema = {"number": pl.Float64, "word": pl.String, "tags": pl.List(pl.String)}
    frame = pl.DataFrame(rows, schema=schema, orient="row").with_columns(item=pl.int_range(pl.len()))
    features = Features.from_frame(frame)
    dense = features.matrix.to_dense()
    known = np.array([number for number, _, _ in rows if number is not None])
    for row, (number, word, tags) in enumerate(rows):
        expected = dict.fromkeys(features.names, 0.0)
        if number is not None and known.std() > 0:
            expected["number"] = (number - known.mean()) / known.std()
        if word is not None:
            expected[f"word={word}"] = 1.0
        for tag in set(tags or []):
            expected[f"tags={tag}"] = 1 / math.sqrt(len(set(tags)))
        assert list(expected) == features.names
        np.testing.assert_allclose(dense[row], list(expected.values()), rtol=1e-4, atol=1e-5)
