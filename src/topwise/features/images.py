"""Images as histograms, brought to a few dimensions by kernel PCA with the histogram intersection kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from topwise.data import Csr, Features
from topwise.features import needs
from topwise.models.params import Params, check_choice, check_count

Doubles = npt.NDArray[np.float64]


def concatenate(*parts: Features, norm: str = "none") -> Features:
    """Several histograms of the same images beside each other.

    The images are those of the first, in its order; one that another part lacks has nothing there. With
    `norm="l1"` each part of a row is brought to a sum of 1 first, so that no part outweighs the others.
    """
    check_choice("norm", norm, ("none", "l1"))
    if not parts:
        raise ValueError("concatenate needs at least one set of features, got none")
    for part in parts:
        if not isinstance(part, Features):
            raise TypeError(f"histograms must be tw.Features, got {type(part).__name__}")
    vocabulary = parts[0].vocabulary
    rows, columns, values, names = [], [], [], []
    width = 0
    for number, part in enumerate(parts):
        matrix = part.rows(vocabulary)
        assert matrix.values is not None
        _check_histograms(matrix)
        row, own = matrix.row_of_entries(), matrix.values.astype(np.float64)
        if norm == "l1":
            own /= np.bincount(row, own, minlength=len(matrix))[row]
        rows.append(row)
        columns.append(matrix.indices + width)
        values.append(own)
        names += [f"{number}:{name}" for name in part.names] if len(parts) > 1 else part.names
        width += matrix.n_cols
    joined = Csr.from_coordinates(
        np.concatenate(rows), np.concatenate(columns), (len(vocabulary), width), np.concatenate(values)
    )
    return Features(vocabulary, names, joined, identity=False)


def intersection_kernel(left: Csr, right: Csr) -> Doubles:
    """K(x, y) = Σ_i min(x_i, y_i), for rows of values of at least 0."""
    for rows in (left, right):
        _check_histograms(rows)
    if left.n_cols != right.n_cols:
        raise ValueError(f"histograms must have the same columns, got {left.n_cols} and {right.n_cols}")
    assert left.values is not None
    assert right.values is not None
    kernel = np.zeros((len(left), len(right)))
    # The right side by columns: a row of the left side meets only the entries of its own columns.
    by_column = Csr.from_coordinates(
        right.indices, right.row_of_entries(), (right.n_cols, len(right)), right.values
    )
    assert by_column.values is not None
    for row in range(len(left)):
        entries = slice(left.indptr[row], left.indptr[row + 1])
        met = by_column.take(left.indices[entries])
        assert met.values is not None
        least = np.minimum(met.values, np.repeat(left.values[entries], met.lengths()))
        kernel[row] = np.bincount(met.indices, least, minlength=len(right))
    return kernel


class IntersectionPCA(Params):
    """Kernel PCA (Schölkopf et al.) with the intersection kernel: histograms to vectors of `dim`.

    The components are learned from the images given to `fit`, or with `landmarks` from so many of them drawn
    at random, and all others are projected by Nyström's extension: the kernel of a thousand landmarks can be
    decomposed, that of a million images cannot.

    Parameters
    ----------
    dim: the components kept, at most as many as there are landmarks.
    landmarks: how many images the components are learned from; None is all.
    """

    def __init__(self, dim: int = 1024, *, landmarks: int | None = None, seed: int = 0) -> None:
        self.dim = dim
        self.landmarks = landmarks
        self.seed = seed

    def fit(self, histograms: Features) -> Features:
        """Learns the components, and gives the images' vectors."""
        decomposition = needs("sklearn.decomposition")
        check_count("dim", self.dim)
        check_count("seed", self.seed, 0)
        matrix = _histograms(histograms)
        if self.landmarks is not None:
            check_count("landmarks", self.landmarks)
        count = min(len(matrix), len(matrix) if self.landmarks is None else self.landmarks)
        if self.dim > count:
            raise ValueError(f"dim must be at most {count}, the images to learn from, got {self.dim}")
        chosen = np.arange(len(matrix))
        if count < len(matrix):
            chosen = np.sort(np.random.default_rng(self.seed).choice(len(matrix), count, replace=False))
        landmarks = matrix.take(chosen)
        model = decomposition.KernelPCA(
            n_components=self.dim, kernel="precomputed", eigen_solver="auto", random_state=self.seed
        )
        model.fit(intersection_kernel(landmarks, landmarks))
        self.landmarks_, self.model_ = landmarks, model
        self.eigenvalues_: Doubles = model.eigenvalues_
        return self.encode(histograms)

    def encode(self, histograms: Features) -> Features:
        """The vectors of images, those of `fit` or others."""
        if not hasattr(self, "model_"):
            raise ValueError("this IntersectionPCA has no components yet: call fit first")
        matrix = _histograms(histograms)
        if matrix.n_cols != self.landmarks_.n_cols:
            raise ValueError(
                f"histograms must have the {self.landmarks_.n_cols} columns of fitting, got {matrix.n_cols}"
            )
        vectors = np.zeros((len(matrix), self.dim), dtype=np.float32)
        step = 1024  # rows of the kernel that are held at once
        for start in range(0, len(matrix), step):
            rows = np.arange(start, min(start + step, len(matrix)))
            kernel = intersection_kernel(matrix.take(rows), self.landmarks_)
            vectors[rows] = self.model_.transform(kernel)
        return Features.from_matrix(histograms.vocabulary.ids, vectors, identity=False)


def _histograms(features: Any) -> Csr:
    if not isinstance(features, Features):
        raise TypeError(f"histograms must be tw.Features, got {type(features).__name__}")
    return features.matrix


def _check_histograms(rows: Csr) -> None:
    if rows.values is None or (rows.nnz and rows.values.min() < 0):
        least = "none" if rows.values is None else f"{rows.values.min():g}"
        raise ValueError(f"histograms must have values of at least 0, got {least}")
