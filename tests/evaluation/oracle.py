"""Metrics by their definitions, on one list at a time, as a list of booleans."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

NAMES = (
    *("recall@1", "recall@3", "precision@1", "precision@3", "hit@1", "hit@2", "capped_recall@1"),
    *("capped_recall@4", "ndcg", "ndcg@3", "map", "map@3", "mrr", "mrr@2", "auc", "rank_loss", "mean_rank"),
    *("max_rank", "recall@100", "precision@100", "ndcg@100", "map@100"),
)


def value(name: str, scores: npt.NDArray[np.float32], relevant: Sequence[bool], missing: int) -> float:
    """The mean over the best and the worst order of equal scores."""
    best = sorted(range(len(scores)), key=lambda i: (-scores[i], not relevant[i]))
    worst = sorted(range(len(scores)), key=lambda i: (-scores[i], relevant[i]))
    of_orders = [_of_list(name, [bool(relevant[i]) for i in order], missing) for order in (best, worst)]
    return sum(of_orders) / 2


def _of_list(name: str, hits: list[bool], missing: int) -> float:
    """`hits` says of each place of the list whether it is relevant; `missing` more are in no place."""
    kind, _, cutoff = name.partition("@")
    k = int(cutoff) if cutoff else len(hits)
    n_relevant = sum(hits) + missing
    top = hits[:k]
    ranks = [rank for rank, relevant in enumerate(hits, start=1) if relevant]
    ranks += [len(hits) + number for number in range(1, missing + 1)]
    pairs = [(r, o) for r in ranks for o, relevant in enumerate(hits, start=1) if not relevant]
    wrong = sum(r > o for r, o in pairs)
    formulas: dict[str, Callable[[], float]] = {
        "recall": lambda: sum(top) / n_relevant,
        "capped_recall": lambda: sum(top) / min(n_relevant, k),
        "precision": lambda: sum(top) / k,
        "hit": lambda: float(any(top)),
        "ndcg": lambda: _dcg(top) / _dcg(([True] * n_relevant)[: k if cutoff else None]),
        "map": lambda: sum(sum(top[: i + 1]) / (i + 1) for i in range(len(top)) if top[i]) / n_relevant,
        "mrr": lambda: 1 / (top.index(True) + 1) if any(top) else 0.0,
        "auc": lambda: 1 - wrong / len(pairs) if pairs else 1.0,
        "rank_loss": lambda: 100 * wrong / len(pairs) if pairs else 0.0,
        "mean_rank": lambda: sum(ranks) / len(ranks),
        "max_rank": lambda: float(max(ranks)),
    }
    return formulas[kind]()


def _dcg(hits: Sequence[bool]) -> float:
    return sum(1 / math.log2(rank + 1) for rank, relevant in enumerate(hits, start=1) if relevant)
