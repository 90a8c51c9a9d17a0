"""CiteULike: who kept which article; the articles' words and citations (Wang, Chen & Li, IJCAI 2013)."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import numpy.typing as npt

from topwise.data import Csr, Events, Features
from topwise.datasets.base import Dataset, find_file

_ORIGIN = "github.com/js05212 (citeulike-a, citeulike-t)"


def citeulike(root: str | Path) -> Dataset:
    """Articles by user, from a local folder of citeulike-a or citeulike-t. The words of articles, where the
    folder has them, are content with the ids of the articles."""
    user, item = _pairs(find_file(root, "users.dat", _ORIGIN))
    features = None
    if any((Path(root) / name).is_file() for name in ("mult.dat", "mult.dat.gz")):
        words = _words(find_file(root, "mult.dat", _ORIGIN))
        features = Features.from_matrix(np.arange(len(words)), words)
    return Dataset(
        log=Events.from_arrays(user=user, item=item),
        description=f"CiteULike ({Path(root).name})",
        item_titles={},
        item_features=features,
    )


def citeulike_citations(root: str | Path) -> Events:
    """Which article cites (query) which (item); the files have every citation in both directions."""
    query, item = _pairs(find_file(root, "citations.dat", _ORIGIN))
    return Events.from_arrays(query=query, item=item)


def _pairs(file: Path) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Line i has a count and then so many numbers: the pairs (i, number)."""
    rows, columns = [], []
    for number, line in enumerate(_lines(file)):
        count, *members = map(int, line.split()) if line.strip() else (0,)
        if count != len(members):
            raise ValueError(f"line {number + 1} of {file} announces {count} numbers, but has {len(members)}")
        rows += [number] * count
        columns += members
    return np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64)


def _words(file: Path) -> Csr:
    """Line i has a count and then so many word:count."""
    rows, columns, values = [], [], []
    lines = _lines(file)
    for number, line in enumerate(lines):
        for entry in line.split()[1:]:
            word, _, times = entry.partition(":")
            if not (word.isdecimal() and times.isdecimal()):
                raise ValueError(f"line {number + 1} of {file} must have entries such as 12:3, got {entry!r}")
            rows.append(number)
            columns.append(int(word))
            values.append(int(times))
    shape = (len(lines), max(columns, default=-1) + 1)
    return Csr.from_coordinates(np.array(rows), np.array(columns), shape, np.array(values, dtype=np.float32))


def _lines(file: Path) -> list[str]:
    data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    return data.decode("ascii", errors="replace").splitlines()
