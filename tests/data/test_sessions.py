"""What followed what: consecutive events by time, by order, and from playlists."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import topwise as tw

Triples = list[tuple[Any, Any, Any]]


def triples(log: tw.Events) -> Triples:
    return list(zip(*(log.ids(role).tolist() for role in ("query", "user", "item")), strict=True))


def slowly(rows: list[tuple[int, int, int]], gap: int | None, repeats: bool) -> Triples:
    """Every later event with the one before it of the same user, straight from the definition."""
    found = []
    for place, (user, item, time) in enumerate(rows):
        before = [(t, at) for at, (u, _, t) in enumerate(rows) if u == user and (t, at) < (time, place)]
        if not before:
            continue
        earlier, at = max(before)
        previous = rows[at][1]
        if (gap is None or time - earlier <= gap) and (repeats or previous != item):
            found.append((previous, user, item))
    return found


ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(0, 20)), min_size=1, max_size=40)


@given(ROWS, st.integers(1, 8), st.booleans())
def test_equals_the_definition(rows: list[tuple[int, int, int]], gap: int, repeats: bool) -> None:
    users, items, times = zip(*rows, strict=True)
    log = tw.Events.from_arrays(item=list(items), user=list(users), time=list(times))
    made = tw.sessions.consecutive(log, gap, repeats=repeats)
    assert triples(made) == slowly(rows, gap, repeats)
    everything = tw.sessions.consecutive(log, None, repeats=repeats)
    assert triples(everything) == slowly(rows, None, repeats)
    assert made.vocabulary("query") is made.vocabulary("item") is log.vocabulary("item")


@given(ROWS)
def test_without_times_the_order_is_the_log_s(rows: list[tuple[int, int, int]]) -> None:
    users, items, _ = zip(*rows, strict=True)
    log = tw.Events.from_arrays(item=list(items), user=list(users))
    untimed = [(user, item, 0) for user, item, _ in rows]
    assert triples(tw.sessions.consecutive(log, max_gap=None)) == slowly(untimed, None, False)


def timed() -> tw.Events:
    day = 86_400
    return tw.Events.from_arrays(
        item=["a", "b", "c", "d", "a"],
        user=["u"] * 5,
        time=[0, 3600, 7201, 5 * day - 10, 5 * day + 10],
        weight=[1.0, 2.0, 3.0, 4.0, 5.0],
    )


def test_the_later_event_gives_time_and_weight() -> None:
    made = tw.sessions.consecutive(timed())
    assert triples(made) == [("a", "u", "b"), ("d", "u", "a")]
    assert made.weight is not None
    assert made.time is not None
    assert made.weight.tolist() == [2.0, 5.0]
    train, test = tw.split.every_nth_day(made, 5)
    assert (len(train), len(test)) == (0, 2)
    assert triples(tw.split.every_nth_day(made, 5, offset=1)[1]) == []


@pytest.mark.parametrize(
    "gap",
    ["1h", "60min", "60m", " 3600 s", "1.0h", 3600, 3600.0, dt.timedelta(hours=1), np.timedelta64(1, "h")],
)
def test_an_hour_in_every_way(gap: Any) -> None:
    assert len(tw.sessions.consecutive(timed(), gap)) == 2


def test_longer_units() -> None:
    assert len(tw.sessions.consecutive(timed(), "1d")) == 3
    assert len(tw.sessions.consecutive(timed(), "1w")) == 4


@pytest.mark.parametrize(
    ("gap", "error", "message"),
    [
        (
            "an hour",
            ValueError,
            r"max_gap must be a number and a unit \(s, m, min, h, d, w\) .* got 'an hour'",
        ),
        ("1y", ValueError, "got '1y'"),
        ("-1h", ValueError, "got '-1h'"),
        ("", ValueError, "got ''"),
        ("1e999h", ValueError, "got '1e999h'"),
        ("0h", ValueError, "max_gap must be above 0 and finite, got '0h'"),
        (0, ValueError, "max_gap must be above 0 and finite, got 0"),
        (-5, ValueError, "max_gap must be above 0 and finite, got -5"),
        (float("nan"), ValueError, "max_gap must be above 0 and finite, got nan"),
        (float("inf"), ValueError, "max_gap must be above 0 and finite, got inf"),
        (1e30, ValueError, "max_gap must be above 0 and finite"),
        (np.timedelta64("NaT"), ValueError, "max_gap must be above 0 and finite"),
        (
            True,
            TypeError,
            "max_gap must be a text such as '1h', seconds, a timedelta or None, got the bool True",
        ),
        ([1], TypeError, r"got the list \[1\]"),
    ],
)
def test_gaps_of_the_wrong_kind(gap: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        tw.sessions.consecutive(timed(), gap)


def test_logs_of_the_wrong_kind() -> None:
    untimed = tw.Events.from_arrays(item=[1, 2], user=[1, 1])
    with pytest.raises(
        ValueError, match=r"this log has no times to compare max_gap with: .* or max_gap=None"
    ):
        tw.sessions.consecutive(untimed)
    of_queries = tw.Events.from_arrays(item=[1, 2], query=[1, 1])
    with pytest.raises(ValueError, match="consecutive needs a log with users: pass user="):
        tw.sessions.consecutive(of_queries, None)
    with pytest.raises(TypeError, match="log must be a log of events"):
        tw.sessions.consecutive([1, 2])  # type: ignore[arg-type]


def test_events_of_unknown_ids_are_passed_over() -> None:
    log = tw.Events.from_arrays(item=[1, 2, 3, 1], user=[1, 1, 1, 1])
    cut = log.recode({"item": tw.data.Vocabulary([1, 3])})
    assert triples(tw.sessions.consecutive(cut, None)) == [(3, 1, 1)]


def test_playlists() -> None:
    lists = [["a", "b", "b", "c"], ["c"], [], ["c", "a"]]
    log = tw.sessions.from_playlists(lists)
    assert log.roles == ("query", "item")
    assert list(zip(log.ids("query"), log.ids("item"), strict=True)) == [("a", "b"), ("b", "c"), ("c", "a")]
    assert len(tw.sessions.from_playlists(lists, repeats=True)) == 4
    of_users = tw.sessions.from_playlists(lists, users=["x", "y", "z", "x"])
    assert triples(of_users) == [("a", "x", "b"), ("b", "x", "c"), ("c", "x", "a")]


@pytest.mark.parametrize(
    ("lists", "users", "error", "message"),
    [
        ("abc", None, TypeError, "playlists must be lists of item ids, got text"),
        (["abc"], None, TypeError, "playlist 0 must be a list of item ids, got 'abc'"),
        ([[1], 2], None, TypeError, "playlist 1 must be a list of item ids, got 2"),
        ([[1, 2]], ["x", "y"], ValueError, "users must be one for each of 1 playlists, got 2"),
        ([[]], None, ValueError, "playlists must have at least one item, got none"),
        ([["a", None]], None, ValueError, "the item id in row 1 is missing"),
    ],
)
def test_playlists_of_the_wrong_kind(lists: Any, users: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        tw.sessions.from_playlists(lists, users)


def test_check_ins_become_triples(data_root: Path) -> None:
    log = tw.datasets.foursquare_nyc(data_root / "foursquare-nyc").log
    made = tw.sessions.consecutive(log, "1h")
    assert (len(log), log.n("user"), log.n("item")) == (147_480, 1_083, 5_135)
    assert len(made) == 36_670
    train, test = tw.split.every_nth_day(made, 5)
    assert 0.15 < len(test) / len(made) < 0.25
    assert len(train) + len(test) == len(made)
