"""From whatever a caller holds (arrays, lists, frames of any library) to checked numpy columns.

Rows are counted from 0 in every message. Nothing here imports pandas or pyarrow; polars is imported on use.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import polars as pl

Floats: TypeAlias = npt.NDArray[np.float32]
Times: TypeAlias = npt.NDArray[np.int64]

NANOSECONDS = 1_000_000_000
_LATEST_SECOND = np.iinfo(np.int64).max // NANOSECONDS


def comes_from(value: Any, library: str) -> bool:
    """Whether an object's class belongs to a library, which need not be installed to ask."""
    return any(cls.__module__.partition(".")[0] == library for cls in type(value).__mro__)


def is_missing(value: Any) -> bool:
    """None, NaN, NaT and pandas' NA."""
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def plain(values: Any, what: str) -> npt.NDArray[Any] | pl.Series | list[Any]:
    """A column of any library as a numpy array, a polars Series or a list, without looking at its values."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise TypeError(f"{what} must be a sequence with one entry for each event, got {values!r}")
    if comes_from(values, "pandas"):
        return _plain_pandas(values, what)
    if hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
        import polars as pl

        return pl.Series(values)
    if not isinstance(values, np.ndarray):
        return list(values)
    if isinstance(values, np.ma.MaskedArray):
        return list(values.tolist())  # with None for what is masked
    if values.ndim != 1:
        raise ValueError(f"{what} must have one dimension, got {values.ndim}: flatten the array")
    return values


def _plain_pandas(series: Any, what: str) -> npt.NDArray[Any]:
    if not hasattr(series, "dtype"):
        raise TypeError(
            f"{what} must be one column, got a {type(series).__name__}: use from_frame for a frame"
        )
    # Extension types (nullable, categorical, text, Arrow) go by objects, so that pyarrow is not needed.
    if isinstance(series.dtype, np.dtype) and series.dtype.kind in "iufbM":
        return np.asarray(series.to_numpy())
    if hasattr(series.dtype, "tz"):
        return np.asarray(series.to_numpy(dtype="datetime64[ns]"))
    return np.asarray(series.to_numpy(dtype=object, na_value=None))


def as_table(frame: Any) -> Any:
    """A frame that `column_names` and `column` understand: pandas as it is, anything else as polars."""
    import polars as pl

    if comes_from(frame, "pandas") and hasattr(frame, "columns"):
        return frame
    if isinstance(frame, pl.LazyFrame):
        return frame.collect()
    if isinstance(frame, pl.DataFrame):
        return frame
    if not isinstance(frame, pl.Series) and hasattr(frame, "__arrow_c_stream__"):
        return pl.DataFrame(frame)
    raise TypeError(
        "a frame must come from pandas or polars, or have an __arrow_c_stream__, "
        f"got {type(frame).__name__}: use from_arrays for separate columns"
    )


def column_names(table: Any) -> list[Any]:
    """The names of the columns of an `as_table`."""
    return list(table.columns)


def column(table: Any, name: Hashable) -> Any:
    """One column of an `as_table`, or a ValueError that lists the columns there are."""
    names = column_names(table)
    check_column(name, names)
    if names.count(name) > 1:
        raise ValueError(f"the frame has {names.count(name)} columns named {name!r}: rename all but one")
    return table[name]


def check_column(name: Hashable, names: list[Any]) -> None:
    """Raise a ValueError that lists the columns there are when `name` is not one of them."""
    if name not in names:
        raise ValueError(f"there is no column {name!r}; the columns are {', '.join(map(repr, names))}")


def first_row(mask: npt.NDArray[np.bool_]) -> int | None:
    """The first row for which the mask is set."""
    return int(np.argmax(mask)) if mask.any() else None


# --- weights ----------------------------------------------------------------------------------------------


def as_weights(values: Any) -> Floats:
    """Event weights as float32, finite and at least 0. An event of weight 0 is known, not learned from."""
    numbers = _as_numbers(plain(values, "weight"), "weight")
    with np.errstate(over="ignore"):
        weights = numbers.astype(np.float32)
    row = first_row(~(np.isfinite(weights) & (weights >= 0)))
    if row is not None:
        raise ValueError(
            f"weight must be finite and at least 0, got {numbers[row]} in row {row}: "
            "leave such events out, or give them a weight"
        )
    return weights


def _as_numbers(values: npt.NDArray[Any] | pl.Series | list[Any], what: str) -> npt.NDArray[np.float64]:
    if isinstance(values, np.ndarray) and values.dtype.kind in "iufb":
        return values.astype(np.float64)
    entries = values.tolist() if isinstance(values, np.ndarray) else values
    if not isinstance(entries, list):
        return _numbers_of_series(entries, what)
    try:
        return np.fromiter(entries, dtype=np.float64, count=len(entries))
    except (TypeError, ValueError, OverflowError):
        numbers = np.empty(len(entries))
        for row, entry in enumerate(entries):
            numbers[row] = math.nan if is_missing(entry) else _number(entry, what, row)
        return numbers


def _number(value: Any, what: str, row: int) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{what} must be a number, got {value!r} in row {row}") from None


def _numbers_of_series(series: pl.Series, what: str) -> npt.NDArray[np.float64]:
    import polars as pl

    if not (series.dtype.is_numeric() or series.dtype in (pl.String, pl.Boolean, pl.Null)):
        raise TypeError(f"{what} must be numbers, got a column of {series.dtype}")
    text = series.str.strip_chars() if series.dtype == pl.String else series
    numbers = text.cast(pl.Float64, strict=False)
    row = first_row((numbers.is_null() & series.is_not_null()).to_numpy())
    if row is not None:
        raise ValueError(f"{what} must be a number, got {series[row]!r} in row {row}")
    return np.asarray(numbers.fill_null(math.nan).to_numpy())


# --- times ------------------------------------------------------------------------------------------------


def as_times(values: Any) -> Times:
    """Moments as nanoseconds since 1970-01-01 UTC.

    Numbers are unix seconds; text is ISO 8601; what carries no time zone is UTC; a date is its first moment.
    """
    import polars as pl

    column = plain(values, "time")
    if not isinstance(column, np.ndarray) and not isinstance(column, pl.Series):
        column = _times_of_objects(column)
    elif isinstance(column, np.ndarray) and column.dtype.kind not in "iufM":
        column = _times_of_objects(column.tolist())
    if isinstance(column, pl.Series):
        column = _times_of_series(column)
    return _times_of_array(column)


def _times_of_objects(values: list[Any]) -> npt.NDArray[Any] | pl.Series:
    import polars as pl

    _refuse_missing_time(np.fromiter(map(is_missing, values), dtype=bool, count=len(values)))
    if all(isinstance(value, str) for value in values):
        return pl.Series(values, dtype=pl.String)
    if all(isinstance(value, np.datetime64) for value in values):
        return np.array(values)
    if all(isinstance(value, dt.date) for value in values):
        return np.array([_naive_utc(value) for value in values], dtype="datetime64[us]")
    if all(isinstance(value, int | float | np.integer | np.floating) for value in values):
        return np.array(values)
    kinds = sorted({type(value).__name__ for value in values})
    raise TypeError(
        "time must be datetimes, dates, unix seconds or ISO text, and all of one kind, "
        f"got {', '.join(kinds)}: convert them to one kind"
    )


def _naive_utc(value: dt.date) -> dt.date:
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC).replace(tzinfo=None)
    return value


def _times_of_series(series: pl.Series) -> npt.NDArray[Any]:
    import polars as pl

    _refuse_missing_time(series.is_null().to_numpy())
    if series.dtype == pl.String:
        return _times_of_text(series.str.strip_chars())
    if isinstance(series.dtype, pl.Datetime):
        # The physical value of a time zone's moment is UTC already.
        return np.asarray(series.to_physical().to_numpy()).view(f"datetime64[{series.dtype.time_unit}]")
    if series.dtype == pl.Date:
        return np.asarray(series.to_physical().to_numpy()).astype(np.int64).view("datetime64[D]")
    if series.dtype.is_numeric():
        return np.asarray(series.to_numpy())
    if series.dtype == pl.Null:
        return np.empty(0, dtype=np.int64)
    raise TypeError(
        f"time must be datetimes, dates, unix seconds or ISO text, got a column of {series.dtype}"
    )


def _times_of_text(text: pl.Series) -> npt.NDArray[Any]:
    import polars as pl

    for number in (pl.Int64, pl.Float64):
        seconds = text.cast(number, strict=False)
        if not seconds.has_nulls():
            return np.asarray(seconds.to_numpy())
    # All are brought to one form, which polars wants: a date gets a time, a time gets seconds and a zone.
    stamps = text.str.replace(" ", "T", n=1, literal=True).str.replace(r"^(\d{4}-\d\d-\d\d)$", "${1}T00:00")
    stamps = stamps.str.replace(r"(T\d\d:\d\d)($|Z|[+-])", "${1}:00${2}")
    stamps = stamps.str.replace(r"(T[\d:.]+)$", "${1}Z")
    # Microseconds, because parsing to nanoseconds wraps around silently outside of the years 1678 to 2262.
    moments = stamps.str.to_datetime("%+", time_unit="us", time_zone="UTC", strict=False)
    row = first_row(moments.is_null().to_numpy())
    if row is not None:
        raise ValueError(
            f"time must be unix seconds or ISO 8601 text such as 2009-05-04T23:08:57Z, "
            f"got {text[row]!r} in row {row}"
        )
    return np.asarray(moments.to_physical().to_numpy()).view("datetime64[us]")


def _times_of_array(values: npt.NDArray[Any]) -> Times:
    if values.dtype.kind == "M":
        _refuse_missing_time(np.isnat(values))
        seconds = values.astype("datetime64[s]").astype(np.int64)
        _refuse_far_times(np.abs(seconds) >= _LATEST_SECOND, values, "")
        return values.astype("datetime64[ns]").view(np.int64)
    if values.dtype.kind == "f":
        _refuse_missing_time(np.isnan(values))
    # The comparison is made in floats, where the magnitude of the smallest int64 is no overflow.
    too_far = ~(np.abs(values.astype(np.float64)) < _LATEST_SECOND)
    _refuse_far_times(too_far, values, " as unix seconds: divide milliseconds by 1000")
    if values.dtype.kind != "f":
        return values.astype(np.int64) * NANOSECONDS
    whole = np.floor(values)
    nanoseconds: Times = whole.astype(np.int64) * NANOSECONDS
    nanoseconds += np.rint((values - whole) * NANOSECONDS).astype(np.int64)
    return nanoseconds


def _refuse_missing_time(missing: npt.NDArray[np.bool_]) -> None:
    row = first_row(missing)
    if row is not None:
        raise ValueError(f"time is missing in row {row}: leave such events out, or give all of them a time")


def _refuse_far_times(too_far: npt.NDArray[np.bool_], values: npt.NDArray[Any], remedy: str) -> None:
    row = first_row(too_far)
    if row is not None:
        raise ValueError(
            f"time must be between the years 1678 and 2262, got {values[row]} in row {row}{remedy}"
        )
