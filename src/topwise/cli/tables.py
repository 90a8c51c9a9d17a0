"""Results as an aligned table, as JSON or as CSV.

Tables are for reading: numbers are rounded, long texts cut to the terminal's width. JSON and CSV are for
programs: nothing is rounded or cut, and what is no number (NaN, infinity) is null or empty.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import shutil
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

import numpy as np

FORMATS = ("table", "json", "csv")
_GAP = "  "
_LEAST_WIDTH = 16


def add_format(parser: argparse.ArgumentParser) -> None:
    """The option for how results are printed."""
    parser.add_argument(
        "--format", choices=FORMATS, default="table", help="of what is printed (default: table)"
    )


def text(value: Any) -> str:
    """A value as it is; nothing for None."""
    return "" if value is None else str(value)


def decimal(value: float | None) -> str:
    """A measurement with four decimals, or two when it is large."""
    if value is None:
        return ""
    return f"{value:.4f}" if abs(value) < 10 else f"{value:,.2f}"


def whole(value: int | None) -> str:
    """A count with its thousands apart."""
    return "" if value is None else f"{value:,}"


@dataclass(frozen=True)
class Column:
    """A column's name in JSON and CSV and, unless `title` says otherwise, its heading in a table."""

    name: str
    show: Callable[[Any], str] = text
    right: bool = False
    title: str | None = None


def print_rows(columns: Sequence[Column], rows: Iterable[Sequence[Any]], form: str, groups: int = 0) -> None:
    """Rows of a result on stdout. Where the first `groups` cells repeat, a table leaves them out."""
    if form == "csv":
        write_csv(sys.stdout, [column.name for column in columns], rows)
    elif form == "json":
        _print_json_rows([column.name for column in columns], rows)
    else:
        for line in table_lines(columns, list(rows), groups):
            print(line)


def print_record(record: Mapping[str, Any], form: str, shown: Sequence[tuple[str, str]] = ()) -> None:
    """One result of several parts on stdout. `shown` are the names and values of its table."""
    if form == "json":
        print(json.dumps(clean(record), indent=2, ensure_ascii=False, allow_nan=False))
    elif form == "csv":
        flat = {name: value for name, value in record.items() if not isinstance(value, list | tuple | dict)}
        write_csv(sys.stdout, list(flat), [list(flat.values())])
    else:
        width = max((_width(name) for name, _ in shown), default=0)
        for name, value in shown:
            print(f"{_padded(name, width)}{_GAP}{value}".rstrip())


# --- JSON and CSV ---------------------------------------------------------------------------------------


def clean(value: Any) -> Any:
    """Plain data for JSON: no NaN, no numpy, and float32 in its own precision."""
    if isinstance(value, Mapping):
        return {str(key): clean(part) for key, part in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [clean(part) for part in value]
    if isinstance(value, np.float32):
        value = float(str(value))
    elif isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _print_json_rows(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    # One object a line, as they come: a list of a million users never stands in memory.
    separator = "["
    for row in rows:
        entry = json.dumps(
            dict(zip(names, map(clean, row), strict=True)), ensure_ascii=False, allow_nan=False
        )
        print(f"{separator}\n  {entry}", end="")
        separator = ","
    print("[]" if separator == "[" else "\n]")


def write_csv(file: TextIO, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A header and rows; nothing stands for None."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([clean(value) for value in row] for row in rows)


# --- tables ---------------------------------------------------------------------------------------------


def table_lines(
    columns: Sequence[Column], rows: Sequence[Sequence[Any]], groups: int = 0, width: int | None = None
) -> Iterator[str]:
    """The lines of an aligned table, in the width of the terminal when there is one."""
    cells = [[column.show(value) for column, value in zip(columns, row, strict=True)] for row in rows]
    repeats = [n > 0 and row[:groups] == cells[n - 1][:groups] for n, row in enumerate(cells)]
    if groups:
        cells = [
            [""] * groups + row[groups:] if again else row for row, again in zip(cells, repeats, strict=True)
        ]
    heads = [column.name.replace("_", " ") if column.title is None else column.title for column in columns]
    widths = [max(map(_width, [head, *parts])) for head, *parts in zip(heads, *cells, strict=True)]
    _fit(widths, columns, terminal_width() if width is None else width)
    for number, line in enumerate([heads, *cells]):
        if groups and number > 1 and not repeats[number - 1]:
            yield ""
        parts = [
            _padded(_cut(cell, wide), wide, column.right)
            for cell, wide, column in zip(line, widths, columns, strict=True)
        ]
        yield _GAP.join(parts).rstrip()
        if number == 0:
            yield _GAP.join("─" * wide for wide in widths)


def terminal_width() -> int | None:
    """The columns of the terminal that stdout is, or None when it is something else."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _fit(widths: list[int], columns: Sequence[Column], width: int | None) -> None:
    """Makes the widest columns of text narrower until a line fits."""
    while width is not None and sum(widths) + len(_GAP) * (len(widths) - 1) > width:
        widest = max(range(len(widths)), key=lambda n: -1 if columns[n].right else widths[n])
        if columns[widest].right or widths[widest] <= _LEAST_WIDTH:
            return
        widths[widest] -= 1


def _width(cell: str) -> int:
    """How many places a text takes in a terminal: two for an ideograph, none for a combining accent."""
    if cell.isascii():
        return len(cell)
    return sum(
        0 if unicodedata.combining(sign) else 2 if unicodedata.east_asian_width(sign) in "WF" else 1
        for sign in cell
    )


def _padded(cell: str, width: int, right: bool = False) -> str:
    spaces = " " * (width - _width(cell))
    return spaces + cell if right else cell + spaces


def _cut(cell: str, width: int) -> str:
    if _width(cell) <= width:
        return cell
    while _width(cell) > width - 1:
        cell = cell[:-1]
    return cell + "…"
