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


def _inverse(gram: Sparse, regularization: float, block: int = 512) -> Floats:
    """(gram + λI)⁻¹ in one float32 array: 40,000 rows take 6.5 GB, not twice.

    By sweeps, a block of rows at a time, of which only the blocks up to the diagonal are kept: with D the
    inverse of a pivot block, A_ij −= A_ik D A_kj and A_ik = A_ik D, so that all of them leave −A⁻¹. LAPACK
    does as much arithmetic in one call, and fails in some builds of OpenBLAS at such sizes.
    """
    matrix: Floats = gram.astype(np.float32).toarray()
    matrix[np.diag_indices_from(matrix)] += np.float32(regularization)
    blocks = [slice(start, min(start + block, len(matrix))) for start in range(0, len(matrix), block)]
    for pivot in blocks:
        column = np.concatenate([matrix[pivot, : pivot.start].T, matrix[pivot.start :, pivot]])
        try:
            np.linalg.cholesky(column[pivot])
        except np.linalg.LinAlgError:
            raise ValueError(
                f"regularization {regularization} leaves the matrix singular in float32: raise it"
            ) from None
        inverse = np.linalg.inv(column[pivot])
        moved = column @ inverse
        column[pivot] = 0  # its own rows and columns are set below
        for rows in blocks:
            matrix[rows, : rows.stop] -= moved[rows] @ column[: rows.stop].T
        matrix[pivot, : pivot.start] = moved[: pivot.start].T
        matrix[pivot.start :, pivot] = moved[pivot.start :]
        matrix[pivot, pivot] = -inverse
    for rows in blocks:
        square = np.tril(matrix[rows, rows])
        matrix[rows, rows] = square + np.tril(square, -1).T
        matrix[: rows.start, rows] = matrix[rows, : rows.start].T
    return np.negative(matrix, out=matrix)
