"""The log that every model learns from: who took which item, in answer to what, when."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from topwise.data.columns import Floats, Times, as_table, as_times, as_weights, column, column_names, plain
from topwise.data.csr import Csr
from topwise.data.readers import ColumnKey, Encoding, Source
from topwise.data.vocabulary import Codes, Ids, Vocabulary, factorise

ROLES = ("user", "query", "item")
CONTEXTS = ("user", "query")


@dataclass(frozen=True, eq=False, repr=False)
class Events:
    """A log of events in columns: an item, a user or a query or both, and maybe a weight and a time.

    `user`, `query` and `item` are codes into the vocabularies (None for a role that the log leaves out),
    `weight` is float32, `time` is nanoseconds since 1970 UTC. The order and repetitions of events are kept.
    Make one by `from_arrays`, `from_frame` or `read`; it is not meant to be changed afterwards.
    """

    item: Codes
    vocabularies: Mapping[str, Vocabulary]
    user: Codes | None = None
    query: Codes | None = None
    weight: Floats | None = None
    time: Times | None = None

    # --- making one ---------------------------------------------------------------------------------------

    @classmethod
    def from_arrays(
        cls, item: Any, user: Any = None, query: Any = None, weight: Any = None, time: Any = None
    ) -> Events:
        """A log from columns of equal length: numpy arrays, lists, or columns of pandas, polars or Arrow.

        Ids are ints, text or other hashables, all of one kind within a role. Weights are finite and at least
        0 (0: known, but nothing to learn from). Times are datetimes, dates, unix seconds or ISO 8601 text;
        UTC where they carry no zone.
        """
        given = {"user": user, "query": query, "item": item, "weight": weight, "time": time}
        columns = {name: plain(values, name) for name, values in given.items() if values is not None}
        _check_roles(list(columns))
        _check_lengths({name: len(values) for name, values in columns.items()})
        codes: dict[str, Codes] = {}
        vocabularies: dict[str, Vocabulary] = {}
        for role in ROLES:
            if role in columns:
                codes[role], vocabularies[role] = factorise(columns[role], role)
        return cls(
            vocabularies=vocabularies,
            weight=as_weights(columns["weight"]) if "weight" in columns else None,
            time=as_times(columns["time"]) if "time" in columns else None,
            **codes,
        )

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        item: Hashable = "item",
        user: Hashable | None = None,
        query: Hashable | None = None,
        weight: Hashable | None = None,
        time: Hashable | None = None,
    ) -> Events:
        """A log from columns of a frame: pandas, polars, or anything with the Arrow C stream.

        When neither user nor query is named, columns that are called "user" and "query" are taken.
        """
        table = as_table(frame)
        keys = _column_keys(column_names(table), user=user, query=query, item=item, weight=weight, time=time)
        return cls.from_arrays(**{name: column(table, key) for name, key in keys.items()})

    @classmethod
    def read(
        cls,
        path: str | Path,
        user: ColumnKey | None = None,
        item: ColumnKey = "item",
        query: ColumnKey | None = None,
        weight: ColumnKey | None = None,
        time: ColumnKey | None = None,
        *,
        separator: str | None = None,
        header: bool = True,
        encoding: Encoding = "utf8",
    ) -> Events:
        """A log from a csv, tsv or parquet file (.gz too), its columns given by name or by position from 0.

        The separator follows from the file's ending, or is given, and may have several characters. When
        neither user nor query is named, columns that are called "user" and "query" are taken. Ids of text
        files stay text: "007" is not 7.
        """
        source = Source(path, separator=separator, header=header, encoding=encoding)
        names = source.names() or []
        keys = _column_keys(list(names), user=user, query=query, item=item, weight=weight, time=time)
        return cls.from_arrays(**source.read(keys))

    # --- looking at it ------------------------------------------------------------------------------------

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that this log has, in the order user, query, item."""
        return tuple(role for role in ROLES if role in self.vocabularies)

    def codes(self, role: str) -> Codes:
        """Every event's code in the vocabulary of a role."""
        self._check_role(role)
        codes: Codes = getattr(self, role)
        return codes

    def vocabulary(self, role: str) -> Vocabulary:
        """The ids of a role in order of their codes. Parts of one log share it."""
        self._check_role(role)
        return self.vocabularies[role]

    def n(self, role: str) -> int:
        """The size of a role's vocabulary."""
        return len(self.vocabulary(role))

    def ids(self, role: str) -> Ids:
        """Every event's own id, as it was given."""
        codes = self.codes(role)
        unknown = int(np.count_nonzero(codes < 0))
        if unknown:
            raise ValueError(
                f"{unknown} events have a {role} outside of the vocabulary: take the others first, "
                f"by log.take(log.{role} >= 0)"
            )
        return self.vocabulary(role).ids[codes]

    def __len__(self) -> int:
        return len(self.item)

    @property
    def nbytes(self) -> int:
        """Bytes taken by the columns, without the vocabularies."""
        columns = (self.user, self.query, self.item, self.weight, self.time)
        return sum(column.nbytes for column in columns if column is not None)

    def __repr__(self) -> str:
        parts = [f"{self.n(role):,} {_plural(role, self.n(role))}" for role in self.roles]
        if self.weight is not None and len(self):
            parts.append(f"weight {self.weight.min():g} to {self.weight.max():g}")
        if self.time is not None and len(self):
            first, last = self.time.min(), self.time.max()
            days = np.array([first, last]).astype("datetime64[ns]").astype("datetime64[D]")
            parts.append(f"time {days[0]} to {days[1]}")
        return f"Events({len(self):,} events: {', '.join(parts)})"

    # --- making others from it ----------------------------------------------------------------------------

    def take(self, index_or_mask: npt.ArrayLike) -> Events:
        """Some of the events, by a mask or by their numbers. The vocabularies stay the same, and shared."""
        chosen = _checked_index(np.asarray(index_or_mask), len(self))
        names = ("user", "query", "item", "weight", "time")
        columns = {name: getattr(self, name) for name in names}
        return replace(self, **{name: c[chosen] for name, c in columns.items() if c is not None})

    def recode(self, vocabularies: Mapping[str, Vocabulary]) -> Events:
        """The same events in codes of other vocabularies, -1 where an id is not in them."""
        changed: dict[str, Any] = {}
        for role, vocabulary in vocabularies.items():
            old = self.codes(role)
            # The last entry answers for -1, the code of what this log's own vocabulary did not know either.
            new_code = np.append(vocabulary.codes(self.vocabulary(role).ids), -1).astype(np.int32)
            changed[role] = new_code[old]
        return replace(self, vocabularies={**self.vocabularies, **vocabularies}, **changed)

    def matrix(self, context: str | None = None) -> Csr:
        """The known positives: for each user (or query) the set of items, whatever their weight.

        Without an argument the rows are users, or queries in a log without users. Events with a code of -1
        are left out.
        """
        role = context if context is not None else self.context_role
        if role not in CONTEXTS:
            raise ValueError(f"context must be 'user' or 'query', got {role!r}")
        rows, columns = self.codes(role), self.item
        known = (rows >= 0) & (columns >= 0)
        if not known.all():
            rows, columns = rows[known], columns[known]
        return Csr.from_coordinates(rows, columns, (self.n(role), self.n("item")))

    @property
    def context_role(self) -> str:
        """The role that stands for the context where only one is wanted: user, or query without users."""
        return self.roles[0]

    def _check_role(self, role: str) -> None:
        if role not in self.vocabularies:
            raise ValueError(f"this log has no role {role!r}: it has {', '.join(map(repr, self.roles))}")


