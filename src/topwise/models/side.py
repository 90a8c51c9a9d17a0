"""A side of a model (users, queries or items) as bags of rows: of ids, of content, or of both."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from topwise.data import Csr, Features, Vocabulary
from topwise.data.encoding import Plan
from topwise.models.tables import Floats, aligned, empty_rows, random_rows


@dataclass
class Side:
    """φ(c) = R[first + c] + Σ_f x_cf R[f]: rows of content features first, then a row for each id.

    `content` is aligned to the vocabulary. `squares` are Adagrad's accumulators, one a row, and exist while
    training only. With `lines` above 1, so many rows are trained as one: a matrix (LCR's interactions).
    """

    role: str
    vocabulary: Vocabulary
    rows: Floats
    ids: bool = True
    content: Csr | None = None
    feature_names: list[str] | None = None
    plan: Plan | None = None
    squares: Floats | None = None
    lines: int = 1

    @classmethod
    def create(
        cls,
        role: str,
        vocabulary: Vocabulary,
        features: Features | None,
        dim: int,
        columns: int,
        scale: float,
        rng: np.random.Generator,
    ) -> Side:
        """Fresh rows for the ids of a log, and for those that only the features have."""
        if features is None:
            return cls(role, vocabulary, random_rows(len(vocabulary), dim, columns, scale, rng))
        vocabulary = _united(vocabulary, features.vocabulary)
        own = len(vocabulary) if features.identity else 0
        rows = random_rows(len(features.names) + own, dim, columns, scale, rng)
        content = features.rows(vocabulary)
        bare = int(np.count_nonzero(content.lengths() == 0))
        if bare and not features.identity:
            warnings.warn(
                f"{bare} of {len(vocabulary)} {role} ids have no features and, with identity=False, "
                "no row of their own: they score 0",
                stacklevel=5,
            )
        return cls(role, vocabulary, rows, features.identity, content, list(features.names), features.plan)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Copies and pickles know nothing of the alignment that the kernel wants.
        vars(self).update(state)
        self.rows = aligned(self.rows, self.rows.shape[1])

    @property
    def tables(self) -> int:
        """How many rows, or matrices, are stepped and held in a ball of their own."""
        return len(self.rows) // self.lines

    @property
    def first(self) -> int:
        """The row of the first id."""
        return self.content.n_cols if self.content is not None else 0

    def vectors(self, columns: int, codes: npt.NDArray[Any] | None = None) -> Floats:
        """The sum of the rows of each entity, in the given columns."""
        if self.content is None:
            own = self.rows[:, :columns] if codes is None else self.rows[codes, :columns]
            return np.ascontiguousarray(own)
        content = self.content if codes is None else self.content.take(codes)
        total = self.compose(content, columns)
        if self.ids:
            total += (
                self.rows[self.first :, :columns]
                if codes is None
                else self.rows[self.first + codes, :columns]
            )
        return total

    def compose(self, content: Csr, columns: int) -> Floats:
        """Σ_f x_cf R[f] for rows of content, of known ids or not."""
        out = np.zeros((len(content), columns), dtype=np.float32)
        values = content.values if content.values is not None else np.ones(content.nnz, dtype=np.float32)
        step = 256
        for start in range(0, len(content), step):
            bounds = content.indptr[start : start + step + 1]
            begin, end = bounds[0], bounds[-1]
            filled = np.flatnonzero(np.diff(bounds))
            if len(filled) == 0:
                continue
            scaled = self.rows[content.indices[begin:end], :columns] * values[begin:end, None]
            out[start + filled] = np.add.reduceat(scaled, bounds[filled] - begin, axis=0)
        return out

    def silence(self, codes: npt.NDArray[Any]) -> None:
        """Makes the own rows of some entities zero: what remains of them is their content."""
        self.rows[self.first + codes] = 0

    def extended(self, ids: npt.NDArray[Any], make: Callable[[int], Floats]) -> Side:
        """The same side with rows for more ids at its end."""
        merged = Vocabulary(np.concatenate([self.vocabulary.ids, ids]))
        rows = empty_rows(len(self.rows) + len(ids), self.rows.shape[1])
        rows[: len(self.rows)] = self.rows
        rows[len(self.rows) :] = make(len(ids))
        content = self.content
        if content is not None:
            indptr = np.concatenate([content.indptr, np.full(len(ids), content.indptr[-1])])
            content = Csr(indptr, content.indices, content.n_cols, content.values)
        return replace(self, vocabulary=merged, rows=rows, content=content, squares=None)


def _united(vocabulary: Vocabulary, others: Vocabulary) -> Vocabulary:
    more = others.ids[vocabulary.codes(others.ids) < 0]
    if len(more) == 0:
        return vocabulary
    ids = vocabulary.ids
    if len(ids) and ids.dtype != more.dtype:  # text and ints of the same spelling are the same ids
        more = np.array([type(ids[0])(id_) for id_ in more.tolist()], dtype=ids.dtype)
    return Vocabulary(np.concatenate([ids, more]) if len(ids) else more)
