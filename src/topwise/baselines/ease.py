"""EASE in closed form (Steck, "Embarrassingly shallow autoencoders for sparse data", WWW 2019)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from topwise.baselines.base import Baseline, Codes, Floats
from topwise.baselines.data import Sparse, Training
from topwise.models.params import check_above_zero, check_choice


class EASE(Baseline):
    """The item-item regression B = I − P diag(P)⁻¹ with P = (XᵀX + λI)⁻¹; f = X B.

    Parameters
    ----------
    regularization: λ.
    form: "primal" inverts a matrix of items, "dual" one of contexts, with the same scores: with
        K = X Xᵀ + λI it is X P = K⁻¹ X and P_ii = (1 − x_iᵀ K⁻¹ x_i) / λ. "auto" takes the smaller.
    context: "user" or "query"; None is the log's own, users first.
    """

    def __init__(
        self, regularization: float = 500.0, *, form: str = "auto", context: str | None = None
    ) -> None:
        self.regularization = regularization
        self.form = form
        self.context = context

    def check_params(self) -> None:
        super().check_params()
        check_above_zero("regularization", self.regularization)
        check_choice("form", self.form, ("auto", "primal", "dual"))

    def _learn(self, data: Training) -> None:
        self.weights_ = ItemWeights.solve(data.interactions(), float(self.regularization), self.form)

    def _rows(self, codes: Mapping[str, Codes]) -> Any:
        (own,) = codes.values()
        return own

    def _score(self, rows: Any) -> Floats:
        return self.weights_.scores(rows)


class ItemWeights:
    """X B for rows of X by number, −1 being their mean. B is kept in whichever form was solved."""

    def __init__(self, rows: Sparse, kept: npt.NDArray[Any], n_items: int, left: Any, right: Any) -> None:
        self.rows = rows
        self.kept = kept
        self.n_items = n_items
        self.left = left
        self.right = right
        filled = (np.diff(rows.indptr) > 0).astype(np.float32)
        share = filled / np.float32(filled.sum())
        self.mean = self._found(share @ left, share @ rows)

    @classmethod
    def solve(cls, known: Sparse, regularization: float, form: str = "auto") -> ItemWeights:
        """Solves for the items that somebody has: one that nobody has is alone in P and scores 0."""
        kept = np.flatnonzero(np.diff(known.tocsc().indptr))
        rows = known[:, kept]
        if form == "auto":
            form = "dual" if rows.shape[0] < rows.shape[1] else "primal"
        if form == "primal":
            left, right = rows, _item_weights(rows, regularization)
        else:
            left, right = _context_weights(rows, regularization)
        return cls(rows, kept, known.shape[1], left, right)

    def scores(self, numbers: npt.NDArray[Any]) -> Floats:
        """One row for each number, one column for each item."""
        board = np.zeros((len(numbers), self.n_items), dtype=np.float32)
        own = np.maximum(numbers, 0)
        board[:, self.kept] = self._found(self.left[own], self.rows[own])
        board[np.ix_(numbers < 0, self.kept)] = self.mean
        return board

    def _found(self, left: Any, rows: Any) -> Floats:
        found = left @ self.right
        if self.left is not self.rows:  # the dual gives X (B − I)
            found = found + (rows if isinstance(rows, np.ndarray) else rows.toarray())
        return np.asarray(found, dtype=np.float32)


def _item_weights(rows: Sparse, regularization: float) -> Floats:
    inverse = _inverse(rows.T @ rows, regularization)
    weights = inverse / -np.diag(inverse)
    np.fill_diagonal(weights, 0.0)
    return weights


def _context_weights(rows: Sparse, regularization: float) -> tuple[Floats, Sparse]:
    """K⁻¹, and X with columns divided by −P_ii: their product is X (B − I)."""
    from scipy.sparse import csr_array, diags_array

    inverse = _inverse(rows @ rows.T, regularization)
    columns = rows.tocsc()
    having = np.split(columns.indices, columns.indptr[1:-1])
    explained = np.array([inverse[np.ix_(own, own)].sum(dtype=np.float64) for own in having])
    scale = (-regularization / (1 - explained)).astype(np.float32)
    return inverse, csr_array(rows @ diags_array(scale))


def _inverse(gram: Sparse, regularization: float) -> Floats:
    """(gram + λI)⁻¹ in one float32 array, by Cholesky in place: 40,000 rows take 6.5 GB, not twice."""
    from scipy.linalg import lapack

    matrix = gram.astype(np.float32).toarray(order="F")
    matrix[np.diag_indices_from(matrix)] += np.float32(regularization)
    factor, failed = lapack.spotrf(matrix, lower=1, clean=0, overwrite_a=1)
    if failed:
        raise ValueError(f"regularization {regularization} leaves the matrix singular in float32: raise it")
    inverse: Floats = lapack.spotri(factor, lower=1, overwrite_c=1)[0]
    _mirror(inverse)
    return np.ascontiguousarray(inverse.T)


def _mirror(lower: Floats, block: int = 2048) -> None:
    """Copies the lower triangle onto the upper, block by block."""
    for start in range(0, len(lower), block):
        end = start + block
        square = lower[start:end, start:end]
        square[:] = np.tril(square) + np.tril(square, -1).T
        lower[start:end, end:] = lower[end:, start:end].T
