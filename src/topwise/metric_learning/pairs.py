"""What metrics are learned from: candidate sets, and the scatter of their similar and dissimilar pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from topwise.data import Judgments
from topwise.metric_learning.geometric import Matrix

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class CandidateSet:
    """D⁺ and D⁻ of a query, as numbers of rows: the highest grade, and grade 0."""

    query: int
    relevant: Rows
    irrelevant: Rows


def candidate_set(judged: Judgments, query: int) -> CandidateSet | None:
    """D⁺ has the rows of the query's highest grade. D⁻ has those of grade 0, or of its lowest grade where
    none is 0. None where all rows have the same grade.
    """
    labels = judged.labels[judged.rows(query)]
    highest, lowest = labels.max(), labels.min()
    if highest == lowest:
        return None
    first = judged.indptr[query]
    return CandidateSet(
        query, np.flatnonzero(labels == highest) + first, np.flatnonzero(labels == lowest) + first
    )


def candidate_sets(judged: Judgments) -> list[CandidateSet]:
    """Those of all queries that have any."""
    found = (candidate_set(judged, query) for query in range(judged.n_queries))
    return [each for each in found if each is not None]


@dataclass
class Scatter:
    """S and D as means over pairs, so that λ means the same for few pairs and for many."""

    similar: Matrix
    dissimilar: Matrix


def scatter(
    features: npt.NDArray[np.float32], sets: Sequence[CandidateSet], queries: bool = False
) -> Scatter:
    """Equations 4 and 5 over the pairs within each candidate set, over all pairs without listing them.

    Σ_ij (x_i − x_j)(x_i − x_j)ᵀ is a matter of sums and of products X Xᵀ. With `queries`, rows are
    differences from their query, which is then what each of them is paired with (section 4.4).
    """
    d = features.shape[1]
    similar, dissimilar = np.zeros((d, d)), np.zeros((d, d))
    n_similar = n_dissimilar = 0
    for each in sets:
        good = features[each.relevant].astype(np.float64)
        bad = features[each.irrelevant].astype(np.float64)
        p, n = len(good), len(bad)
        if queries:
            similar += good.T @ good
            dissimilar += bad.T @ bad
            n_similar, n_dissimilar = n_similar + p, n_dissimilar + n
            continue
        centre = good.mean(axis=0)
        good -= centre  # which now sum to 0, so that the products of sums vanish
        bad -= centre
        inner = good.T @ good
        similar += 2 * p * inner
        dissimilar += n * inner + p * (bad.T @ bad)
        n_similar, n_dissimilar = n_similar + p * p, n_dissimilar + p * n
    return Scatter(similar / max(n_similar, 1), dissimilar / max(n_dissimilar, 1))
