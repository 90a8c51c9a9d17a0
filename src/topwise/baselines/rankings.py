"""The most violated ranking of a query, for structural SVMs over rankings by NDCG, MAP or AUC."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from topwise.baselines.newton import Vector

LOSSES = ("ndcg", "map", "auc")


@dataclass(frozen=True)
class Violation:
    """A ranking ŷ of a query: Δ(y*, ŷ), and the weight of each row in ψ(y*) − ψ(ŷ)."""

    loss: float
    weights: Vector


def most_violated(scores: Vector, relevant: npt.NDArray[np.bool_], loss: str) -> Violation:
    """argmax_ŷ Δ(y*, ŷ) + ⟨W, ψ(ŷ)⟩, ψ(y) = 1/(P N) Σ_{i relevant, j not} ±(φ_i − φ_j), + where i is above j.

    Within the relevant rows and within the others, those with higher scores stand first, so ŷ is given by
    the number n_i of others above the i-th relevant row, n_1 ≤ n_2 ≤ …. Each of the losses is a sum over i
    of a term in n_i alone, and a dynamic programme finds the best n exactly, in P N steps.
    """
    good = np.flatnonzero(relevant)
    bad = np.flatnonzero(~relevant)
    good = good[np.argsort(-scores[good], kind="stable")]
    bad = bad[np.argsort(-scores[bad], kind="stable")]
    p, n = len(good), len(bad)
    above = np.arange(n + 1)
    prefix = np.concatenate([[0.0], np.cumsum(scores[bad])])
    reached = np.empty((p, n + 1))
    terms = np.empty((p, n + 1))
    for i in range(p):
        terms[i] = lost(loss, i + 1, above, p, n)
        value = terms[i] + 2 * (prefix - above * scores[good[i]]) / (p * n)
        reached[i] = value if i == 0 else value + np.maximum.accumulate(reached[i - 1])
    places = np.empty(p, dtype=np.int64)
    most = n
    for i in range(p - 1, -1, -1):
        most = int(np.argmax(reached[i, : most + 1]))
        places[i] = most
    weights = np.zeros(len(scores))
    weights[good] = 2 * places / (p * n)
    # How many relevant rows each other one stands above.
    overtaken = p - np.searchsorted(places, np.arange(1, n + 1), side="left")
    weights[bad] = -2 * overtaken / (p * n)
    return Violation(float(terms[np.arange(p), places].sum()), weights)


def lost(loss: str, i: int, above: npt.NDArray[Any], p: int, n: int) -> Vector:
    """What Δ grows by when the i-th of p relevant rows has so many of n others above it."""
    if loss == "map":
        share: Vector = (1 - i / (i + above)) / p
        return share
    if loss == "ndcg":
        ideal = float((1 / np.log2(np.arange(2, p + 2))).sum())
        gone: Vector = (1 / np.log2(i + 1) - 1 / np.log2(i + 1 + above)) / ideal
        return gone
    pairs: Vector = above / (p * n)
    return pairs
