"""The best list of a query under f_lsr (LaSR, eq. 3), which is NP-hard to find: three ways to come near it.

All take the scores q·UᵀV d of some items, the rows S d of the same items, and the weights w of the places.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float32]
Places: TypeAlias = npt.NDArray[np.int64]

METHODS = ("iterative", "greedy", "beam")


def objective(scores: Floats, similar: Floats, weights: Floats, order: Places) -> float:
    """f_lsr of a list, eq. 3: Σ_i w_i q·UᵀV d̄_i + Σ_ij w_i w_j d̄_i·SᵀS d̄_j."""
    w = np.asarray(weights[: len(order)], dtype=np.float64)
    listed = w @ similar[order].astype(np.float64)
    return float(w @ scores[order].astype(np.float64) + listed @ listed)


def item_scores(scores: Floats, similar: Floats, weights: Floats, order: Places) -> Floats:
    """Eq. 9: the score of each item, given a list."""
    return np.asarray(scores + similar @ (weights[: len(order)] @ similar[order]), dtype=np.float32)


def best(scores: Floats, k: int) -> Places:
    """The k best, best first, ties in the given order."""
    return np.argsort(-scores, kind="stable")[:k]


def iterative(scores: Floats, similar: Floats, weights: Floats, steps: int) -> Places:
    """Eq. 7–9 with one U, V and S for all steps: d̄⁰ by q·UᵀV d alone, d̄ᵗ by eq. 9 with the list d̄ᵗ⁻¹."""
    size = min(len(weights), len(scores))
    order = best(scores, size)
    for _ in range(steps):
        order = best(item_scores(scores, similar, weights, order), size)
    return order


def greedy(scores: Floats, similar: Floats, weights: Floats) -> Places:
    """Eq. 6 and after: place N goes to the item with the largest w_N q·UᵀV d + Σ_{i≤N} w_i w_N d̄_i·SᵀS d."""
    return beam(scores, similar, weights, 1)


def beam(scores: Floats, similar: Floats, weights: Floats, width: int) -> Places:
    """The same with the best `width` beginnings kept at each place, by the sum of what greedy maximises.

    Of the lists at the end it takes the best by eq. 3.
    """
    size = min(len(weights), len(scores))
    own = np.einsum("ij,ij->i", similar, similar)
    orders = np.empty((1, 0), dtype=np.int64)
    totals = np.zeros(1)
    sums = np.zeros((1, similar.shape[1]), dtype=np.float32)  # Σ_{i<N} w_i S d̄_i of each beginning
    for place in range(size):
        weight = weights[place]
        gains = weight * (scores + sums @ similar.T + weight * own)
        np.put_along_axis(gains, orders, -np.inf, axis=1)
        reached = totals[:, None] + gains
        kept = _largest(reached, width)
        parents, items = np.divmod(kept, len(scores))
        totals = reached[parents, items]
        orders = np.concatenate([orders[parents], items[:, None]], axis=1)
        sums = sums[parents] + weight * similar[items]
    values = [objective(scores, similar, weights, order) for order in orders]
    return np.asarray(orders[int(np.argmax(values))])


def _largest(reached: npt.NDArray[np.float64], width: int) -> Places:
    """The places of the largest finite entries of a table, largest first, ties in the order of the table."""
    flat = reached.ravel()
    width = min(width, len(flat))
    if width == 1:
        return np.array([np.argmax(flat)])
    least = np.partition(flat, len(flat) - width)[len(flat) - width]
    among = np.flatnonzero(flat >= least)
    kept = among[np.argsort(-flat[among], kind="stable")][:width]
    return kept[np.isfinite(flat[kept])]
