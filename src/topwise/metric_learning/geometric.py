"""Geometric means of positive definite matrices, which metrics learned in closed form are."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Matrix: TypeAlias = npt.NDArray[np.float64]

# Below this share of its largest diagonal entry, a pivot of S is rounding.
_LEAST_PIVOT = 1e-13


class GeometricMean:
    """M = S⁻¹ ♯ₜ D, the point at t on the geodesic from S⁻¹ to D, for every t from one eigenproblem.

    S gathers differences of similar pairs, D those of dissimilar ones (both d × d, or a stack of such). At
    t = ½ it minimises tr(M S) + tr(M⁻¹ D), and M S M = D (equations 6–9). With S = C Cᵀ and
    Cᵀ D C = U W Uᵀ, M = (C⁻ᵀ U) Wᵗ (C⁻ᵀ U)ᵀ: the Cholesky–Schur way, which needs no square root of a matrix.
    D may be singular, S may not.
    """

    def __init__(self, similar: Matrix, dissimilar: Matrix) -> None:
        similar, dissimilar = symmetric("S", similar), symmetric("D", dissimilar)
        if similar.shape != dissimilar.shape:
            raise ValueError(f"S and D must have the same shape, got {similar.shape} and {dissimilar.shape}")
        root = _cholesky(similar)
        transposed = np.swapaxes(root, -1, -2)
        self.spectrum, vectors = np.linalg.eigh(transposed @ dissimilar @ root)
        if (self.spectrum[..., 0] < -1e-8 * np.abs(self.spectrum[..., -1])).any():
            raise ValueError("D must be positive semidefinite, but has a negative eigenvalue")
        self.spectrum = np.maximum(self.spectrum, 0)
        self.basis: Matrix = np.linalg.solve(transposed, vectors)

    def metric(self, t: float = 0.5) -> Matrix:
        """M itself."""
        factor = self.factor(t)
        product: Matrix = factor @ np.swapaxes(factor, -1, -2)
        return product

    def factor(self, t: float = 0.5, rank: int | None = None) -> Matrix:
        """L with M = L Lᵀ; with `rank`, that of the nearest M of so many dimensions."""
        check_t(t)
        with np.errstate(divide="ignore"):
            factor: Matrix = self.basis * (self.spectrum[..., None, :] ** (0.5 * t))
        return factor if rank is None or rank >= factor.shape[-1] else low_rank(factor, rank)


def low_rank(factor: Matrix, rank: int) -> Matrix:
    """The best approximation of L Lᵀ by a matrix of a lower rank, as a factor."""
    left, singular, _ = np.linalg.svd(factor)
    cut: Matrix = left[..., :rank] * singular[..., None, :rank]
    return cut


def regularised(
    similar: Matrix, dissimilar: Matrix, weight: float, prior: Matrix | None = None
) -> tuple[Matrix, Matrix]:
    """S + λ·prior⁻¹ and D + λ·prior, which draw M towards the prior metric; without one it is the
    identity.
    """
    if weight == 0:
        return similar, dissimilar
    if prior is None:
        unit = weight * np.eye(similar.shape[-1])
        return similar + unit, dissimilar + unit
    prior = symmetric("prior", prior)
    if prior.shape[-1] != similar.shape[-1]:
        raise ValueError(f"prior must be {similar.shape[-1]} × {similar.shape[-1]}, got {prior.shape}")
    try:
        np.linalg.cholesky(prior)
    except np.linalg.LinAlgError:
        raise ValueError("prior must be positive definite") from None
    return similar + weight * np.linalg.inv(prior), dissimilar + weight * prior


def check_t(t: float) -> None:
    """Refuses what is not between 0 and 1."""
    if isinstance(t, bool) or not hasattr(t, "__float__"):
        raise TypeError(f"t must be a number, got {t!r}")
    if not 0 <= float(t) <= 1:
        raise ValueError(f"t must be between 0 (S⁻¹) and 1 (D), got {t}")


def symmetric(name: str, matrix: Matrix) -> Matrix:
    """A square matrix, exactly symmetric; refused where it is not so but for rounding."""
    matrix = np.asarray(matrix, dtype=np.float64)
    if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2]:
        raise ValueError(f"{name} must be square, got the shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise ValueError(f"{name} must be finite")
    turned = np.swapaxes(matrix, -1, -2)
    if np.abs(matrix - turned).max(initial=0) > 1e-6 * np.abs(matrix).max(initial=0):
        raise ValueError(f"{name} must be symmetric")
    mean: Matrix = (matrix + turned) / 2
    return mean


def _cholesky(similar: Matrix) -> Matrix:
    problem = "S must be positive definite, but is singular: raise regularization"
    try:
        root: Matrix = np.asarray(np.linalg.cholesky(similar), dtype=np.float64)
    except np.linalg.LinAlgError:
        raise ValueError(problem) from None
    pivots = np.diagonal(root, axis1=-2, axis2=-1) ** 2
    if (pivots.min(axis=-1) <= _LEAST_PIVOT * pivots.max(axis=-1)).any():
        raise ValueError(problem)
    return root
