"""Sparse rows: which columns, and with which values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False, repr=False)
class Csr:
    """A sparse matrix by rows. Within a row the columns are sorted and unique; no `values` means a set."""

    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]
    n_cols: int
    values: npt.NDArray[np.float32] | None = None

    def __post_init__(self) -> None:
        # Kernels trust these arrays, so nothing that reaches them may point outside.
        _check_type("indptr", self.indptr, np.int64)
        _check_type("indices", self.indices, np.int32)
        lengths = np.diff(self.indptr)
        if len(self.indptr) == 0 or self.indptr[0] != 0 or self.indptr[-1] != self.nnz or (lengths < 0).any():
            raise ValueError(f"indptr must rise from 0 to the number of entries, {self.nnz}")
        if self.nnz and not (self.indices.min() >= 0 and self.indices.max() < self.n_cols):
            raise ValueError(f"indices must be between 0 and n_cols - 1 = {self.n_cols - 1}")
        rises = np.diff(self.indices) > 0
        rises[self.indptr[1:-1][(self.indptr[1:-1] > 0) & (self.indptr[1:-1] < self.nnz)] - 1] = True
        if not rises.all():
            raise ValueError("within a row the indices must be sorted and unique: use Csr.from_coordinates")
        if self.values is not None:
            _check_type("values", self.values, np.float32)
            if len(self.values) != self.nnz:
                raise ValueError(
                    f"values must have one entry for each of {self.nnz} indices, got {len(self.values)}"
                )

    @classmethod
    def from_coordinates(
        cls,
        rows: npt.NDArray[Any],
        columns: npt.NDArray[Any],
        shape: tuple[int, int],
        values: npt.NDArray[Any] | None = None,
    ) -> Csr:
        """A matrix from (row, column) pairs in any order. Values of a repeated pair are added up."""
        n_rows, n_cols = shape
        keys = rows.astype(np.int64) * max(n_cols, 1)
        keys += columns
        if values is not None:
            order = np.argsort(keys, kind="stable")
            keys = keys[order]
        else:
            keys.sort()
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        row_of, indices = np.divmod(keys[starts], max(n_cols, 1))
        indptr = _indptr(np.bincount(row_of, minlength=n_rows))
        summed = None if values is None else _sums(values[order], starts)
        return cls(indptr, indices.astype(np.int32), n_cols, summed)

    @classmethod
    def from_dense(cls, array: npt.NDArray[Any]) -> Csr:
        """The entries of a two-dimensional array that are not 0."""
        rows, columns = np.nonzero(array)
        return cls.from_coordinates(rows, columns, (array.shape[0], array.shape[1]), array[rows, columns])

    @classmethod
    def from_scipy(cls, matrix: Any) -> Csr:
        """The entries of any scipy sparse matrix or array that are not 0."""
        coo = matrix.tocoo()
        stored = coo.data != 0
        return cls.from_coordinates(coo.row[stored], coo.col[stored], coo.shape, coo.data[stored])

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.indptr) - 1, self.n_cols

    @property
    def nnz(self) -> int:
        """How many entries are stored."""
        return len(self.indices)

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def row(self, row: int) -> npt.NDArray[np.int32]:
        """The columns of one row."""
        return self.indices[self.indptr[row] : self.indptr[row + 1]]

    def lengths(self) -> npt.NDArray[np.int64]:
        """How many entries each row has."""
        return np.diff(self.indptr)

    def row_of_entries(self) -> npt.NDArray[np.int64]:
        """The row of every stored entry."""
        return np.repeat(np.arange(len(self)), self.lengths())

    def take(self, rows: npt.ArrayLike) -> Csr:
        """The chosen rows in the given order; -1 stands for an empty row."""
        chosen = np.asarray(rows, dtype=np.int64)
        lengths = np.zeros(len(chosen), dtype=np.int64)
        known = chosen >= 0
        lengths[known] = self.lengths()[chosen[known]]
        indptr = _indptr(lengths)
        starts = np.zeros(len(chosen), dtype=np.int64)
        starts[known] = self.indptr[chosen[known]]
        entries = np.arange(indptr[-1]) + np.repeat(starts - indptr[:-1], lengths)
        values = None if self.values is None else self.values[entries]
        return Csr(indptr, self.indices[entries], self.n_cols, values)

    def to_dense(self) -> npt.NDArray[np.float32]:
        """The matrix in full, with ones where there are no values."""
        dense = np.zeros(self.shape, dtype=np.float32)
        dense[self.row_of_entries(), self.indices] = 1.0 if self.values is None else self.values
        return dense

    def to_scipy(self) -> Any:
        """The same matrix as a scipy csr_array, with ones where there are no values."""
        from scipy.sparse import csr_array

        values = np.ones(self.nnz, dtype=np.float32) if self.values is None else self.values
        return csr_array((values, self.indices, self.indptr), shape=self.shape)

    def __repr__(self) -> str:
        kind = "a set" if self.values is None else "with values"
        return f"Csr({len(self):,} × {self.n_cols:,}, {self.nnz:,} entries, {kind})"


def _check_type(name: str, array: Any, dtype: type[np.generic]) -> None:
    if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
        kind = f"{array.dtype}" if isinstance(array, np.ndarray) else type(array).__name__
        raise TypeError(f"{name} must be a one-dimensional array of {dtype.__name__}, got {kind}")


def _sums(values: npt.NDArray[Any], starts: npt.NDArray[np.intp]) -> npt.NDArray[np.float32]:
    """The sums of the stretches of values that begin at the starts."""
    if len(starts) == 0:
        return np.empty(0, dtype=np.float32)
    with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite, for the caller to refuse
        sums: npt.NDArray[np.float32] = np.add.reduceat(values, starts, dtype=np.float64).astype(np.float32)
    return sums


def _indptr(lengths: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    indptr = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=indptr[1:])
    return indptr
