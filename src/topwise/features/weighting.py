"""Weights of words: TF-IDF, and rows of unit length."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from topwise.data import Csr, Features


@dataclass
class TermWeights:
    """TF-IDF by scikit-learn: count · (1 + log((1 + n)/(1 + n_t))), then rows of unit length.

    The frequencies are those of the documents that it is fitted with; queries are weighed with the same.
    """

    sublinear: bool = False
    unit: bool = True
    _weights: Any = field(default=None, init=False, repr=False)

    def fit(self, counts: Any) -> Self:
        """Counts in how many of the rows each word is."""
        from sklearn.feature_extraction.text import TfidfTransformer

        check_counts(counts)
        norm = "l2" if self.unit else None
        self._weights = TfidfTransformer(norm=norm, sublinear_tf=self.sublinear).fit(counts)
        return self

    def transform(self, counts: Any) -> Any:
        """The weighted rows, as sparse as they were."""
        from scipy.sparse import csr_array

        check_counts(counts)
        if counts.shape[0] == 0 or counts.nnz == 0:
            return csr_array(counts.shape, dtype=np.float32)
        return csr_array(self._weights.transform(counts.astype(np.float32), copy=True)).astype(np.float32)


def tfidf(documents: Features, *others: Features, sublinear: bool = False) -> tuple[Features, ...]:
    """Counts of words, weighed by how many of the documents have each; what was given, in its order."""
    for number, given in enumerate((documents, *others)):
        if not isinstance(given, Features):
            raise TypeError(f"counts must be tw.Features, got {type(given).__name__}")
        if given.names != documents.names:
            raise ValueError(
                f"all counts must have the same columns, got {len(documents.names)} of the documents "
                f"and {len(given.names)} of number {number} of the others"
            )
    terms = TermWeights(sublinear).fit(documents.matrix.to_scipy())
    return tuple(
        Features(
            given.vocabulary,
            given.names,
            Csr.from_scipy(terms.transform(given.matrix.to_scipy())),
            identity=False,
        )
        for given in (documents, *others)
    )


def check_counts(counts: Any) -> None:
    """Refuses counts below 0, of which there is no frequency."""
    if counts.nnz and counts.data.min() < 0:
        raise ValueError(
            f"TF-IDF wants counts of words, so values of at least 0, got {counts.data.min():g}: "
            "for other features use no weighting"
        )


def unit_rows(rows: Any) -> Any:
    """Rows of length 1, sparse or dense; those of length 0 stay 0."""
    if isinstance(rows, np.ndarray):
        norms: npt.NDArray[Any] = np.linalg.norm(rows, axis=1, keepdims=True)
        return rows / np.where(norms > 0, norms, 1)
    from scipy.sparse import csr_array

    squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    inverse = 1 / np.sqrt(np.where(squares > 0, squares, 1))
    values = rows.data * np.repeat(inverse, np.diff(rows.indptr)).astype(rows.dtype)
    return csr_array((values, rows.indices, rows.indptr), shape=rows.shape)
