from __future__ import annotations

import datetime as dt
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topwise.data import Events, Vocabulary

SECOND = 1_000_000_000


def small() -> Events:
    return Events.from_arrays(
        item=["x", "y", "x", "z", "x"],
        user=[7, 7, 8, 9, 7],
        weight=[1, 0.5, 2, 0, 3],
        time=[10, 20, 30, 40, 50],
    )


# --- roles and columns ------------------------------------------------------------------------------------


def test_columns_are_codes_in_order_of_first_appearance():
    log = small()
    assert len(log) == 5
    assert log.roles == ("user", "item")
    assert log.item.tolist() == [0, 1, 0, 2, 0]
    assert log.user is not None
    assert log.user.tolist() == [0, 0, 1, 2, 0]
    assert log.query is None
    assert log.vocabulary("item").ids.tolist() == ["x", "y", "z"]
    assert log.n("user") == 3


def test_ids_come_back_as_given():
    log = small()
    assert log.ids("item").tolist() == ["x", "y", "x", "z", "x"]
    assert log.ids("user").tolist() == [7, 7, 8, 9, 7]


def test_types_are_compact():
    log = small()
    assert log.weight is not None
    assert log.time is not None
    assert (log.item.dtype, log.weight.dtype, log.time.dtype) == (np.int32, np.float32, np.int64)
    timeless = Events.from_arrays(item=np.arange(1000), user=np.arange(1000), weight=np.ones(1000))
    assert timeless.nbytes <= 16 * len(timeless)


def test_all_three_roles():
    log = Events.from_arrays(item=[1], user=["u"], query=["q"])
    assert log.roles == ("user", "query", "item")
    assert log.ids("query").tolist() == ["q"]
    assert log.context_role == "user"
    assert Events.from_arrays(item=[1], query=["q"]).context_role == "query"


def test_repeated_events_stay():
    assert len(Events.from_arrays(item=[1, 1], user=[1, 1])) == 2


def test_an_item_and_a_context_are_needed():
    with pytest.raises(ValueError, match="needs a user or a query beside the item"):
        Events.from_arrays(item=[1, 2])
    with pytest.raises(ValueError, match="needs items: pass item="):
        Events.from_arrays(item=None, user=[1])
    with pytest.raises(ValueError, match="needs items: pass item=; the columns are 'user'"):
        Events.from_frame(pl.DataFrame({"user": [1]}), item=None)
    with pytest.raises(TypeError, match="item must be one column, got a DataFrame"):
        Events.from_arrays(item=pd.DataFrame({"item": [1]}), user=[1])


def test_unequal_lengths_are_named():
    with pytest.raises(ValueError, match="lengths are user 3, item 2"):
        Events.from_arrays(item=[1, 2], user=[1, 2, 3])
    with pytest.raises(ValueError, match="user 2, item 2, weight 1"):
        Events.from_arrays(item=[1, 2], user=[1, 2], weight=[1])


def test_an_empty_log_is_a_log():
    log = Events.from_arrays(item=[], user=[], weight=[], time=[])
    assert len(log) == 0
    assert log.n("item") == 0
    assert log.ids("user").tolist() == []
    assert log.matrix().shape == (0, 0)
    assert repr(log) == "Events(0 events: 0 users, 0 items)"


def test_unknown_roles_are_refused():
    log = small()
    for ask in (log.vocabulary, log.codes, log.ids, log.n):
        with pytest.raises(ValueError, match="has no role 'query': it has 'user', 'item'"):
            ask("query")


def test_repr_says_what_is_in_it():
    assert repr(small()) == (
        "Events(5 events: 3 users, 3 items, weight 0 to 3, time 1970-01-01 to 1970-01-01)"
    )
    assert repr(Events.from_arrays(item=[1], query=[1])) == "Events(1 events: 1 query, 1 item)"


def test_pickles():
    log = pickle.loads(pickle.dumps(small()))
    assert log.ids("item").tolist() == small().ids("item").tolist()
    assert log.time.tolist() == small().time.tolist()  # type: ignore[union-attr]


# --- weights ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "weights",
    [
        [1, 0, 2],
        np.array([1, 0, 2], dtype=np.int8),
        ["1", " 0 ", "2.0"],
        pl.Series(["1", "0", "2.0"]),
        pl.Series([1, 0, 2]),
        pd.Series([1, 0, 2], dtype="Int64"),
        pa.array([1.0, 0.0, 2.0]),
        np.array([1, 0, 2], dtype=object),
    ],
)
def test_weights_from_anywhere(weights: Any):
    log = Events.from_arrays(item=[1, 2, 3], user=[1, 2, 3], weight=weights)
    assert log.weight is not None
    assert log.weight.tolist() == [1.0, 0.0, 2.0]


