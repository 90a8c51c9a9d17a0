"""The linear ranking SVM on pairs (Herbrich et al.; Joachims), over words that context and item share."""

from __future__ import annotations

from typing import Any

import numpy as np

from topwise.baselines.data import Sparse, Training, narrow
from topwise.baselines.text_ranker import TextRanker, Triples
from topwise.models.params import check_above_zero, check_count


class PairRankSVM(TextRanker):
    """f(q, d) = w · φ(q, d), φ being q_i d_i for each word, and q · d: w_i + w_0 is a word's weight.

    min ½‖w‖² + C Σ |1 − w · (φ(q, d⁺) − φ(q, d⁻))|₊² over pairs drawn once, `pairs` for each event, by
    scikit-learn's LinearSVC on the differences. w_0 speaks for words that no pair has shown.
    """

    def __init__(
        self,
        penalty: float = 1.0,
        *,
        pairs: int = 5,
        iterations: int = 1000,
        context: str | None = None,
        seed: int = 0,
    ) -> None:
        self.penalty = penalty
        self.pairs = pairs
        self.iterations = iterations
        self.context = context
        self.seed = seed

    def check_params(self) -> None:
        super().check_params()
        check_above_zero("penalty", self.penalty)
        check_count("pairs", self.pairs)
        check_count("iterations", self.iterations)

    def _learn(self, data: Training) -> None:
        from sklearn.svm import LinearSVC

        contexts, items = self._keep_sides(data)
        triples = Triples(data, contexts, items)
        rows, signs = differences(triples, contexts, items, self.pairs, self.seed)
        model = LinearSVC(
            C=self.penalty, fit_intercept=False, max_iter=self.iterations, random_state=self.seed
        )
        model.fit(rows.astype(np.float64), signs)
        found = model.coef_[0].astype(np.float32)
        self.weights_ = found[:-1] + found[-1]

    def _words_asked(self, rows: Sparse) -> Any:
        return rows.multiply(self.weights_[None, :]).tocsr()


def differences(
    triples: Triples, contexts: Sparse, items: Sparse, pairs: int, seed: int
) -> tuple[Sparse, Any]:
    """φ(q, d⁺) − φ(q, d⁻) for each pair, every second one turned round, so that there are two classes."""
    from scipy.sparse import hstack, vstack

    rng = np.random.default_rng(seed)
    parts = []
    for _ in range(pairs):
        negative = triples.negatives(rng)
        found = negative >= 0
        words = contexts[triples.context[found]]
        parts.append(words.multiply(items[triples.positive[found]] - items[negative[found]]).tocsr())
    rows = vstack(parts, format="csr")
    rows = hstack([rows, rows.sum(axis=1)[:, None]], format="csr")
    if rows.nnz == 0:
        raise ValueError("no event's context shares a word with its item: there is nothing to learn from")
    signs = np.where(np.arange(rows.shape[0]) % 2 == 0, 1.0, -1.0)
    return narrow(rows.multiply(signs[:, None]).tocsr()), signs
