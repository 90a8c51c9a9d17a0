"""Hash kernels + αI: every pair of words has a weight, and pairs share the weights by a hash."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from topwise.baselines.base import Floats
from topwise.baselines.data import Sparse, Training
from topwise.baselines.online import check_at_least_zero
from topwise.baselines.text_ranker import TextRanker, Triples
from topwise.models.params import check_above_zero, check_count

Words = npt.NDArray[Any]

_ODD = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)


class HashKernel(TextRanker):
    """f(q, d) = Σ_ij q_i (ξ_ij w_h(i,j) + α δ_ij) d_j: a full matrix of words × words in 2^bits weights.

    The hash h and its sign ξ are fixed. Trained online on the margin ranking loss, one triple (q, d⁺, d⁻)
    after the other: |margin − f(q, d⁺) + f(q, d⁻)|₊. Texts are cut to their `most_words` heaviest words in
    training, since a step costs as many weights as there are pairs of words.
    """

    def __init__(
        self,
        bits: int = 20,
        alpha: float = 1.0,
        *,
        margin: float = 1.0,
        epochs: int = 10,
        learning_rate: float = 0.3,
        most_words: int = 200,
        context: str | None = None,
        seed: int = 0,
    ) -> None:
        self.bits = bits
        self.alpha = alpha
        self.margin = margin
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.most_words = most_words
        self.context = context
        self.seed = seed

    def check_params(self) -> None:
        super().check_params()
        check_count("bits", self.bits)
        if self.bits > 30:
            raise ValueError(f"bits must be at most 30, a table of 4 GB, got {self.bits}")
        check_at_least_zero("alpha", self.alpha)
        check_above_zero("margin", self.margin)
        check_count("epochs", self.epochs)
        check_above_zero("learning_rate", self.learning_rate)
        check_count("most_words", self.most_words)

    def _learn(self, data: Training) -> None:
        contexts, items = self._keep_sides(data)
        triples = Triples(data, contexts, items)
        self.weights_ = np.zeros(2**self.bits, dtype=np.float32)
        of_context = [heaviest(contexts, row, self.most_words) for row in range(contexts.shape[0])]
        of_item = [heaviest(items, row, self.most_words) for row in range(items.shape[0])]
        rng = np.random.default_rng(self.seed)
        total = self.epochs * len(triples)
        done = 0
        for _ in range(self.epochs):
            negatives = triples.negatives(rng)
            for event in rng.permutation(len(triples)):
                rate = self.learning_rate * (1 - done / total)
                done += 1
                if negatives[event] >= 0:
                    words = of_context[triples.context[event]]
                    self._step(words, of_item[triples.positive[event]], of_item[negatives[event]], rate)

    def _step(self, query: Any, positive: Any, negative: Any, rate: float) -> None:
        """One triple, of which each is (words, values)."""
        words, values = difference(positive, negative)
        slots, signs = hash_pairs(query[0][:, None], words[None, :], self.bits)
        products = signs * np.outer(query[1], values)
        shared = float(query[1] @ np.where(np.isin(query[0], words), _at(words, values, query[0]), 0))
        if float((self.weights_[slots] * products).sum()) + self.alpha * shared < self.margin:
            np.add.at(self.weights_, slots.ravel(), (rate * products).ravel().astype(np.float32))

    def matrix(self, words: Words, others: Words) -> Floats:
        """The weights of words of a context (rows) with words of an item (columns), α included."""
        slots, signs = hash_pairs(np.asarray(words)[:, None], np.asarray(others)[None, :], self.bits)
        same = np.asarray(words)[:, None] == np.asarray(others)[None, :]
        return np.asarray(signs * self.weights_[slots] + np.float32(self.alpha) * same, dtype=np.float32)

    def _words_asked(self, rows: Sparse) -> Any:
        every = np.arange(rows.shape[1])
        asked = np.zeros(rows.shape, dtype=np.float32)
        for row in range(rows.shape[0]):
            own = slice(rows.indptr[row], rows.indptr[row + 1])
            asked[row] = rows.data[own] @ self.matrix(rows.indices[own], every)
        return asked


def hash_pairs(words: Words, others: Words, bits: int) -> tuple[npt.NDArray[np.int64], Floats]:
    """A slot of 2^bits, and a sign, for each pair of words."""
    mixed = words.astype(np.uint64) * _ODD[0] + others.astype(np.uint64) * _ODD[1]
    mixed ^= mixed >> np.uint64(29)
    mixed *= _ODD[0]
    slots = (mixed >> np.uint64(64 - bits)).astype(np.int64)
    signs = np.where((mixed >> np.uint64(20)) & np.uint64(1), np.float32(1), np.float32(-1))
    return slots, signs


def heaviest(rows: Sparse, row: int, most: int) -> tuple[Words, Floats]:
    """The words of a row with the largest values, in order, and those values."""
    words = rows.indices[rows.indptr[row] : rows.indptr[row + 1]]
    values = rows.data[rows.indptr[row] : rows.indptr[row + 1]]
    if len(words) <= most:
        return words, values
    chosen = np.sort(np.argpartition(-np.abs(values), most)[:most])
    return words[chosen], values[chosen]


def difference(first: tuple[Words, Floats], second: tuple[Words, Floats]) -> tuple[Words, Floats]:
    """The words of either text, and the values of the first less those of the second."""
    words, place = np.unique(np.concatenate([first[0], second[0]]), return_inverse=True)
    values = np.bincount(place, np.concatenate([first[1], -second[1]]), minlength=len(words))
    return words, values.astype(np.float32)


def _at(words: Words, values: Floats, wanted: Words) -> Floats:
    return values[np.minimum(np.searchsorted(words, wanted), len(words) - 1)]
