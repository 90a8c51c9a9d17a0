"""Features on one scale, by what is learned from training rows alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from topwise.data.csr import Csr
from topwise.data.judgments import Floats, Judgments

KINDS = ("l2", "standard", "minmax")


class Normalize:
    """A change of scale of each feature: `fit` on training judgments, then `transform` any.

    "l2" divides each feature by the 2-norm of its column over all training rows, as the L-GMML paper does;
    zeros stay zeros, but the more rows, the smaller the values.
    "standard" takes the mean away and divides by the deviation. "minmax" brings each feature to 0 … 1 within
    each query by that query's own rows, as LETOR's files have it; nothing is learned but the width.
    Features that are constant (in training, or in a query) become 0 by "standard" and "minmax".
    """

    def __init__(self, kind: str = "standard") -> None:
        if kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(map(repr, KINDS))}, got {kind!r}")
        self.kind = kind
        self.shift_: npt.NDArray[np.float64]
        self.scale_: npt.NDArray[np.float64]

    def fit(self, judged: Judgments) -> Normalize:
        """Learns from training rows."""
        if len(judged) == 0:
            raise ValueError("judgments must have at least one row, got none")
        self.shift_ = np.zeros(judged.n_features)
        self.scale_ = np.ones(judged.n_features)
        if self.kind == "minmax":
            return self
        sums, squares = _moments(judged)
        if self.kind == "l2":
            spread = np.sqrt(squares)
        else:
            self.shift_ = sums / len(judged)
            spread = np.sqrt(_central_squares(judged, self.shift_) / len(judged))
            # The deviation of a constant column is what rounding leaves of it.
            spread[spread <= 1e-7 * np.sqrt(squares / len(judged))] = 0
        used = spread > 0
        self.scale_[used] = 1 / spread[used]
        if self.kind == "standard":
            self.scale_[~used] = 0
        return self

    def transform(self, judged: Judgments) -> Judgments:
        """The same judgments with features on the learned scale."""
        if not hasattr(self, "scale_"):
            raise ValueError("this Normalize is not fitted yet: call fit with training judgments first")
        if judged.n_features != len(self.scale_):
            raise ValueError(
                f"the judgments must have the {len(self.scale_)} features of fitting, got {judged.n_features}"
            )
        names = judged.feature_names
        if self.kind == "minmax":
            return judged.with_features(_within_queries(judged), names)
        features = judged.features
        if isinstance(features, Csr) and self.kind == "l2":
            assert features.values is not None
            values = (features.values * self.scale_[features.indices]).astype(np.float32)
            return judged.with_features(
                Csr(features.indptr, features.indices, features.n_cols, values), names
            )
        dense = judged.dense()
        out = np.empty_like(dense)
        for rows in _blocks(len(dense)):
            out[rows] = (dense[rows] - self.shift_) * self.scale_
        return judged.with_features(out, names)

    def fit_transform(self, judged: Judgments) -> Judgments:
        """`fit`, then `transform` of the same judgments."""
        return self.fit(judged).transform(judged)

    def __repr__(self) -> str:
        return f"Normalize({self.kind!r})"

    # --- files --------------------------------------------------------------------------------------------

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """What was learned, for the file of a model."""
        return {"normalize.shift": self.shift_, "normalize.scale": self.scale_}

    @classmethod
    def from_tensors(cls, kind: str, tensors: dict[str, npt.NDArray[Any]]) -> Normalize:
        """The same from a file."""
        normalize = cls(kind)
        normalize.shift_, normalize.scale_ = tensors["normalize.shift"], tensors["normalize.scale"]
        return normalize


def _blocks(count: int, size: int = 65_536) -> list[slice]:
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]


def _moments(judged: Judgments) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The sum and the sum of squares of each column."""
    features = judged.features
    if isinstance(features, Csr):
        assert features.values is not None
        values = features.values.astype(np.float64)
        return _column_sums(features, values), _column_sums(features, values**2)
    sums, squares = np.zeros(judged.n_features), np.zeros(judged.n_features)
    for rows in _blocks(len(features)):
        block = features[rows].astype(np.float64)
        sums += block.sum(axis=0)
        squares += np.einsum("rf,rf->f", block, block)
    return sums, squares


def _column_sums(features: Csr, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.bincount(features.indices, values, minlength=features.n_cols).astype(np.float64)


def _central_squares(judged: Judgments, mean: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Σ (x − mean)² of each column, without the cancellation of Σ x² − n·mean²."""
    features = judged.features
    if isinstance(features, Csr):
        assert features.values is not None
        stored = np.bincount(features.indices, minlength=features.n_cols)
        apart = (features.values - mean[features.indices]) ** 2
        return _column_sums(features, apart) + (len(judged) - stored) * mean**2
    squares = np.zeros(judged.n_features)
    for rows in _blocks(len(features)):
        block = features[rows] - mean
        squares += np.einsum("rf,rf->f", block, block)
    return squares


def _within_queries(judged: Judgments) -> Floats:
    dense = judged.dense()
    starts = judged.indptr[:-1]
    if len(starts) == 0:
        return dense
    low = np.minimum.reduceat(dense, starts, axis=0)
    width = np.maximum.reduceat(dense, starts, axis=0).astype(np.float64) - low
    scale = np.divide(1.0, width, out=np.zeros_like(width), where=width > 0)
    query = judged.query_of_rows()
    out = np.empty_like(dense)
    for rows in _blocks(len(dense)):
        out[rows] = np.clip((dense[rows].astype(np.float64) - low[query[rows]]) * scale[query[rows]], 0, 1)
    return out
