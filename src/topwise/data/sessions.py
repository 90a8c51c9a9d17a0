"""Logs of what followed what: (previous item, user, next item), the previous item as the query."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from topwise.data.columns import NANOSECONDS
from topwise.data.events import Events
from topwise.data.vocabulary import factorise

__all__ = ["consecutive", "from_playlists"]

Gap: TypeAlias = str | float | dt.timedelta | np.timedelta64 | None

_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}


def consecutive(log: Events, max_gap: Gap = "1h", *, repeats: bool = False) -> Events:
    """The pairs of events that follow one another in a user's log, as in LCR's evaluation.

    Events of a user are taken in the order of time, and of the log where times are equal. Two of them that
    follow one another at most `max_gap` apart make one event of the result: the earlier item is its query,
    the later one its item, whose time and weight it has. `max_gap` is a text such as "1h", "90min", "30s" or
    "7d"; a timedelta; or a number of seconds. Queries share the items' vocabulary.

    `max_gap=None` takes all that follow one another, and is needed for a log without times: then its events
    stand in the order in which they happened. An item that follows itself makes no event, unless with
    `repeats`.
    """
    if not isinstance(log, Events):
        raise TypeError(f"log must be a log of events (tw.Events), got {type(log).__name__}")
    if log.user is None:
        raise ValueError("consecutive needs a log with users: pass user= when you make the log")
    gap = _nanoseconds(max_gap)
    if gap is not None and log.time is None:
        raise ValueError(
            "this log has no times to compare max_gap with: pass time= when you make it, or max_gap=None "
            "if its events stand in the order in which they happened"
        )
    times = np.zeros(len(log), dtype=np.int64) if log.time is None else log.time
    order = np.lexsort((times, log.user))
    before, after = order[:-1], order[1:]
    follow = log.user[before] == log.user[after]
    follow &= (log.user[before] >= 0) & (log.item[before] >= 0) & (log.item[after] >= 0)
    if gap is not None:
        follow &= times[after] - times[before] <= gap
    if not repeats:
        follow &= log.item[before] != log.item[after]
    return _followed(log, before[follow], after[follow])


def from_playlists(
    playlists: Iterable[Sequence[Any]], users: Sequence[Any] | None = None, *, repeats: bool = False
) -> Events:
    """The same from lists of items in their order, each by a user where `users` are given, one a list.

    Without users the result has queries and items alone.
    """
    if isinstance(playlists, str | bytes):
        raise TypeError("playlists must be lists of item ids, got text")
    lists = [_checked_list(number, items) for number, items in enumerate(playlists)]
    if users is not None and len(users) != len(lists):
        raise ValueError(f"users must be one for each of {len(lists)} playlists, got {len(users)}")
    items = [item for one in lists for item in one]
    if not items:
        raise ValueError("playlists must have at least one item, got none")
    number = np.repeat(np.arange(len(lists)), [len(one) for one in lists])
    log = consecutive(Events.from_arrays(item=items, user=number), None, repeats=repeats)
    vocabularies = {role: log.vocabulary(role) for role in ("query", "item")}
    if users is None:
        return Events(log.item, vocabularies, query=log.query)
    codes, vocabulary = factorise(users, "user")
    lists_of = log.ids("user").astype(np.int64)
    return Events(log.item, {"user": vocabulary, **vocabularies}, user=codes[lists_of], query=log.query)


def _followed(log: Events, before: npt.NDArray[np.int64], after: npt.NDArray[np.int64]) -> Events:
    """The later events with the earlier items as queries, in the order of the log."""
    order = np.argsort(after, kind="stable")
    before, after = before[order], after[order]
    items = log.vocabulary("item")
    next_ = log.take(after)
    vocabularies = {"user": log.vocabulary("user"), "query": items, "item": items}
    return Events(
        next_.item,
        vocabularies,
        user=next_.user,
        query=log.item[before],
        weight=next_.weight,
        time=next_.time,
    )


def _checked_list(number: int, items: Any) -> list[Any]:
    if isinstance(items, str | bytes) or not hasattr(items, "__iter__"):
        raise TypeError(f"playlist {number} must be a list of item ids, got {items!r}")
    return list(items)


def _nanoseconds(gap: Any) -> int | None:
    """A gap in the unit of a log's times."""
    if gap is None:
        return None
    if isinstance(gap, str):
        seconds = _seconds_of(gap)
    elif isinstance(gap, dt.timedelta):
        seconds = gap.total_seconds()
    elif isinstance(gap, np.timedelta64):
        seconds = float(gap / np.timedelta64(1, "s"))
    elif isinstance(gap, int | float | np.integer | np.floating) and not isinstance(gap, bool):
        seconds = float(gap)
    else:
        raise TypeError(
            "max_gap must be a text such as '1h', seconds, a timedelta or None, "
            f"got the {type(gap).__name__} {gap!r}"
        )
    if not 0 < seconds < 2**63 / NANOSECONDS:
        raise ValueError(f"max_gap must be above 0 and finite, got {gap!r}")
    return round(seconds * NANOSECONDS)


def _seconds_of(text: str) -> float:
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*", text)
    if found is None or found[2] not in _UNITS:
        raise ValueError(
            f"max_gap must be a number and a unit ({', '.join(_UNITS)}) such as '1h' or '90min', got {text!r}"
        )
    return float(found[1]) * _UNITS[found[2]]
