"""The closed form against what it is defined by, and against plain square roots of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import fractional_matrix_power, sqrtm

from topwise.metric_learning.geometric import GeometricMean, regularised


def pair(seed: int, size: int = 6, condition: float = 1.0) -> tuple[Any, Any]:
    """Two random positive definite matrices; a condition spreads the scales of S."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, size, 3 * size))
    scales = np.diag(np.geomspace(1, condition, size) ** 0.5)
    return scales @ a @ a.T @ scales, b @ b.T


@pytest.mark.parametrize("condition", [1.0, 1e6])
def test_m_s_m_is_d_at_a_half(condition: float) -> None:
    s, d = pair(0, condition=condition)
    m = GeometricMean(s, d).metric(0.5)
    np.testing.assert_array_equal(m, m.T)
    assert np.abs(m @ s @ m - d).max() < 1e-8 * np.abs(d).max()


@pytest.mark.parametrize("t", [0.0, 0.2, 0.5, 0.9, 1.0])
def test_equal_to_square_roots_of_matrices(t: float) -> None:
    s, d = pair(1)
    root = np.real(sqrtm(np.linalg.inv(s)))
    back = np.linalg.inv(root)
    expected = root @ np.real(fractional_matrix_power(back @ d @ back, t)) @ root
    np.testing.assert_allclose(GeometricMean(s, d).metric(t), expected, rtol=1e-8, atol=1e-10)


def test_t_turns_round_under_inversion() -> None:
    s, d = pair(2)
    there = GeometricMean(s, d).metric(0.3)
    back = GeometricMean(np.linalg.inv(d), np.linalg.inv(s)).metric(0.7)
    np.testing.assert_allclose(there, back, rtol=1e-8, atol=1e-10)


def test_a_stack_is_its_members() -> None:
    pairs = [pair(seed) for seed in range(3)]
    stacked = GeometricMean(*map(np.stack, zip(*pairs, strict=True))).metric(0.4)
    for metric, (s, d) in zip(stacked, pairs, strict=True):
        np.testing.assert_allclose(metric, GeometricMean(s, d).metric(0.4), rtol=1e-10)


def test_a_low_rank_is_the_nearest() -> None:
    mean = GeometricMean(*pair(3))
    factor = mean.factor(0.5, rank=2)
    values, vectors = np.linalg.eigh(mean.metric(0.5))
    expected = vectors[:, -2:] * values[-2:] @ vectors[:, -2:].T
    np.testing.assert_allclose(factor @ factor.T, expected, atol=1e-10)


def test_a_singular_s_names_the_remedy_and_regularisation_is_one() -> None:
    s, d = pair(4)
    s[0] = s[:, 0] = 0
    with pytest.raises(ValueError, match="raise regularization"):
        GeometricMean(s, d)
    assert np.isfinite(GeometricMean(*regularised(s, d, 0.1)).metric()).all()


def test_a_strong_prior_wins() -> None:
    s, d = pair(5)
    prior = np.diag(np.arange(1.0, 7.0))
    np.testing.assert_allclose(GeometricMean(*regularised(s, d, 1e9, prior)).metric(), prior, atol=1e-5)


@pytest.mark.parametrize("t", [-0.1, 1.1, float("nan")])
def test_t_beyond_the_geodesic_is_refused(t: float) -> None:
    with pytest.raises(ValueError, match="between 0"):
        GeometricMean(*pair(6)).metric(t)
