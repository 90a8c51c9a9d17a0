"""Singular value decomposition of query × item or user × item, with or without weights of the columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from topwise.baselines.base import Factors
from topwise.baselines.data import Sparse, Training, check_values
from topwise.models.params import check_choice, check_count

Doubles = npt.NDArray[np.float64]


class SVD(Factors):
    """The L2-optimal factorisation of the complete matrix, absent pairs counting as 0.

    With `columns="log_odds"`, the squared error of item d counts log((1 − p_d)/p_d), p_d being the share of
    contexts that have it, and nothing where that is below 0: popular items have less to say about the space.
    The weighted problem, min ‖(X − F) diag(√w)‖, is solved by the SVD of X diag(√w) = U Σ Vᵀ, as F = U Uᵀ X.

    Parameters
    ----------
    dim: the number of singular values that are kept.
    context: "user" or "query"; None is the log's own, users first.
    values: what stands in the matrix: "binary", "count" (the sum of weights) or "log" (log(1 + sum)).
    columns: the weights of the columns, "uniform" or "log_odds".
    """

    def __init__(
        self,
        dim: int = 50,
        *,
        context: str | None = None,
        values: str = "binary",
        columns: str = "uniform",
        seed: int = 0,
    ) -> None:
        self.dim = dim
        self.context = context
        self.values = values
        self.columns = columns
        self.seed = seed

    def check_params(self) -> None:
        super().check_params()
        check_count("dim", self.dim)
        check_values(self.values)
        check_choice("columns", self.columns, ("uniform", "log_odds"))

    def _learn(self, data: Training) -> None:
        matrix = data.interactions(self.values).astype(np.float64)
        weighted = matrix
        if self.columns == "log_odds":
            weights = log_odds(data.interactions(), int(data.has_events(data.role).sum()))
            if not weights.any():
                raise ValueError(
                    "columns='log_odds' leaves no weight, since half of the contexts or more have each item: "
                    "use columns='uniform'"
                )
            weighted = matrix.multiply(np.sqrt(weights)[None, :]).tocsr()
        left, sizes, _ = truncated_svd(weighted, self.dim, self.seed)
        self.singular_values_ = sizes
        # Directions of no size, of a matrix of lower rank than dim, stay empty.
        inverse = np.divide(1, sizes, out=np.zeros_like(sizes), where=sizes > 0)
        self._set(data, left * sizes, (matrix.T @ left) * inverse)


def log_odds(known: Sparse, n_contexts: int) -> Doubles:
    """log((1 − p)/p) of each column, with half an event added to both sides; 0 where that is below 0."""
    having = np.asarray(known.sum(axis=0), dtype=np.float64)
    odds: Doubles = np.log((n_contexts - having + 0.5) / (having + 0.5))
    return np.maximum(odds, 0)


def truncated_svd(matrix: Any, dim: int, seed: int) -> tuple[Doubles, Doubles, Doubles]:
    """The largest singular values and their vectors (U, σ, Vᵀ), the largest first, by ARPACK.

    A singular value that is 0 but for rounding is 0.
    """
    from scipy.sparse.linalg import svds

    smaller = min(matrix.shape)
    if dim > smaller:
        raise ValueError(
            f"dim must be at most {smaller}, the smaller side of the matrix {matrix.shape}, got {dim}"
        )
    if dim == smaller:
        left, sizes, right = np.linalg.svd(matrix.toarray(), full_matrices=False)
    else:
        start = np.random.default_rng(seed).normal(size=smaller)
        left, sizes, right = svds(matrix, k=dim, v0=start)
    order = np.argsort(-sizes)
    left, sizes, right = left[:, order], sizes[order], right[order]
    sizes = np.where(sizes > sizes[0] * 1e-10, sizes, 0.0)
    return left, sizes, right
