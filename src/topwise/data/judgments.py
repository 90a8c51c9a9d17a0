"""What rankers learn from: for each query some rows of features, and how relevant each row is."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from topwise.data.columns import as_table, check_column, column, column_names, comes_from, first_row, plain
from topwise.data.csr import Csr
from topwise.data.vocabulary import Ids, as_ids, factorise

Floats: TypeAlias = npt.NDArray[np.float32]
Integers: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Judgments:
    """Judged rows, query after query: features, and a grade of relevance, 0 for irrelevant.

    The rows of query i are `indptr[i]:indptr[i + 1]`, its id is `qids[i]`. `features` are a C-contiguous
    float32 array, or a `Csr`; `dense()` gives the array of either. A query may have a single row, or no
    relevant one. Make one by `read_svmlight`, `from_arrays` or `from_frame`; not to be changed afterwards.
    """

    features: Floats | Csr
    labels: Floats
    indptr: Integers
    qids: Ids
    docids: Ids | None = None
    comments: Ids | None = None
    feature_names: list[str] | None = None

    def __post_init__(self) -> None:
        rows = self.features.shape[0]
        if not isinstance(self.features, Csr):
            _check_array("features", self.features, np.float32, 2)
            if not self.features.flags.c_contiguous:
                raise ValueError("features must be C-contiguous: use Judgments.from_arrays")
        _check_array("labels", self.labels, np.float32, 1)
        _check_array("indptr", self.indptr, np.int64, 1)
        lengths = np.diff(self.indptr)
        if len(self.indptr) == 0 or self.indptr[0] != 0 or self.indptr[-1] != rows or (lengths < 1).any():
            raise ValueError(
                f"indptr must rise from 0 to the number of rows, {rows}, by at least one a query"
            )
        for name, per_row in (("labels", self.labels), ("docids", self.docids), ("comments", self.comments)):
            if per_row is not None and len(per_row) != rows:
                raise ValueError(f"{name} must have one entry for each of {rows} rows, got {len(per_row)}")
        if len(self.qids) != len(lengths):
            raise ValueError(
                f"qids must have one entry for each of {len(lengths)} queries, got {len(self.qids)}"
            )
        if self.feature_names is not None and len(self.feature_names) != self.n_features:
            raise ValueError(
                f"feature_names must have one entry for each of {self.n_features} features, "
                f"got {len(self.feature_names)}"
            )

    # --- making one ---------------------------------------------------------------------------------------

    @classmethod
    def from_arrays(
        cls,
        features: Any,
        labels: Any,
        qids: Any = None,
        groups: Any = None,
        *,
        docids: Any = None,
        comments: Any = None,
        feature_names: Sequence[str] | None = None,
        regroup: bool = False,
    ) -> Judgments:
        """Judgments from a matrix (dense, `Csr` or scipy's), a label a row, and what parts the queries.

        `qids` has the query of each row; or `groups` the number of rows of each query in turn, as LightGBM
        keeps them, and then `qids`, if there are any, one id for each group. The rows of a query must follow
        each other, or are brought together by `regroup=True`, where the query first appears.
        """
        matrix = as_matrix(features)
        grades = as_labels(labels)
        if len(grades) != matrix.shape[0]:
            raise ValueError(
                f"labels must have one entry for each of {matrix.shape[0]} rows, got {len(grades)}"
            )
        order, indptr, ids = _parts(len(grades), qids, groups, regroup)
        names = None if docids is None else as_ids(docids, "docid")
        said = None if comments is None else _texts(comments)
        for what, per_row in (("docids", names), ("comments", said)):
            if per_row is not None and len(per_row) != len(grades):
                raise ValueError(
                    f"{what} must have one entry for each of {len(grades)} rows, got {len(per_row)}"
                )
        if order is not None:
            matrix, grades, names, said = _taken(order, matrix, grades, names, said)
        named = None if feature_names is None else [str(name) for name in feature_names]
        return cls(matrix, grades, indptr, ids, names, said, named)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        label: Hashable = "label",
        query: Hashable = "query",
        features: Sequence[Hashable] | None = None,
        docid: Hashable | None = None,
        *,
        regroup: bool = False,
    ) -> Judgments:
        """Judgments from a frame of pandas, polars or Arrow: all columns that are not named otherwise.

        `features` names the columns in their order; without it they are all but `label`, `query` and `docid`.
        """
        table = as_table(frame)
        names = column_names(table)
        for key in (label, query, *([] if docid is None else [docid])):
            check_column(key, names)
        chosen = [n for n in names if n not in (label, query, docid)] if features is None else list(features)
        if not chosen:
            raise ValueError("judgments need at least one column of features, got none: pass features=")
        matrix = np.empty((len(table), len(chosen)), dtype=np.float32)
        for number, name in enumerate(chosen):
            matrix[:, number] = _numbers(column(table, name), str(name), comes_from(table, "pandas"))
        return cls.from_arrays(
            matrix,
            column(table, label),
            column(table, query),
            docids=None if docid is None else column(table, docid),
            feature_names=[str(name) for name in chosen],
            regroup=regroup,
        )

    @classmethod
    def read_svmlight(
        cls,
        path: str | Path,
        *,
        groups: Any = None,
        n_features: int | None = None,
        sparse: bool | None = None,
        zero_based: bool = False,
        regroup: bool = False,
        threads: int | None = None,
    ) -> Judgments:
        """Judgments from lines `label qid:… feature:value … # comment` (SVMlight, LETOR, MSLR; .gz too).

        Without `qid:`, `groups` has the number of rows of each query, or is a file with one number a line;
        such a file of the same name with the ending .query or .group is found by itself. Features count from
        1, or from 0 with `zero_based=True`; what a line leaves out is 0. `n_features` is the width where the
        file does not show it. `sparse=None` makes a `Csr` of what is large and mostly 0, else an array.
        """
        from topwise.data.svmlight import read_svmlight

        return read_svmlight(path, groups, n_features, sparse, zero_based, regroup, threads)

    def write_svmlight(
        self, path: str | Path, *, zero_based: bool = False, threads: int | None = None
    ) -> None:
        """Writes such lines, compressed if the path ends in .gz; `read_svmlight` reads the same numbers.

        An array is written whole, a `Csr` by its entries.
        """
        from topwise.data.svmlight import write_svmlight

        write_svmlight(self, path, zero_based, threads)

    # --- looking at it ------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def n_queries(self) -> int:
        """How many queries there are."""
        return len(self.qids)

    @property
    def n_features(self) -> int:
        """How many features a row has."""
        return int(self.features.shape[1])

    def rows(self, query: int) -> slice:
        """Where the rows of a query stand, by its number."""
        return slice(int(self.indptr[query]), int(self.indptr[query + 1]))

    def lengths(self) -> Integers:
        """How many rows each query has."""
        return np.diff(self.indptr)

    def query_of_rows(self) -> Integers:
        """The number of the query of each row."""
        return np.repeat(np.arange(self.n_queries), self.lengths())

    def dense(self) -> Floats:
        """The features as an array, which is the one that is held where it is one."""
        return self.features.to_dense() if isinstance(self.features, Csr) else self.features

    # --- parts and changes --------------------------------------------------------------------------------

    def take(self, queries: npt.ArrayLike) -> Judgments:
        """Some queries in the given order, by their numbers or by a mask."""
        index = np.asarray(queries)
        if index.size == 0:
            index = np.empty(0, dtype=np.int64) if index.dtype != bool else index
        if index.ndim != 1 or index.dtype.kind not in "biu":
            raise TypeError(f"queries are taken by a mask or by whole numbers, got an array of {index.dtype}")
        if index.dtype == bool:
            if len(index) != self.n_queries:
                raise ValueError(
                    f"the mask must have one entry for each of {self.n_queries} queries, got {len(index)}"
                )
            index = np.flatnonzero(index)
        outside = index[(index < 0) | (index >= self.n_queries)]
        if len(outside):
            raise ValueError(f"query numbers must be between 0 and {self.n_queries - 1}, got {outside[0]}")
        lengths = self.lengths()[index]
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        rows = np.arange(indptr[-1]) + np.repeat(self.indptr[index] - indptr[:-1], lengths)
        parts = _taken(rows, self.features, self.labels, self.docids, self.comments)
        matrix, labels, docids, comments = parts
        return Judgments(matrix, labels, indptr, self.qids[index], docids, comments, self.feature_names)

    def with_features(self, features: Any, feature_names: Sequence[str] | None = None) -> Judgments:
        """The same judgments of the same rows, with other features."""
        matrix = as_matrix(features)
        if matrix.shape[0] != len(self):
            raise ValueError(f"features must have a row for each of {len(self)} rows, got {matrix.shape[0]}")
        return replace(
            self, features=matrix, feature_names=None if feature_names is None else list(feature_names)
        )

    def __repr__(self) -> str:
        grades = f", labels {self.labels.min():g} to {self.labels.max():g}" if len(self) else ""
        kind = ", sparse" if isinstance(self.features, Csr) else ""
        return (
            f"Judgments({len(self):,} rows × {self.n_features:,} features{kind}, "
            f"{self.n_queries:,} queries{grades})"
        )


def as_matrix(features: Any) -> Floats | Csr:
    """Features of any kind as a float32 array or a `Csr`, finite throughout."""
    if isinstance(features, Csr) or hasattr(features, "tocoo"):
        matrix = features if isinstance(features, Csr) else Csr.from_scipy(features)
        if matrix.values is None:
            return Csr(matrix.indptr, matrix.indices, matrix.n_cols, np.ones(matrix.nnz, dtype=np.float32))
        entry = first_row(~np.isfinite(matrix.values))
        if entry is not None:
            _refuse_value(
                matrix.values[entry], int(matrix.row_of_entries()[entry]), int(matrix.indices[entry])
            )
        return matrix
    array = np.asarray(features)
    if array.ndim != 2 or array.dtype.kind not in "iufb":
        raise TypeError(f"features must be a matrix of numbers, got {array.ndim} dimensions of {array.dtype}")
    with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite, and is refused
        dense = np.ascontiguousarray(array, dtype=np.float32)
    # A sum is finite only if all its terms are, and needs no array of its own.
    with np.errstate(invalid="ignore"):
        total = dense.sum(dtype=np.float64)
    if not np.isfinite(total):
        row, feature = np.unravel_index(int(np.argmax(~np.isfinite(dense))), dense.shape)
        _refuse_value(array[row, feature], int(row), int(feature))
    return dense


def as_labels(values: Any) -> Floats:
    """Grades of relevance as float32, finite and at least 0."""
    column_ = plain(values, "labels")
    try:
        numbers = np.asarray(column_, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError("labels must be numbers, one for each row") from None
    labels = numbers.astype(np.float32)
    row = first_row(~(np.isfinite(labels) & (labels >= 0)))
    if row is not None:
        raise ValueError(
            f"labels must be finite and at least 0, got {numbers[row]:g} in row {row}: leave such rows out"
        )
    return labels


def _refuse_value(value: Any, row: int, feature: int) -> None:
    raise ValueError(
        f"features must be finite, got {value} in row {row}, feature {feature} (both from 0): "
        "put a number in its place, or leave the row out"
    )


def _check_array(name: str, array: Any, dtype: type[np.generic], dimensions: int) -> None:
    if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != dimensions:
        kind = f"{array.ndim} of {array.dtype}" if isinstance(array, np.ndarray) else type(array).__name__
        raise TypeError(f"{name} must be an array of {dimensions} dimensions of {dtype.__name__}, got {kind}")


def _taken(
    rows: Integers, features: Floats | Csr, labels: Floats, docids: Ids | None, comments: Ids | None
) -> tuple[Floats | Csr, Floats, Ids | None, Ids | None]:
    return (
        features.take(rows) if isinstance(features, Csr) else features[rows],
        labels[rows],
        None if docids is None else docids[rows],
        None if comments is None else comments[rows],
    )


def _texts(values: Any) -> Ids:
    texts = np.empty(len(values), dtype=object)
    texts[:] = [str(value) for value in values]
    return texts


def _numbers(values: Any, name: str, from_pandas: bool) -> npt.NDArray[np.float64]:
    import polars as pl

    column_ = plain(values, name)
    series = column_ if isinstance(column_, pl.Series) else pl.Series(column_, nan_to_null=from_pandas)
    if not (series.dtype.is_numeric() or series.dtype == pl.Boolean):
        raise TypeError(
            f"the feature {name!r} must be numbers, got {series.dtype}: convert it or leave it out"
        )
    row = first_row(series.is_null().to_numpy())
    if row is not None:
        raise ValueError(f"the feature {name!r} is missing in row {row}: put a number in its place")
    return np.asarray(series.cast(pl.Float64).to_numpy())


# --- what parts the queries -------------------------------------------------------------------------------


def _parts(n_rows: int, qids: Any, groups: Any, regroup: bool) -> tuple[Integers | None, Integers, Ids]:
    """The order that brings rows of a query together (None: as they are), indptr, and an id a query."""
    if groups is not None:
        indptr = indptr_of_groups(groups, n_rows)
        count = len(indptr) - 1
        ids = np.arange(count, dtype=np.int64) if qids is None else as_ids(qids, "qid")
        if len(ids) != count:
            raise ValueError(
                f"with groups, qids must have one entry for each of {count} groups, got {len(ids)}"
            )
        return None, indptr, ids
    if qids is None:
        raise ValueError("judgments need to know their queries: pass qids= (one a row) or groups= (sizes)")
    codes, vocabulary = factorise(qids, "qid")
    if len(codes) != n_rows:
        raise ValueError(f"qids must have one entry for each of {n_rows} rows, got {len(codes)}")
    return parts_of_codes(codes.astype(np.int64), vocabulary.ids, regroup)


def parts_of_codes(codes: Integers, ids: Ids, regroup: bool) -> tuple[Integers | None, Integers, Ids]:
    """The same from codes that count the queries in the order of their first rows."""
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    order = None
    if len(starts) != len(ids):
        if not regroup:
            row = int(starts[np.flatnonzero(codes[starts] < np.maximum.accumulate(codes[starts]))[0]])
            raise ValueError(
                f"the rows of a query must follow each other, but the query {ids[codes[row]]!r} goes on "
                f"in row {row} (from 0), after another one: pass regroup=True to bring them together"
            )
        order = np.argsort(codes, kind="stable")
        starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    return order, np.append(starts, len(codes)).astype(np.int64), ids


def indptr_of_groups(groups: Any, n_rows: int) -> Integers:
    """Where each group begins, from their sizes, which must add up to the rows."""
    sizes = np.asarray(plain(groups, "groups"))
    if sizes.ndim != 1 or (len(sizes) and sizes.dtype.kind not in "iu"):
        raise TypeError(f"groups must be whole numbers, the rows of each query in turn, got {sizes.dtype}")
    empty = first_row(sizes < 1) if len(sizes) else None
    if empty is not None:
        raise ValueError(f"a group must have at least one row, got {sizes[empty]} for group {empty} (from 0)")
    indptr = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)
    if indptr[-1] != n_rows:
        raise ValueError(f"the groups must add up to the {n_rows} rows, got {indptr[-1]}")
    return indptr
