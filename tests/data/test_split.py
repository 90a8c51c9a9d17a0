from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topwise.data import Events, split

DAY = 86_400
TIMES = st.one_of(st.integers(-3, 3), st.integers(-4 * DAY, 4 * DAY))
LOGS = st.lists(st.tuples(st.integers(0, 5), TIMES), max_size=40).map(
    lambda rows: numbered([user for user, _ in rows], [time for _, time in rows])
)

SPLITS: dict[str, Callable[[Events], tuple[Events, Events]]] = {
    "by_fraction": lambda log: split.by_fraction(log, test=0.3, seed=3),
    "leave_out": lambda log: split.leave_out(log, k=2, seed=3),
    "by_time": lambda log: split.by_time(log, test=0.3),
    "by_time, moment": lambda log: split.by_time(log, test="1970-01-02"),
    "every_nth_day": lambda log: split.every_nth_day(log, n=3, offset=1),
    "kfold": lambda log: next(split.kfold(log, k=3, seed=3)),
}


def numbered(users: list[int], times: list[int]) -> Events:
    """A log in which every event has an item of its own, so that it can be told from all others."""
    return Events.from_arrays(item=np.arange(len(users)), user=users, time=times)


def events_of(log: Events) -> list[int]:
    return log.ids("item").tolist()


@pytest.mark.parametrize("name", SPLITS)
@given(log=LOGS)
def test_parts_are_disjoint_and_lose_nothing(name: str, log: Events):
    train, test = SPLITS[name](log)
    assert sorted(events_of(train) + events_of(test)) == list(range(len(log)))
    assert events_of(train) == sorted(events_of(train))
    assert events_of(test) == sorted(events_of(test))
    for part in (train, test):
        assert part.vocabulary("user") is log.vocabulary("user")
        assert part.vocabulary("item") is log.vocabulary("item")


@pytest.mark.parametrize("name", SPLITS)
@given(log=LOGS)
def test_the_same_call_gives_the_same_parts(name: str, log: Events):
    assert events_of(SPLITS[name](log)[1]) == events_of(SPLITS[name](log)[1])


@pytest.mark.parametrize(
    "parted",
    [
        lambda log, seed: split.by_fraction(log, seed=seed)[1],
        lambda log, seed: split.leave_out(log, seed=seed)[1],
        lambda log, seed: next(split.kfold(log, seed=seed))[1],
    ],
)
def test_another_seed_gives_other_parts(parted: Callable[[Events, int], Events]):
    log = numbered([0, 1, 2, 3] * 50, [0] * 200)
    assert events_of(parted(log, 0)) != events_of(parted(log, 1))


@given(log=LOGS, fraction=st.floats(0.01, 0.99))
def test_by_fraction_has_the_fraction(log: Events, fraction: float):
    _, test = split.by_fraction(log, test=fraction)
    assert len(test) == round(fraction * len(log))


@given(log=LOGS, k=st.integers(1, 4))
def test_leave_out_takes_k_of_everyone_who_has_more(log: Events, k: int):
    _, test = split.leave_out(log, k=k, seed=1)
    expected = {user: k for user, count in Counter(log.ids("user").tolist()).items() if count > k}
    assert Counter(test.ids("user").tolist()) == expected


def test_leave_out_draws_every_event_of_a_user_alike():
    log = numbered([0] * 5 + [1] * 5, [0] * 10)
    drawn = Counter(
        item for seed in range(1000) for item in events_of(split.leave_out(log, k=1, seed=seed)[1])
    )
    # 200 expected each; five standard deviations of a binomial are 63.
    assert all(abs(drawn[item] - 200) < 63 for item in range(10))


def test_leave_out_goes_by_query_where_there_are_no_users():
    log = Events.from_arrays(item=[1, 2, 3], query=["p", "p", "q"])
    assert split.leave_out(log)[1].ids("query").tolist() == ["p"]


@given(log=LOGS, fraction=st.floats(0.01, 0.99))
def test_by_time_never_leaks(log: Events, fraction: float):
    train, test = split.by_time(log, test=fraction)
    assert train.time is not None
    assert test.time is not None
    if len(train) and len(test):
        assert train.time.max() < test.time.min()
    assert len(test) >= round(fraction * len(log))


