from __future__ import annotations

import datetime as dt
import enum
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topwise.data import Vocabulary
from topwise.data.vocabulary import as_ids, factorise

INTS = st.integers(-(2**63), 2**63 - 1)


class Letter(str, enum.Enum):  # noqa: UP042 - prints itself as Letter.B, unlike StrEnum
    B = "b"


TEXT = st.text(st.characters(exclude_categories=["Cs"]))


def test_ints_are_kept_in_an_int64_array():
    vocabulary = Vocabulary([30, 10, 20])
    assert vocabulary.ids.dtype == np.int64
    assert vocabulary.ids.tolist() == [30, 10, 20]
    assert len(vocabulary) == 3


def test_codes_are_positions_and_minus_one_for_unknown_ids():
    codes = Vocabulary(["b", "a"]).codes(["a", "c", "b", "a"])
    assert codes.dtype == np.int64
    assert codes.tolist() == [1, -1, 0, 1]


@pytest.mark.parametrize(
    ("ids", "one", "code"), [(["b", "a"], "a", 1), ([5, 7], 7, 1), ([5, 7], np.int64(5), 0)]
)
def test_a_single_id_gives_one_code(ids: Any, one: Any, code: int):
    assert Vocabulary(ids).codes(one).tolist() == [code]


def test_a_tuple_is_an_id_where_ids_are_tuples():
    vocabulary = Vocabulary([(1, 2), (3, 4)])
    assert vocabulary.codes((3, 4)).tolist() == [1]
    assert vocabulary.codes([(3, 4), (9, 9)]).tolist() == [1, -1]


def test_ints_and_text_find_each_other_by_their_spelling():
    assert Vocabulary([42, -7]).codes(["42", "-7", "042", " 42", "x"]).tolist() == [0, 1, -1, -1, -1]
    assert Vocabulary(["42", "042"]).codes([42, 43]).tolist() == [0, -1]
    assert Vocabulary([42]).codes([42.0]).tolist() == [0]


def test_contains():
    assert "a" in Vocabulary(["a"])
    assert np.int32(3) in Vocabulary([3])
    assert 4 not in Vocabulary([3])


def test_empty():
    vocabulary = Vocabulary([])
    assert len(vocabulary) == 0
    assert vocabulary.codes(["x", "y"]).tolist() == [-1, -1]
    assert vocabulary.codes([]).tolist() == []


def test_repeated_ids_are_refused():
    with pytest.raises(ValueError, match="distinct, got 'a' more than once"):
        Vocabulary(["a", "b", "a"])


def test_repr_shows_the_first_ids():
    assert repr(Vocabulary(["a", "b", "c", "d"])) == "Vocabulary(4 ids: 'a', 'b', 'c', …)"


def test_pickles_after_use():
    vocabulary = Vocabulary(["a", "b"])
    vocabulary.codes("a")
    again = pickle.loads(pickle.dumps(vocabulary))
    assert again.codes(["b", "c"]).tolist() == [1, -1]


@given(st.one_of(st.lists(INTS, unique=True), st.lists(TEXT, unique=True)))
def test_every_id_finds_its_own_code(ids: list[Any]):
    vocabulary = Vocabulary(ids)
    assert vocabulary.ids.tolist() == ids
    assert vocabulary.codes(ids).tolist() == list(range(len(ids)))


@given(st.one_of(st.lists(INTS), st.lists(TEXT), st.lists(st.tuples(st.integers(0, 3), st.booleans()))))
def test_factorise_numbers_ids_by_first_appearance(ids: list[Any]):
    codes, vocabulary = factorise(ids, "item")
    assert codes.dtype == np.int32
    assert vocabulary.ids.tolist() == list(dict.fromkeys(ids))
    assert [vocabulary.ids.tolist()[code] for code in codes] == ids


@pytest.mark.parametrize(
    "column",
    [
        ["b", "a", "b"],
        ("b", "a", "b"),
        np.array(["b", "a", "b"]),
        np.array(["b", "a", "b"], dtype=object),
        [np.str_("b"), "a", "b"],
        [Letter.B, "a", Letter.B],
        pd.Series(["b", "a", "b"]),
        pd.Series(["b", "a", "b"], dtype="category"),
        pd.Series(["b", "a", "b"], dtype=object, index=[5, 6, 7]),
        pl.Series(["b", "a", "b"]),
        pl.Series(["b", "a", "b"], dtype=pl.Categorical),
        pl.Series(["b", "a", "b"], dtype=pl.Enum(["a", "b"])),
        pa.array(["b", "a", "b"]),
        pa.chunked_array([["b"], ["a", "b"]]),
        pa.array(["b", "a", "b"]).dictionary_encode(),
    ],
)
def test_text_from_anywhere(column: Any):
    codes, vocabulary = factorise(column, "user")
    assert codes.tolist() == [0, 1, 0]
    assert vocabulary.ids.tolist() == ["b", "a"]
    assert {type(id_) for id_ in vocabulary.ids} == {str}


