"""The squared hinge over all pairs of a query, in the time of a sort."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from topwise.baselines.newton import Vector
from topwise.data import Judgments

Integers = npt.NDArray[np.int64]


class PairLoss:
    """Σ_q 1/(queries · pairs of q) Σ_{label i > label j} max(0, 1 − s_i + s_j)².

    For each grade there is a group in each query: the rows of that grade, which are to lead, and all of
    lower ones. So each pair is in one group. In a group sorted by s_i − 1 of those that lead and s_j of the
    others, the pair is violated when j stands behind i: sums over pairs become running sums.
    """

    def __init__(self, judged: Judgments) -> None:
        query = judged.query_of_rows()
        rows, leads, groups = [], [], []
        pairs = np.zeros(judged.n_queries)
        for number, grade in enumerate(np.unique(judged.labels)[1:]):
            high, low = judged.labels == grade, judged.labels < grade
            n_high = np.bincount(query[high], minlength=judged.n_queries)
            n_low = np.bincount(query[low], minlength=judged.n_queries)
            pairs += n_high.astype(np.float64) * n_low
            used = np.flatnonzero((high | low) & ((n_high > 0) & (n_low > 0))[query])
            rows.append(used)
            leads.append(high[used])
            groups.append(query[used] + number * judged.n_queries)
        self.n_rows = len(judged)
        self.rows: Integers = np.concatenate(rows)
        self.leads = np.concatenate(leads)
        self.group: Integers = np.concatenate(groups)
        share = np.zeros(judged.n_queries)
        share[pairs > 0] = 1 / (pairs[pairs > 0] * np.count_nonzero(pairs))
        self.weight: Vector = share[query[self.rows]]
        # The groups follow each other, since rows do by query.
        self.starts: Integers = np.flatnonzero(np.diff(self.group, prepend=-1))
        self.lengths: Integers = np.diff(self.starts, append=len(self.group))

    def at(self, scores: Vector) -> PairCurve:
        """The loss with its gradient, and the violated pairs for its curvature."""
        return PairCurve(self, scores)


class PairCurve:
    """The loss at some scores."""

    def __init__(self, loss: PairLoss, scores: Vector) -> None:
        order = np.lexsort((scores[loss.rows] - loss.leads, loss.group))
        self.loss = loss
        self.rows, self.leads, self.weight = loss.rows[order], loss.leads[order], loss.weight[order]
        self.count = self._partners(np.ones(len(order)))
        s = scores[self.rows]
        sums, squares = self._partners(s), self._partners(s * s)
        # With n partners j of a leading i: Σ (1 − s_i + s_j)² = n (1 − s_i)² + 2 (1 − s_i) Σ s_j + Σ s_j².
        gap = 1 - s
        each = np.where(self.leads, self.count * gap * gap + 2 * gap * sums + squares, 0.0)
        self.value = float(each @ self.weight)
        slope = np.where(self.leads, -(self.count * gap + sums), self.count * (1 + s) - sums)
        self.gradient = self._to_rows(2 * slope)

    def curvature(self, direction: Vector) -> Vector:
        """2 Σ (d_i − d_j) over violated pairs, to i and, with the other sign, to j."""
        d = direction[self.rows]
        return self._to_rows(2 * (self.count * d - self._partners(d)))

    def _partners(self, values: Vector) -> Vector:
        """For each row of each group the sum of values over those that it makes a violated pair with."""
        starts, lengths = self.loss.starts, self.loss.lengths
        of_leads = np.cumsum(np.where(self.leads, values, 0.0))
        of_others = np.cumsum(np.where(self.leads, 0.0, values))
        before = np.repeat(of_leads[starts] - np.where(self.leads[starts], values[starts], 0.0), lengths)
        ends = np.repeat(of_others[starts + lengths - 1], lengths)
        sums: Vector = np.where(self.leads, ends - of_others, of_leads - before)
        return sums

    def _to_rows(self, values: Vector) -> Vector:
        weighted = values * self.weight
        return np.bincount(self.rows, weighted, minlength=self.loss.n_rows).astype(np.float64)
