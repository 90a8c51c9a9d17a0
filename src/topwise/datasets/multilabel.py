"""Examples with features and several labels each: what Wsabie learns from."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from topwise.data import Csr
from topwise.datasets.base import existing, read_lines

_ORIGIN_XC = "manikvarma.org/downloads/XC/XMLRepository.html (Extreme Classification Repository)"
_ORIGIN_MULAN = "mulan.sourceforge.net/datasets-mlc.html"

# An example as it is written: where it stands, its labels ("1,5"), and its features ("3:0.5 7:1").
Example: TypeAlias = tuple[int, str, str]


def multilabel(path: str | Path) -> tuple[Csr, Csr]:
    """Features X (with values) and labels Y of a file whose first line is `rows features labels`.

    Every other line is `l1,l2,... f:v f:v ...`, numbers from 0; one without labels begins with a space.
    This is the format of the Extreme Classification Repository (eurlex-4k).
    """
    file = existing(path, _ORIGIN_XC)
    lines = read_lines(file)
    header = lines[0].split() if lines else []
    if len(header) != 3 or not all(part.isdigit() for part in header):
        raise ValueError(f"the first line of {file} must be 'rows features labels', got {' '.join(header)!r}")
    n_rows, n_features, n_labels = map(int, header)
    examples = list(_svmlight_examples(lines))
    if len(examples) != n_rows:
        raise ValueError(f"{file} announces {n_rows} rows in its first line, but has {len(examples)}")
    return _features(examples, n_features, file), _labels(examples, n_labels, file)


def mulan_arff(path: str | Path, labels: int) -> tuple[Csr, Csr]:
    """Features X (with values) and labels Y of an ARFF file of the Mulan collection, sparse or dense.

    The labels are the last attributes; how many they are is not in the file, so it is to be given.
    """
    file = existing(path, _ORIGIN_MULAN)
    lines = read_lines(file)
    start = next((number for number, line in enumerate(lines) if line.strip().lower() == "@data"), None)
    if start is None:
        raise ValueError(f"{file} is not an ARFF file: it has no line @data")
    n_attributes = sum(line.lower().startswith("@attribute") for line in lines[:start])
    if not 0 < labels < n_attributes:
        raise ValueError(
            f"labels must be between 1 and {n_attributes - 1}, the attributes less one, got {labels}"
        )
    everything = _features(list(_arff_examples(lines, start + 1, n_attributes, file)), n_attributes, file)
    n_features = n_attributes - labels
    values = everything.values if everything.values is not None else np.empty(0)
    rows, columns, is_set = everything.row_of_entries(), everything.indices, values != 0
    in_x, in_y = is_set & (columns < n_features), is_set & (columns >= n_features)
    x = Csr.from_coordinates(rows[in_x], columns[in_x], (len(everything), n_features), values[in_x])
    y = Csr.from_coordinates(rows[in_y], columns[in_y] - n_features, (len(everything), labels))
    return x, y


def _svmlight_examples(lines: list[str]) -> Iterator[Example]:
    for number, line in enumerate(lines[1:], start=2):
        if not line:
            continue
        labels, _, features = line.partition(" ")
        # Some writers leave out the space that stands for no labels.
        yield (number, "", line) if ":" in labels else (number, labels, features)


def _arff_examples(lines: list[str], start: int, width: int, file: Path) -> Iterator[Example]:
    for number, line in enumerate(lines[start:], start=start + 1):
        row = line.strip()
        if not row or row.startswith("%"):
            continue
        if row.startswith("{") and row.endswith("}"):
            entries = row[1:-1].split(",")
            yield number, "", " ".join(":".join(entry.split()) for entry in entries)
        elif row.count(",") == width - 1:
            yield number, "", " ".join(f"{at}:{value.strip()}" for at, value in enumerate(row.split(",")))
        else:
            raise ValueError(
                f"line {number} of {file} must be a sparse row such as {{3 1,7 1}} or have {width} values "
                f"between commas, got {row[:40]!r}"
            )


def _features(examples: list[Example], n_features: int, file: Path) -> Csr:
    lengths = [features.count(":") for _, _, features in examples]
    numbers = _numbers((features.replace(":", " ") for _, _, features in examples), 2 * sum(lengths))
    if numbers is None:
        pairs = r"\s*(\d+:[-+]?[\d.]+([eE][-+]?\d+)?(\s+|$))*"
        raise ValueError(_fault(examples, file, pairs, 2, "feature:value pairs"))
    columns, values = numbers[::2], numbers[1::2]
    rows = np.repeat(np.arange(len(examples)), lengths)
    _check_bounds(columns, rows, n_features, "feature", examples, file)
    return Csr.from_coordinates(rows, columns.astype(np.int64), (len(examples), n_features), values)


def _labels(examples: list[Example], n_labels: int, file: Path) -> Csr:
    lengths = [labels.count(",") + 1 if labels else 0 for _, labels, _ in examples]
    numbers = _numbers((labels.replace(",", " ") for _, labels, _ in examples), sum(lengths))
    if numbers is None:
        raise ValueError(_fault(examples, file, r"(\d+(,\d+)*)?", 1, "labels such as 3,17"))
    rows = np.repeat(np.arange(len(examples)), lengths)
    _check_bounds(numbers, rows, n_labels, "label", examples, file)
    return Csr.from_coordinates(rows, numbers.astype(np.int64), (len(examples), n_labels))


def _numbers(parts: Iterable[str], count: int) -> npt.NDArray[np.float64] | None:
    """All numbers in order, or None when they are not as many as they should be, or not all finite."""
    # Twice as fast as splitting the text; what it cannot read is a warning, or an error in newer numpy.
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        try:
            numbers = np.fromstring(" ".join(parts).strip(), sep=" ")
        except (ValueError, DeprecationWarning):
            return None
    return numbers if len(numbers) == count and np.isfinite(numbers).all() else None


def _fault(examples: list[Example], file: Path, pattern: str, part: int, expected: str) -> str:
    written = re.compile(pattern)
    for example in examples:
        if not written.fullmatch(str(example[part])):
            return f"line {example[0]} of {file} must have {expected}, got {str(example[part])[:60]!r}"
    return f"{file} must have {expected}, all of them finite numbers"


def _check_bounds(
    numbers: npt.NDArray[np.float64],
    rows: npt.NDArray[np.int64],
    bound: int,
    what: str,
    examples: list[Example],
    file: Path,
) -> None:
    bad = (numbers < 0) | (numbers >= bound) | (numbers != np.floor(numbers))
    if bad.any():
        entry = int(np.argmax(bad))
        line = examples[rows[entry]][0]
        raise ValueError(
            f"a {what} in line {line} of {file} must be between 0 and {bound - 1}, got {numbers[entry]:g}"
        )