@pytest.mark.parametrize("bad", [float("nan"), -1.0, float("inf"), 1e39])
def test_weights_that_are_no_weights_name_their_row(bad: float):
    with pytest.raises(ValueError, match=r"weight must be finite and at least 0, got .* in row 1"):
        Events.from_arrays(item=[1, 2], user=[1, 2], weight=[1.0, bad])


@pytest.mark.parametrize(
    "missing",
    [
        [1.0, None],
        np.ma.array([1.0, 2.0], mask=[False, True]),
        pl.Series([1.0, None]),
        pd.Series([1, pd.NA], dtype="Int64"),
    ],
)
def test_missing_weights_name_their_row(missing: Any):
    with pytest.raises(ValueError, match="got nan in row 1"):
        Events.from_arrays(item=[1, 2], user=[1, 2], weight=missing)


def test_a_number_too_large_for_any_float_is_no_weight():
    with pytest.raises(ValueError, match="weight must be a number, got 1000"):
        Events.from_arrays(item=[1], user=[1], weight=[10**400])


@pytest.mark.parametrize("words", [["1", "two"], pl.Series(["1", "two"]), np.array(["1", "two"])])
def test_words_are_no_weights(words: Any):
    with pytest.raises(ValueError, match="weight must be a number, got 'two' in row 1"):
        Events.from_arrays(item=[1, 2], user=[1, 2], weight=words)


def test_columns_of_other_types_are_no_weights():
    with pytest.raises(TypeError, match="weight must be numbers, got a column of Date"):
        Events.from_arrays(item=[1], user=[1], weight=pl.Series([dt.date(2020, 1, 1)]))


# --- times ------------------------------------------------------------------------------------------------

MOMENT = dt.datetime(2009, 5, 4, 23, 8, 57)
SECONDS = 1_241_478_537


def times(values: Any) -> list[int]:
    log = Events.from_arrays(item=[1] * len(values), user=[1] * len(values), time=values)
    assert log.time is not None
    return log.time.tolist()


@pytest.mark.parametrize(
    "values",
    [
        [MOMENT],
        [MOMENT.replace(tzinfo=dt.UTC)],
        [dt.datetime(2009, 5, 5, 1, 8, 57, tzinfo=dt.timezone(dt.timedelta(hours=2)))],
        [SECONDS],
        [float(SECONDS)],
        [str(SECONDS)],
        [f"{SECONDS}.0"],
        ["2009-05-04T23:08:57Z"],
        ["2009-05-04 23:08:57"],
        ["2009-05-05T01:08:57+02:00"],
        ["2009-05-05T01:08:57.000+0200"],
        ["2009-05-04T21:08:57-02:00"],
        [np.datetime64("2009-05-04T23:08:57")],
        [pd.Timestamp("2009-05-05 01:08:57", tz="Europe/Paris")],
        np.array([SECONDS], dtype=np.uint32),
        np.array(["2009-05-04T23:08:57"], dtype="datetime64[s]"),
        np.array(["2009-05-04T23:08:57"], dtype="datetime64[ns]"),
        np.array([MOMENT], dtype=object),
        np.array(["2009-05-04 23:08:57"]),
        pd.Series([MOMENT]),
        pd.Series([pd.Timestamp("2009-05-05 01:08:57", tz="Europe/Paris")]),
        pd.Series(["2009-05-04T23:08:57Z"]),
        pl.Series([MOMENT]),
        pl.Series([MOMENT]).dt.cast_time_unit("ms"),
        pl.Series([MOMENT]).dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Tokyo"),
        pl.Series([SECONDS]),
        pa.array([MOMENT], pa.timestamp("s")),
    ],
)
def test_a_moment_in_any_form(values: Any):
    assert times(values) == [SECONDS * SECOND]


