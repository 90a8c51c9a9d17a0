"""Scales of features: learned from training rows alone, the same for arrays and sparse rows."""

from __future__ import annotations

import numpy as np
import pytest

import topwise as tw
from topwise.data import Csr

RNG = np.random.default_rng(0)
X = (RNG.random((60, 4)) * [1, 100, 1e-3, 0] + [0, 5, 0, 3]).astype(np.float32)
X[RNG.random(60) < 0.3, 0] = 0
TRAIN = tw.Judgments.from_arrays(X, np.arange(60) % 3, np.arange(60) // 7)
TEST = TRAIN.take([2, 5]).with_features(TRAIN.take([2, 5]).dense() * 3)


def test_l2_makes_columns_of_length_one() -> None:
    scaled = tw.Normalize("l2").fit_transform(TRAIN).dense()
    np.testing.assert_allclose(np.linalg.norm(scaled, axis=0), 1, rtol=1e-5)
    assert ((scaled == 0) == (X == 0)).all()


def test_standard_has_mean_zero_and_deviation_one() -> None:
    scaled = tw.Normalize("standard").fit_transform(TRAIN).dense()
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(scaled.std(axis=0), [1, 1, 1, 0], atol=1e-5)


def test_minmax_is_within_queries() -> None:
    scaled = tw.Normalize("minmax").fit_transform(TRAIN)
    for query in range(TRAIN.n_queries):
        rows = X[TRAIN.rows(query)]
        span = np.ptp(rows, axis=0)
        wanted = (rows - rows.min(axis=0)) / np.where(span > 0, span, 1)
        np.testing.assert_allclose(scaled.dense()[TRAIN.rows(query)], wanted, atol=1e-5)


@pytest.mark.parametrize("kind", ["l2", "standard"])
def test_nothing_is_learned_from_other_rows(kind: str) -> None:
    normalize = tw.Normalize(kind).fit(TRAIN)
    both = normalize.transform(TRAIN.take([2, 5])).dense()
    shift = normalize.shift_ * normalize.scale_
    np.testing.assert_allclose(
        normalize.transform(TEST).dense(), (both + shift) * 3 - shift, rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("kind", ["l2", "standard", "minmax"])
def test_sparse_rows_have_the_same_values(kind: str) -> None:
    sparse = TRAIN.with_features(Csr.from_dense(X))
    ours = tw.Normalize(kind).fit_transform(sparse)
    np.testing.assert_allclose(
        ours.dense(), tw.Normalize(kind).fit_transform(TRAIN).dense(), rtol=1e-5, atol=1e-6
    )
    assert isinstance(ours.features, Csr) == (kind == "l2")


def test_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match="kind must be one of 'l2', 'standard', 'minmax', got 'max'"):
        tw.Normalize("max")
    with pytest.raises(ValueError, match="not fitted yet"):
        tw.Normalize("l2").transform(TRAIN)
    with pytest.raises(ValueError, match="the 4 features of fitting, got 2"):
        tw.Normalize("l2").fit(TRAIN).transform(TRAIN.with_features(X[:, :2]))
