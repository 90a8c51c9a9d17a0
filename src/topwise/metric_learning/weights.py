"""The weights Δ of anchors: the second half of Algorithm 2, and what they are for queries not seen in
training.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from topwise import _core
from topwise.data import Judgments
from topwise.losses import alpha_table
from topwise.metric_learning.local import Floats

_LANES = 16


@dataclass(frozen=True)
class WarpSettings:
    """The steps of equation 21: margin γ, step size μ (which falls to 0), the first Δ, epochs, trials,
    negatives.
    """

    margin: float
    learning_rate: float
    init: float
    epochs: int
    max_trials: int
    negatives: str
    seed: int


def psi(distances: Floats) -> Floats:
    """e^{−z} z of each distance."""
    out = np.exp(-distances)
    out *= distances
    return out


class Candidates:
    """ψ of judged documents, ordered as the kernel wants them: in each query by rising grade."""

    def __init__(self, judged: Judgments, distances: Floats, negatives: str) -> None:
        from topwise.models.tables import empty_rows

        query = judged.query_of_rows()
        order = np.lexsort((judged.labels, query))
        labels = judged.labels[order]
        starts = np.repeat(judged.indptr[:-1], judged.lengths())
        new = np.flatnonzero((np.diff(labels, prepend=-1) != 0) | (np.diff(query, prepend=-1) != 0))
        first_of_grade = np.repeat(new, np.diff(new, append=len(labels)))
        lower = first_of_grade - starts
        if negatives == "zero":
            zeros = np.bincount(query[labels == 0], minlength=judged.n_queries)[query]
            lower = np.where(labels > 0, zeros, 0)
        self.lower = lower.astype(np.int32)
        # Queries that have a positive and something less relevant.
        self.trained = np.bincount(query, lower > 0, minlength=judged.n_queries) > 0
        self.indptr = judged.indptr
        self.anchors = distances.shape[1]
        self.psi = empty_rows(len(order), self.anchors)
        for start in range(0, len(order), 65_536):
            rows = slice(start, start + 65_536)
            self.psi[rows, : self.anchors] = psi(distances[order[rows]])
        longest = int(judged.lengths().max())
        # L(k) of equation 16, for all numbers of less relevant documents.
        alphas = alpha_table("ndcg", longest + 1)
        self.weights = np.concatenate([[0.0], np.cumsum(alphas)]).astype(np.float32)

    def learn(self, settings: WarpSettings, shared: bool, threads: int) -> Floats:
        """Δ of each query, or one row for all."""
        from topwise.models.tables import empty_rows

        count = 1 if shared else len(self.indptr) - 1
        deltas = empty_rows(count, self.anchors)
        deltas[:, : self.anchors] = settings.init
        _core.learn_deltas(
            self.psi,
            self.indptr,
            self.lower,
            self.weights,
            deltas,
            settings.margin,
            settings.learning_rate,
            settings.max_trials,
            settings.epochs,
            settings.seed,
            threads,
        )
        return np.ascontiguousarray(deltas[:, : self.anchors])