@pytest.mark.parametrize(
    "values",
    [
        [dt.date(2009, 5, 4)],
        ["2009-05-04"],
        pl.Series([dt.date(2009, 5, 4)]),
        np.array(["2009-05-04"], "datetime64[D]"),
    ],
)
def test_a_date_is_its_first_moment(values: Any):
    assert times(values) == [SECONDS // 86_400 * 86_400 * SECOND]


def test_seconds_may_be_left_out():
    minute = SECONDS // 60 * 60 * SECOND
    assert times(["2009-05-04 23:08", "2009-05-04T23:08Z", "2009-05-05 01:08+02:00"]) == [minute] * 3


def test_forms_of_text_may_be_mixed():
    midnight = SECONDS // 86_400 * 86_400 * SECOND
    assert times(["2009-05-04", "2009-05-04T00:00Z", " 2009-05-04 02:00:00.0+02:00 "]) == [midnight] * 3


def test_fractions_of_seconds_are_kept():
    assert times([1.25, -1.25]) == [1_250_000_000, -1_250_000_000]
    assert times(["2009-05-04T23:08:57.123456Z"]) == [SECONDS * SECOND + 123_456_000]


def test_times_before_1970():
    assert times(["1956-06-01"]) == [-428_716_800 * SECOND]


@pytest.mark.parametrize(
    "values",
    [
        [1, None],
        [1.0, float("nan")],
        np.array([1.0, np.nan]),
        ["2009-05-04", None],
        [MOMENT, None],
        [MOMENT, pd.NaT],
        np.array(["2009-05-04", "NaT"], dtype="datetime64[D]"),
        pd.Series([MOMENT, None]),
        pd.Series([pd.Timestamp("2009-05-05", tz="UTC"), None]),
        pl.Series([MOMENT, None]),
        pl.Series([1, None]),
        pl.Series([1.0, float("nan")]),
        pl.Series(["2009-05-04", None]),
    ],
)
def test_a_missing_time_is_named_by_its_row(values: Any):
    with pytest.raises(ValueError, match="time is missing in row 1"):
        times(values)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["2009-05-04", "yesterday"], "got 'yesterday' in row 1"),
        (["2009-05-04", "2009-13-04"], "got '2009-13-04' in row 1"),
        (["1241478537", "2009-05-04"], "got '1241478537' in row 0"),
        (
            [SECONDS * 1000],
            "between the years 1678 and 2262, got .* in row 0 as unix seconds: divide milliseconds",
        ),
        ([float("inf")], "between the years 1678 and 2262, got inf"),
        ([-(2**63)], "between the years 1678 and 2262"),
        (["2400-01-01"], "between the years 1678 and 2262, got 2400-01-01"),
        ([dt.date(1500, 1, 1)], "between the years 1678 and 2262, got 1500-01-01"),
    ],
)
def test_times_that_are_no_times(values: Any, message: str):
    with pytest.raises(ValueError, match=message):
        times(values)


@pytest.mark.parametrize("values", [[1, "2009-05-04"], [(1, 2)], pl.Series([[1]])])
def test_mixed_or_other_types_are_no_times(values: Any):
    with pytest.raises(TypeError, match="time must be datetimes, dates, unix seconds or ISO text"):
        times(values)


# --- frames -----------------------------------------------------------------------------------------------

COLUMNS = {"user": ["a", "b", "a"], "item": [3, 1, 3], "stars": [4.0, 0.0, 5.0], "when": [MOMENT] * 3}