def test_by_time_keeps_ties_together():
    train, test = split.by_time(numbered([0] * 6, [1, 2, 3, 3, 3, 4]), test=2 / 6)
    assert events_of(train) == [0, 1]
    assert events_of(test) == [2, 3, 4, 5]


@pytest.mark.parametrize(
    "moment",
    [
        "1970-01-02",
        "1970-01-02T00:00:00Z",
        "1970-01-02T02:00:00+02:00",
        dt.date(1970, 1, 2),
        dt.datetime(1970, 1, 2),
        dt.datetime(1970, 1, 2, 2, tzinfo=dt.timezone(dt.timedelta(hours=2))),
        np.datetime64("1970-01-02"),
    ],
)
def test_by_time_at_a_moment(moment: Any):
    train, test = split.by_time(numbered([0] * 3, [DAY - 1, DAY, DAY + 1]), test=moment)
    assert events_of(train) == [0]
    assert events_of(test) == [1, 2]


@given(log=LOGS, n=st.integers(2, 5), data=st.data())
def test_every_nth_day_goes_by_days_in_utc(log: Events, n: int, data: st.DataObject):
    offset = data.draw(st.integers(0, n - 1))
    train, test = split.every_nth_day(log, n, offset)
    for part, is_test in ((train, True), (test, False)):
        assert part.time is not None
        days = [
            (dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=int(time) // 10**9)).toordinal()
            for time in part.time
        ]
        assert all(((day - dt.date(1970, 1, 1).toordinal()) % n != offset) == is_test for day in days)


def test_every_nth_day_takes_one_day_in_n():
    log = numbered([0] * 10, [day * DAY for day in range(10)])
    assert events_of(split.every_nth_day(log, 5)[1]) == [0, 5]
    assert events_of(split.every_nth_day(log, 5, offset=3)[1]) == [3, 8]


@given(log=LOGS, k=st.integers(2, 6))
def test_kfold_tests_every_event_once(log: Events, k: int):
    parts = list(split.kfold(log, k, seed=2))
    assert len(parts) == k
    tested = [event for _, test in parts for event in events_of(test)]
    assert sorted(tested) == list(range(len(log)))
    sizes = [len(test) for _, test in parts]
    assert max(sizes) - min(sizes) <= 1
    for train, test in parts:
        assert set(events_of(train)).isdisjoint(events_of(test))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda log: split.by_fraction(log, test=0),
            ValueError,
            "test must be a fraction between 0 and 1, got 0",
        ),
        (lambda log: split.by_fraction(log, test=1.5), ValueError, "between 0 and 1, got 1.5"),
        (lambda log: split.by_fraction(log, test=float("nan")), ValueError, "between 0 and 1, got nan"),
        (lambda log: split.by_fraction(log, test="0.2"), TypeError, "a fraction such as 0.2, got '0.2'"),
        (lambda log: split.by_time(log, test=2), ValueError, "or a moment such as '2009-05-04', got 2"),
        (lambda log: split.by_time(log, test=None), TypeError, "or a moment such as '2009-05-04', got None"),
        (lambda log: split.by_time(log, test="soon"), ValueError, "got 'soon'"),
        (lambda log: split.leave_out(log, k=0), ValueError, "k must be at least 1, got 0"),
        (lambda log: split.leave_out(log, k=1.5), TypeError, "k must be a whole number, got 1.5"),
        (lambda log: split.every_nth_day(log, n=1), ValueError, "n must be at least 2, got 1"),
        (
            lambda log: split.every_nth_day(log, n=3, offset=3),
            ValueError,
            "offset must be between 0 and n - 1 = 2, got 3",
        ),
        (lambda log: split.kfold(log, k=1), ValueError, "k must be at least 2, got 1"),
    ],
)
def test_wrong_arguments(call: Callable[[Events], object], error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        call(numbered([0, 1], [0, 1]))


@pytest.mark.parametrize("parted", [split.by_time, split.every_nth_day])
def test_a_log_without_times_is_refused(parted: Callable[[Events], object]):
    with pytest.raises(ValueError, match="needs a log with times: pass time="):
        parted(Events.from_arrays(item=[1], user=[1]))