def _plural(role: str, count: int) -> str:
    if count == 1:
        return role
    return "queries" if role == "query" else f"{role}s"


def _check_roles(given: list[str], columns: Sequence[Any] = ()) -> None:
    listed = f"; the columns are {', '.join(map(repr, columns))}" if columns else ""
    if "item" not in given:
        raise ValueError(f"a log needs items: pass item={listed}")
    if "user" not in given and "query" not in given:
        raise ValueError(f"a log needs a user or a query beside the item: pass user= or query={listed}")


def _check_lengths(lengths: Mapping[str, int]) -> None:
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise ValueError(f"the columns must have one entry for each event, but their lengths are {listed}")


def _column_keys(names: list[Any], **keys: Any) -> dict[str, Any]:
    given = {name: key for name, key in keys.items() if key is not None}
    if "user" not in given and "query" not in given:
        given |= {role: role for role in CONTEXTS if role in names}
    _check_roles(list(given), names)
    return given


def _checked_index(index: npt.NDArray[Any], length: int) -> npt.NDArray[Any]:
    if index.size == 0:
        index = index.astype(bool if index.dtype == bool else np.int64)
    if index.ndim != 1 or index.dtype.kind not in "biu":
        raise TypeError(f"events are taken by a mask or by whole numbers, got an array of {index.dtype}")
    if index.dtype == bool:
        if len(index) != length:
            raise ValueError(f"the mask must have one entry for each of {length} events, got {len(index)}")
    elif index.size and not (-length <= int(index.min()) and int(index.max()) < length):
        raise ValueError(f"event numbers must be below {length}, got {index.min()} to {index.max()}")
    return index