@pytest.mark.parametrize(
    "column",
    [
        [30, 10, 30],
        np.array([30, 10, 30], dtype=np.uint8),
        np.array([30, 10, 30], dtype=np.uint64),
        np.array([30.0, 10.0, 30.0], dtype=np.float32),
        np.array([30, 10, 30], dtype=object),
        [np.int64(30), 10, 30.0],
        pd.Series([30, 10, 30]),
        pd.Series([30, 10, 30], dtype="Int64"),
        pd.Index([30, 10, 30]),
        pl.Series([30, 10, 30], dtype=pl.UInt16),
        pl.Series([30.0, 10.0, 30.0]),
        pa.array([30, 10, 30]),
    ],
)
def test_ints_from_anywhere(column: Any):
    codes, vocabulary = factorise(column, "user")
    assert codes.tolist() == [0, 1, 0]
    assert vocabulary.ids.dtype == np.int64
    assert vocabulary.ids.tolist() == [30, 10]


def test_other_hashables_of_one_type_are_ids():
    days = [dt.date(2020, 1, 2), dt.date(2020, 1, 1), dt.date(2020, 1, 2)]
    codes, vocabulary = factorise(days, "query")
    assert codes.tolist() == [0, 1, 0]
    assert vocabulary.codes(dt.date(2020, 1, 1)).tolist() == [1]
    assert factorise(np.array(days, dtype="datetime64[ns]"), "query")[0].tolist() == [0, 1, 0]
    assert factorise([True, False, True], "query")[1].ids.tolist() == [True, False]


@pytest.mark.parametrize(
    "column",
    [
        ["a", None],
        ["a", float("nan")],
        [1, None],
        np.array([1.0, np.nan]),
        np.ma.array([1, 2], mask=[False, True]),
        [(1, 2), None],
        pd.Series(["a", None]),
        pd.Series([1, None]),
        pd.Series([1, None], dtype="Int64"),
        pd.Series(["a", None], dtype="category"),
        ["a", pd.NA],
        ["a", pd.NaT],
        pl.Series(["a", None]),
        pl.Series([1, None]),
        pl.Series([1.0, float("nan")]),
        pl.Series(["a", None], dtype=pl.Categorical),
        pa.array(["a", None]),
        np.array(["2020-01-01", "NaT"], dtype="datetime64[D]"),
    ],
)
def test_a_missing_id_is_named_by_its_row(column: Any):
    with pytest.raises(ValueError, match=r"the user id .*in row 1 is missing"):
        factorise(column, "user")


@pytest.mark.parametrize(
    "column", [[1, "a"], np.array([1, "a"], dtype=object), pd.Series([1, "a"], dtype=object)]
)
def test_mixed_ids_are_refused(column: Any):
    with pytest.raises(TypeError, match=r"one kind, got int 1 \(row 0\) and str 'a' \(row 1\)"):
        factorise(column, "item")


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([1.0, 2.5], "2.5 in row 1 is not whole"),
        (np.array([1.0, np.inf]), "inf in row 1 is not whole"),
        ([2.0**60], "too large to be exact"),
        ([2**63], "9223372036854775808 does not fit 64 bits"),
        ([0, -(2**63) - 1], "does not fit 64 bits"),
        (np.array([2**63], dtype=np.uint64), "does not fit 64 bits"),
        (pl.Series([2**63], dtype=pl.UInt64), "does not fit 64 bits"),
        (["\ud800"], "not valid text"),
        (np.zeros((2, 2)), "one dimension, got 2"),
    ],
)
def test_unusable_values_are_refused(column: Any, message: str):
    with pytest.raises(ValueError, match=message):
        factorise(column, "user")


@pytest.mark.parametrize("column", ["abc", b"abc", 7, None])
def test_a_scalar_is_no_column(column: Any):
    with pytest.raises(TypeError, match="user must be a sequence"):
        factorise(column, "user")


def test_unhashable_ids_are_refused():
    with pytest.raises(TypeError, match=r"\[2\] in row 1 cannot be hashed"):
        as_ids([(1,), [2]], "item")
