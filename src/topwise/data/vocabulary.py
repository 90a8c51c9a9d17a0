"""Ids of any kind and their codes 0..n-1."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from topwise.data.columns import first_row, is_missing, plain

if TYPE_CHECKING:
    import polars as pl

Ids: TypeAlias = npt.NDArray[Any]
Codes: TypeAlias = npt.NDArray[np.int32]

_INT64 = np.iinfo(np.int64)


class Vocabulary:
    """Distinct ids in the order of their codes.

    Ids are of one kind: ints (`ids` is then an int64 array), text, or other hashables of one type (object
    arrays). Ints and text find each other by their spelling: a vocabulary of ints also finds "42" for 42, and
    one of text finds 42 for "42"; but "042" is another id.
    """

    ids: Ids

    def __init__(self, ids: Any) -> None:
        self.ids = as_ids(ids, "ids")
        if len(self._code_of) != len(self):
            repeated = self._first_repeated()
            raise ValueError(f"the ids of a vocabulary must be distinct, got {repeated!r} more than once")

    @classmethod
    def _of_distinct(cls, ids: Ids) -> Vocabulary:
        vocabulary = cls.__new__(cls)
        vocabulary.ids = ids
        return vocabulary

    def _first_repeated(self) -> Any:
        return next(id_ for code, id_ in enumerate(self.ids.tolist()) if self._code_of[_key(id_)] != code)

    @cached_property
    def _code_of(self) -> dict[Hashable, int]:
        return {_key(id_): code for code, id_ in enumerate(self.ids.tolist())}

    def codes(self, ids: Any) -> npt.NDArray[np.int64]:
        """The codes of some ids, -1 for an unknown one. A single id gives an array of length one."""
        wanted = as_ids([ids] if self._is_single(ids) else ids, "ids").tolist()
        find = self._code_of.get
        return np.fromiter((find(_key(id_), -1) for id_ in wanted), dtype=np.int64, count=len(wanted))

    def _is_single(self, ids: Any) -> bool:
        if isinstance(ids, str | bytes) or not hasattr(ids, "__iter__") or np.ndim(ids) == 0:
            return True
        # A tuple may be an id itself, and is one where the ids are tuples.
        return isinstance(ids, Hashable) and len(self) > 0 and type(ids) is type(self.ids[0])

    def __len__(self) -> int:
        return len(self.ids)

    def __contains__(self, id_: Any) -> bool:
        return bool(self.codes(id_)[0] >= 0)

    def __repr__(self) -> str:
        shown = ", ".join(repr(id_) for id_ in self.ids[:3].tolist())
        return f"Vocabulary({len(self):,} ids: {shown}{', …' if len(self) > 3 else ''})"

    def __getstate__(self) -> dict[str, Any]:
        return {"ids": self.ids}


def _key(id_: Any) -> Hashable:
    if isinstance(id_, int) and not isinstance(id_, bool):
        return str(id_)
    return id_  # type: ignore[no-any-return]


def as_ids(values: Any, what: str) -> Ids:
    """A column of ids as int64, or as objects that are all text or all of one other type.

    Whole floats are taken for ints, since pandas turns ints to floats as soon as one is missing.
    """
    column = _unwrapped(plain(values, what))
    if isinstance(column, list):
        return _from_objects(column, what)
    if column.dtype.kind in "iuf":
        return _from_numbers(column, what)
    if column.dtype.kind in "UT":
        return column.astype(object)
    # numpy's tolist turns datetime64[ns] into plain ints.
    return _from_objects(list(column) if column.dtype.kind in "mM" else column.tolist(), what)


def _unwrapped(column: Ids | pl.Series | list[Any]) -> Ids | list[Any]:
    """A polars column as numbers in numpy, or as a list of anything else."""
    if isinstance(column, np.ndarray | list):
        return column
    if column.dtype.is_numeric() and not column.dtype.is_decimal():
        return column.to_numpy()
    return column.to_list()


def _from_numbers(numbers: Ids, what: str) -> Ids:
    if numbers.dtype.kind == "f":
        return _from_floats(numbers, what)
    if numbers.dtype.kind == "u":
        _check_int64(int(numbers.max(initial=0)), what)
    return numbers.astype(np.int64)


def _from_floats(numbers: Ids, what: str) -> Ids:
    # Beyond 2**53 floats leave out whole numbers, and so make one id of several.
    exact = (numbers == np.floor(numbers)) & (np.abs(numbers) <= 2**53)
    row = first_row(~exact)
    if row is not None:
        _one_id(float(numbers[row]), what, row)
    return numbers.astype(np.int64)


def _check_int64(id_: int, what: str) -> None:
    if not _INT64.min <= id_ <= _INT64.max:
        raise ValueError(f"the {what} id {id_} does not fit 64 bits: convert the ids to text")


def _from_objects(values: list[Any], what: str) -> Ids:
    types = set(map(type, values))
    if not types <= {int} and not types <= {str}:
        values = _unified(values, what)
        types = set(map(type, values))
    if types <= {int}:
        for extreme in (min(values, default=0), max(values, default=0)):
            _check_int64(extreme, what)
        return np.array(values, dtype=np.int64)
    if types <= {str}:
        return np.array(values, dtype=object)
    ids = np.empty(len(values), dtype=object)
    # Filled one by one, because numpy would spread ids that are tuples over a second dimension.
    for row, value in enumerate(values):
        ids[row] = value
    return ids


def _unified(values: list[Any], what: str) -> list[Any]:
    """Ids of several types brought to one, or an error that names the row where that fails."""
    unified = [_one_id(value, what, row) for row, value in enumerate(values)]
    for row, (before, value) in enumerate(pairwise(unified), start=1):
        if type(before) is not type(value):
            raise TypeError(
                f"{what} ids must all be of one kind, got {type(before).__name__} {before!r} (row {row - 1}) "
                f"and {type(value).__name__} {value!r} (row {row}): convert all, maybe to text"
            )
    return unified


def _one_id(value: Any, what: str, row: int) -> Any:
    if not isinstance(value, Hashable):
        raise TypeError(f"the {what} id {value!r} in row {row} cannot be hashed: use text, ints or tuples")
    if is_missing(value):
        raise ValueError(f"the {what} id in row {row} is missing: leave such events out")
    if isinstance(value, str):
        return str.__str__(value)  # a subclass may print itself as something else
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, float | np.floating):
        return _whole(float(value), what, row)
    return value


def _whole(value: float, what: str, row: int) -> int:
    if not value.is_integer():
        raise ValueError(f"the {what} id {value} in row {row} is not whole: convert the ids to ints or text")
    if abs(value) > 2**53:
        raise ValueError(
            f"the {what} id {value} in row {row} is a float too large to be exact: read it as text"
        )
    return int(value)


def factorise(values: Any, what: str) -> tuple[Codes, Vocabulary]:
    """Codes of a column of ids, and its vocabulary in order of first appearance."""
    import polars as pl

    column = plain(values, what)
    series = _text_series(column, what) if isinstance(column, pl.Series) else None
    if series is None:
        ids = as_ids(column, what)
        if ids.dtype == object and not (len(ids) and isinstance(ids[0], str)):
            return _factorise_objects(ids)
        series = _series(ids, what)
    distinct = series.unique(maintain_order=True)
    codes = _positions(series, distinct)
    return codes, Vocabulary._of_distinct(as_ids(distinct, what))


def _text_series(series: pl.Series, what: str) -> pl.Series | None:
    """A polars column of text as it is, so that ten million strings never become Python objects."""
    import polars as pl

    if series.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return None
    row = first_row(series.is_null().to_numpy())
    if row is not None:
        raise ValueError(f"the {what} id in row {row} is missing: leave such events out")
    return series.cast(pl.String)


def _series(ids: Ids, what: str) -> pl.Series:
    import polars as pl

    try:
        return pl.Series(ids, dtype=pl.Int64 if ids.dtype == np.int64 else pl.String)
    except UnicodeEncodeError as error:
        raise ValueError(f"the {what} id {error.object!r} is not valid text: {error.reason}") from None


def _positions(series: pl.Series, distinct: pl.Series) -> Codes:
    import polars as pl

    if series.dtype == pl.String:
        # Of polars' ways to do this, an enumeration is the fastest for text and a join for numbers.
        codes = series.cast(pl.Enum(distinct)).to_physical()
    else:
        numbered = distinct.to_frame("id").with_row_index("code")
        codes = series.to_frame("id").join(numbered, on="id", how="left", maintain_order="left")["code"]
    return codes.to_numpy().astype(np.int32)


def _factorise_objects(ids: Ids) -> tuple[Codes, Vocabulary]:
    code_of: dict[Hashable, int] = {}
    codes = np.fromiter((code_of.setdefault(id_, len(code_of)) for id_ in ids.tolist()), np.int32, len(ids))
    return codes, Vocabulary._of_distinct(_from_objects(list(code_of), "ids"))
