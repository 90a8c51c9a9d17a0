"""What is known about users, queries or items beside the events: rows of content, by id."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from topwise.data.columns import as_table, check_column, column, column_names
from topwise.data.csr import Csr
from topwise.data.encoding import Plan, encode_frame, make_plan, plan_names
from topwise.data.vocabulary import Vocabulary

__all__ = ["Features", "encode_frame"]


@dataclass(frozen=True, eq=False, repr=False)
class Features:
    """A sparse row of content for each id.

    With `identity` a model gives every id a row of its own beside the rows of its content (LightFM's hybrid,
    LCR's equation 6); without it an id is its content alone. Ids that a log has and these features lack have
    an empty row; ids that only the features have can be served from their content.
    """

    vocabulary: Vocabulary
    names: list[str]
    matrix: Csr
    identity: bool = True
    plan: Plan | None = None

    @classmethod
    def from_matrix(
        cls, ids: Any, csr_or_dense: Any, names: Sequence[str] | None = None, identity: bool = True
    ) -> Features:
        """Features from a matrix with a row for each id: `Csr`, any scipy sparse matrix, or a dense array."""
        vocabulary = Vocabulary(ids)
        matrix = _as_csr(csr_or_dense)
        n_rows, n_cols = matrix.shape
        if n_rows != len(vocabulary):
            raise ValueError(
                f"the matrix must have a row for each of {len(vocabulary)} ids, got {n_rows} rows"
            )
        named = [str(number) for number in range(n_cols)] if names is None else [str(name) for name in names]
        if len(named) != n_cols:
            raise ValueError(f"names must have one entry for each of {n_cols} columns, got {len(named)}")
        _check_finite(matrix, vocabulary, named)
        return cls(vocabulary, named, matrix, identity)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        id: Hashable = "item",
        columns: Sequence[str] | None = None,
        identity: bool = True,
    ) -> Features:
        """Features from the columns of a frame (all but `id`, or those given).

        A numeric column becomes one standardised column, a column of text or booleans an indicator for each
        value, a column of lists several indicators of weight 1/√length. Missing values have no entry.
        """
        table = as_table(frame)
        check_column(id, column_names(table))
        chosen = [name for name in column_names(table) if name != id] if columns is None else list(columns)
        vocabulary = Vocabulary(column(table, id))
        plan = make_plan(table, chosen)
        return cls(vocabulary, plan_names(plan), encode_frame(plan, table), identity, plan)

    def rows(self, vocabulary: Vocabulary) -> Csr:
        """The content rows in the order of another vocabulary, empty for ids without features."""
        return self.matrix.take(self.vocabulary.codes(vocabulary.ids))

    def encode(self, frame: Any) -> Csr:
        """New rows of a frame with the columns that these features were made from, for ids never seen."""
        if self.plan is None:
            raise ValueError(
                "only features made by Features.from_frame can encode a frame: pass a matrix instead"
            )
        return encode_frame(self.plan, frame)

    def __len__(self) -> int:
        return len(self.vocabulary)

    def __repr__(self) -> str:
        kind = "identity and content" if self.identity else "content alone"
        return (
            f"Features({len(self):,} ids × {len(self.names):,} columns, {self.matrix.nnz:,} entries, {kind})"
        )


def _as_csr(matrix: Any) -> Csr:
    if isinstance(matrix, Csr):
        return matrix if matrix.values is not None else _with_ones(matrix)
    if hasattr(matrix, "tocoo"):
        return Csr.from_scipy(matrix)
    array = np.asarray(matrix)
    if array.ndim != 2 or array.dtype.kind not in "iufb":
        raise TypeError(f"features must be a matrix of numbers, got {array.ndim} dimensions of {array.dtype}")
    return Csr.from_dense(array)


def _with_ones(matrix: Csr) -> Csr:
    return Csr(matrix.indptr, matrix.indices, matrix.n_cols, np.ones(matrix.nnz, dtype=np.float32))


def _check_finite(matrix: Csr, vocabulary: Vocabulary, names: list[str]) -> None:
    if matrix.values is None or np.isfinite(matrix.values).all():
        return
    entry = int(np.argmax(~np.isfinite(matrix.values)))
    id_ = vocabulary.ids[matrix.row_of_entries()[entry]]
    raise ValueError(
        f"features must be finite, got {matrix.values[entry]} for id {id_!r} "
        f"in column {names[matrix.indices[entry]]!r}"
    )
