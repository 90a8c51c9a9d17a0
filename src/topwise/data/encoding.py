"""From the columns of a frame to numbers, by a plan that is plain JSON data and can be kept in a model file.

A plan is `{"columns": [...]}` with one entry for each column of the frame:

- `{"column", "kind": "numeric", "mean", "scale"}`: a standardised column; a missing value becomes 0;
- `{"column", "kind": "category", "values"}`: an indicator for each value; missing and unknown ones have none;
- `{"column", "kind": "list", "values"}`: as category with several values, each of weight 1/√(how many).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from topwise.data.columns import as_table, column, comes_from, first_row, plain
from topwise.data.csr import Csr

if TYPE_CHECKING:
    import polars as pl

Plan: TypeAlias = dict[str, Any]
# Rows, columns and values of what one column of the frame turns into.
Entries: TypeAlias = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]


def make_plan(frame: Any, names: list[Any]) -> Plan:
    """Learn from a frame how its columns are to be encoded."""
    table = as_table(frame)
    return {"columns": [_column_plan(name, _series(table, name)) for name in names]}


def plan_names(plan: Plan) -> list[str]:
    """The names of the encoded columns: "age", "genre=rock"."""
    return [name for step in plan["columns"] for name in _step_names(step)]


def encode_frame(plan: Plan, frame: Any) -> Csr:
    """The rows of a frame with the plan's columns, encoded by what was learned when the plan was made."""
    table = as_table(frame)
    shape = (len(table), len(plan_names(plan)))
    nothing: Entries = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    encoded = [nothing, *_encoded(plan, table)]
    rows, columns, values = (np.concatenate(part) for part in zip(*encoded, strict=True))
    return Csr.from_coordinates(rows, columns, shape, values)


def _encoded(plan: Plan, table: Any) -> Iterator[Entries]:
    first = 0
    for step in plan["columns"]:
        series = _series(table, step["column"])
        rows, columns, values = _ENCODERS[step["kind"]](step, series)
        yield rows, columns + first, values
        first += len(_step_names(step))


def _series(table: Any, name: Any) -> pl.Series:
    """A column as polars, where pandas' NaN means missing as it does in pandas."""
    import polars as pl

    values = plain(column(table, name), str(name))
    if isinstance(values, pl.Series):
        return values
    if isinstance(values, np.ndarray) and values.dtype == object:
        # As lists, because polars takes an array of arrays for opaque objects.
        values = [value.tolist() if isinstance(value, np.ndarray) else value for value in values]
    try:
        return pl.Series(values, nan_to_null=comes_from(table, "pandas"))
    except TypeError:
        raise TypeError(
            f"column {name!r} mixes several types: convert it to one, for example to text"
        ) from None


def _column_plan(name: Any, series: pl.Series) -> dict[str, Any]:
    import polars as pl

    if not isinstance(name, str):
        raise TypeError(f"feature columns must be named by text, got {name!r}: rename it")
    if series.dtype.is_numeric():
        return _numeric_plan(name, series)
    if isinstance(series.dtype, pl.List | pl.Array):
        return {"column": name, "kind": "list", "values": _distinct(series.explode(), name)}
    return {"column": name, "kind": "category", "values": _distinct(series, name)}


def _numeric_plan(name: str, series: pl.Series) -> dict[str, Any]:
    numbers = _finite(name, series)
    known = numbers[~np.isnan(numbers)]
    mean = float(known.mean()) if len(known) else 0.0
    deviation = float(known.std()) if len(known) else 0.0
    # A constant column says nothing: it stays at 0 without a division by 0.
    return {"column": name, "kind": "numeric", "mean": mean, "scale": deviation if deviation > 0 else 1.0}


def _distinct(series: pl.Series, name: str) -> list[str]:
    return _as_text(name, series).drop_nulls().unique().sort().to_list()


def _step_names(step: dict[str, Any]) -> list[str]:
    name = step["column"]
    return [name] if step["kind"] == "numeric" else [f"{name}={value}" for value in step["values"]]


def _as_text(name: str, series: pl.Series) -> pl.Series:
    import polars as pl

    textual = series.dtype in (pl.String, pl.Categorical, pl.Enum, pl.Boolean, pl.Null)
    if not textual and not series.dtype.is_integer():
        raise TypeError(
            f"column {name!r} of type {series.dtype} cannot become features: "
            "make it numbers, text or lists of text, or leave it out by columns="
        )
    return series.cast(pl.String)


def _finite(name: str, series: pl.Series) -> npt.NDArray[np.float64]:
    """The numbers of a column, NaN where they are missing."""
    import polars as pl

    if not (series.dtype.is_numeric() or series.dtype == pl.Null):
        raise TypeError(f"column {name!r} was numeric when the features were made, got {series.dtype}")
    numbers = series.cast(pl.Float64)
    row = first_row((~numbers.is_finite()).fill_null(False).to_numpy())
    if row is not None:
        raise ValueError(
            f"column {name!r} must be finite, got {series[row]} in row {row}: use null where unknown"
        )
    return np.asarray(numbers.fill_null(math.nan).to_numpy())


def _encode_numeric(step: dict[str, Any], series: pl.Series) -> Entries:
    standard = (_finite(step["column"], series) - step["mean"]) / step["scale"]
    rows = np.flatnonzero(~np.isnan(standard) & (standard != 0))
    return rows, np.zeros(len(rows), dtype=np.int64), standard[rows]


def _encode_category(step: dict[str, Any], series: pl.Series) -> Entries:
    import polars as pl

    if isinstance(series.dtype, pl.List | pl.Array):
        raise TypeError(
            f"column {step['column']!r} was no list when the features were made, got {series.dtype}"
        )
    codes = _codes(step, series)
    rows = np.flatnonzero(codes >= 0)
    return rows, codes[rows], np.ones(len(rows))


def _encode_list(step: dict[str, Any], series: pl.Series) -> Entries:
    import polars as pl

    if not isinstance(series.dtype, pl.List | pl.Array | pl.Null):
        raise TypeError(
            f"column {step['column']!r} was a list when the features were made, got {series.dtype}"
        )
    numbered = series.to_frame("value").with_row_index("row")
    if series.dtype != pl.Null:
        numbered = numbered.explode("value")
    codes = _codes(step, numbered["value"])
    known = codes >= 0
    rows = numbered["row"].to_numpy()[known].astype(np.int64)
    # A value that stands twice in one list counts once.
    pairs = np.unique(np.stack([rows, codes[known]]), axis=1)
    how_many = np.bincount(pairs[0], minlength=len(series))
    return pairs[0], pairs[1], 1.0 / np.sqrt(how_many[pairs[0]])


def _codes(step: dict[str, Any], series: pl.Series) -> npt.NDArray[np.int64]:
    import polars as pl

    text = _as_text(step["column"], series)
    codes = text.cast(pl.Enum(step["values"]), strict=False).to_physical().cast(pl.Int64).fill_null(-1)
    return np.asarray(codes.to_numpy())


_ENCODERS = {"numeric": _encode_numeric, "category": _encode_category, "list": _encode_list}
