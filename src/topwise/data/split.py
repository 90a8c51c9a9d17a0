"""Ways to part a log into training and test events. The parts share their vocabularies and keep the order."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from topwise.data.columns import NANOSECONDS, as_times
from topwise.data.events import Events

__all__ = ["by_fraction", "by_time", "every_nth_day", "kfold", "leave_out"]

Moment: TypeAlias = str | dt.date | np.datetime64
Split: TypeAlias = tuple[Events, Events]

_DAY = 86_400 * NANOSECONDS


def by_fraction(log: Events, test: float = 0.2, seed: int = 0) -> Split:
    """Train and test, where the test is a fraction of all events, drawn at random."""
    _check_fraction(test)
    is_test = np.zeros(len(log), dtype=bool)
    is_test[np.random.default_rng(seed).permutation(len(log))[: round(test * len(log))]] = True
    return _parted(log, is_test)


def leave_out(log: Events, k: int = 1, seed: int = 0) -> Split:
    """Train and test, where the test has k random events of each user (each query in a log without users).

    A user with k events or fewer keeps all of them in train, so that nobody is tested without training.
    """
    _check_at_least("k", k, 1)
    context = log.codes(log.context_role)
    # One distinct key an event: sorting by it groups the contexts and shuffles each of them.
    shuffled = np.random.default_rng(seed).permutation(len(log))
    order = np.argsort(context.astype(np.int64) * len(log) + shuffled)
    grouped = context[order]
    starts = np.flatnonzero(np.diff(grouped, prepend=-2))
    lengths = np.diff(starts, append=len(log))
    place = np.arange(len(log)) - np.repeat(starts, lengths)
    is_test = np.zeros(len(log), dtype=bool)
    is_test[order] = (place < k) & (np.repeat(lengths, lengths) > k)
    return _parted(log, is_test)


def by_time(log: Events, test: float | Moment = 0.2) -> Split:
    """Train and test, where the test is the latest fraction of events, or those from a moment on.

    The moment is a date, a datetime, or ISO 8601 text (UTC where it carries no zone). Events at the same
    time stay together: those that tie with the earliest of the latest fraction are all in the test.
    """
    times = _times(log, "by_time")
    if isinstance(test, str | dt.date | np.datetime64):
        return _parted(log, times >= as_times([test])[0])
    _check_fraction(test, " or a moment such as '2009-05-04'")
    n_test = round(test * len(log))
    if n_test == 0:
        return _parted(log, np.zeros(len(log), dtype=bool))
    cut = np.partition(times, len(log) - n_test)[len(log) - n_test]
    return _parted(log, times >= cut)


def every_nth_day(log: Events, n: int = 5, offset: int = 0) -> Split:
    """Train and test, where one day (UTC) in n is the test, as in the evaluations of LCR and LaSR.

    Days count from 1970-01-01; the test has those with day mod n = offset. So the side of a day does not
    depend on what else the log contains.
    """
    times = _times(log, "every_nth_day")
    _check_at_least("n", n, 2)
    if not 0 <= offset < n:
        raise ValueError(f"offset must be between 0 and n - 1 = {n - 1}, got {offset}")
    return _parted(log, times // _DAY % n == offset)


def kfold(log: Events, k: int = 5, seed: int = 0) -> Iterator[Split]:
    """k pairs of train and test; every event is in one of the tests, whose sizes differ by at most one."""
    _check_at_least("k", k, 2)
    fold = np.random.default_rng(seed).permutation(len(log)) % k
    return (_parted(log, fold == test) for test in range(k))


def _parted(log: Events, is_test: npt.NDArray[np.bool_]) -> Split:
    return log.take(~is_test), log.take(is_test)


def _times(log: Events, name: str) -> npt.NDArray[np.int64]:
    if log.time is None:
        raise ValueError(f"{name} needs a log with times: pass time= when you make the log")
    return log.time


def _check_fraction(test: float, alternative: str = "") -> None:
    if isinstance(test, bool) or not isinstance(test, int | float | np.integer | np.floating):
        raise TypeError(f"test must be a fraction such as 0.2{alternative}, got {test!r}")
    if not 0 < test < 1:
        raise ValueError(f"test must be a fraction between 0 and 1{alternative}, got {test}")


def _check_at_least(name: str, value: int, bound: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be a whole number, got {value!r}")
    if value < bound:
        raise ValueError(f"{name} must be at least {bound}, got {value}")