class OnlyAStream:
    """What a library that topwise has never heard of would hand over."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(COLUMNS),
        pd.DataFrame(COLUMNS, index=[9, 9, 9]),
        pd.DataFrame(COLUMNS).convert_dtypes(),
        pd.DataFrame(COLUMNS).astype({"user": "category"}),
        pd.DataFrame(COLUMNS).assign(junk=pd.Series([1, "x", None], dtype=object)),
        pl.DataFrame(COLUMNS),
        pl.LazyFrame(COLUMNS),
        pa.table(COLUMNS),
        OnlyAStream(pa.table(COLUMNS)),
    ],
)
def test_frames_of_any_library_agree(frame: Any):
    log = Events.from_frame(frame, weight="stars", time="when")
    assert log.ids("user").tolist() == ["a", "b", "a"]
    assert log.ids("item").tolist() == [3, 1, 3]
    assert log.weight is not None
    assert log.weight.tolist() == [4.0, 0.0, 5.0]
    assert log.time is not None
    assert log.time.tolist() == [SECONDS * SECOND] * 3


def test_user_and_query_columns_are_taken_when_neither_is_named():
    frame = pl.DataFrame({"user": [1], "query": ["q"], "item": [2], "uid": [5]})
    assert Events.from_frame(frame).roles == ("user", "query", "item")
    assert Events.from_frame(frame, user="uid").roles == ("user", "item")
    assert Events.from_frame(frame, query="query").roles == ("query", "item")


def test_a_missing_column_lists_those_there_are():
    frame = pl.DataFrame({"user": [1], "movie": [2]})
    with pytest.raises(ValueError, match="no column 'item'; the columns are 'user', 'movie'"):
        Events.from_frame(frame)
    with pytest.raises(ValueError, match=r"pass user= or query=; the columns are 'u', 'item'"):
        Events.from_frame(pd.DataFrame({"u": [1], "item": [1]}))


def test_two_columns_of_one_name_are_refused():
    frame = pd.DataFrame([[1, 2, 3]], columns=["user", "item", "item"])
    with pytest.raises(ValueError, match="2 columns named 'item'"):
        Events.from_frame(frame)


def test_columns_of_pandas_need_not_be_named_by_text():
    log = Events.from_frame(pd.DataFrame([[5, 6]]), user=0, item=1)
    assert log.ids("item").tolist() == [6]


@pytest.mark.parametrize("frame", [[1, 2], {"item": [1]}, np.zeros((2, 2)), pl.Series([1])])
def test_other_things_are_no_frames(frame: Any):
    with pytest.raises(TypeError, match="a frame must come from pandas or polars"):
        Events.from_frame(frame, user="user")


def test_a_frame_without_rows_is_an_empty_log():
    log = Events.from_frame(pl.DataFrame({"user": [], "item": []}))
    assert len(log) == 0


# --- take, recode, matrix ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "chosen",
    [
        [0, 3],
        np.array([0, 3]),
        np.array([True, False, False, True, False]),
        [True, False, False, True, False],
    ],
)
def test_take_by_numbers_or_mask(chosen: Any):
    part = small().take(chosen)
    assert part.ids("item").tolist() == ["x", "z"]
    assert part.weight is not None
    assert part.weight.tolist() == [1.0, 0.0]
    assert part.time is not None
    assert part.time.tolist() == [10 * SECOND, 40 * SECOND]


def test_take_shares_the_vocabularies():
    log = small()
    part = log.take([0])
    assert part.vocabulary("item") is log.vocabulary("item")
    assert part.n("item") == 3


def test_take_nothing():
    assert len(small().take([])) == 0
    assert len(small().take(np.zeros(5, dtype=bool))) == 0


@pytest.mark.parametrize(
    ("chosen", "error", "message"),
    [
        ([True, False], ValueError, "one entry for each of 5 events, got 2"),
        ([5], ValueError, "event numbers must be below 5"),
        ([0.5], TypeError, "by a mask or by whole numbers"),
        ([[0, 1]], TypeError, "by a mask or by whole numbers"),
    ],
)
def test_take_checks_what_it_gets(chosen: Any, error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        small().take(chosen)


def test_recode_into_another_vocabulary():
    log = small().recode({"item": Vocabulary(["z", "x"]), "user": Vocabulary(["9", "7"])})
    assert log.item.tolist() == [1, -1, 1, 0, 1]
    assert log.item.dtype == np.int32
    assert log.user is not None
    assert log.user.tolist() == [1, 1, -1, 0, 1]
    assert log.matrix().to_dense().tolist() == [[1, 0], [0, 1]]
    with pytest.raises(ValueError, match=r"outside of the vocabulary: take the others first, by log\.take"):
        log.ids("item")
    assert log.take(log.item >= 0).ids("item").tolist() == ["x", "x", "z", "x"]
    again = log.recode({"item": Vocabulary(["x"])})
    assert again.item.tolist() == [0, -1, 0, -1, 0]


def test_recode_leaves_other_roles_alone():
    log = small()
    assert log.recode({"item": Vocabulary(["x"])}).user is log.user


def test_matrix_is_the_set_of_known_positives():
    matrix = small().matrix()
    assert matrix.values is None
    np.testing.assert_array_equal(matrix.to_dense(), [[1, 1, 0], [1, 0, 0], [0, 0, 1]])


def test_matrix_by_query():
    log = Events.from_arrays(item=[1, 2], user=["u", "u"], query=["p", "q"])
    np.testing.assert_array_equal(log.matrix("query").to_dense(), [[1, 0], [0, 1]])
    np.testing.assert_array_equal(log.matrix("user").to_dense(), [[1, 1]])
    with pytest.raises(ValueError, match="context must be 'user' or 'query', got 'item'"):
        log.matrix("item")


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=60))
def test_matrix_equals_python_sets(pairs: list[tuple[int, int]]):
    log = Events.from_arrays(user=[user for user, _ in pairs], item=[item for _, item in pairs])
    matrix = log.matrix()
    users, items = log.vocabulary("user").ids, log.vocabulary("item").ids
    found = {(int(users[row]), int(items[item])) for row in range(len(matrix)) for item in matrix.row(row)}
    assert found == set(pairs)
    assert matrix.nnz == len(found)
