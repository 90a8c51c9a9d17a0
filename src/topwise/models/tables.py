"""Rows of parameters as the kernel wants them: padded to 16 columns and aligned to pages."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float32]

_LANES = 16
_PAGE = 4096


def padded(columns: int) -> int:
    """The number of columns that a row takes in memory."""
    return -(-columns // _LANES) * _LANES


def empty_rows(count: int, columns: int) -> Floats:
    """Zeros in rows that begin at multiples of 64 bytes, the first one at the beginning of a page."""
    stride = padded(columns)
    raw = np.zeros(count * stride + _PAGE // 4, dtype=np.float32)
    start = (-raw.ctypes.data % _PAGE) // raw.itemsize
    return raw[start : start + count * stride].reshape(count, stride)


def random_rows(count: int, dim: int, columns: int, scale: float, rng: np.random.Generator) -> Floats:
    """Rows of small normal numbers in the first `dim` columns."""
    rows = empty_rows(count, columns)
    step = 65536  # bounds the memory of the doubles that numpy draws
    for start in range(0, count, step):
        part = rows[start : start + step]
        part[:, :dim] = rng.standard_normal((len(part), dim), dtype=np.float32) * np.float32(scale)
    return rows


def aligned(rows: npt.NDArray[Any], columns: int) -> Floats:
    """A copy of rows without padding, padded and aligned."""
    to = empty_rows(len(rows), columns)
    to[:, : rows.shape[1]] = rows
    return to
