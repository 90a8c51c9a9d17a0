"""Polynomial semantic indexing (Bai et al. 2009): words of a query against words, or pairs, of an item."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from topwise.baselines.base import Floats
from topwise.baselines.data import Sparse, Training
from topwise.baselines.online import check_at_least_zero, passes
from topwise.baselines.text_ranker import TextRanker, Triples
from topwise.data import Events, Features
from topwise.losses import AUC, Loss, as_loss
from topwise.models.params import check_above_zero, check_count
from topwise.models.wsabie import Wsabie


class PSI(TextRanker):
    """f²(q, d) = q · d + Σ_k (S q)_k (T d)_k, and f³ = f² + Σ_k (S' q)_k (U d)_k (V d)_k.

    Degree 2 is a `Wsabie` with α I, trained by AUC. Degree 3 goes on from there, the lower degree being kept
    as it is: its three tables take steps along the gradient of the margin ranking loss of f³, each row held
    to a ball, since a product of three has no other bound.

    Parameters
    ----------
    degree: 2 or 3.
    dim: the length of the vectors of either part.
    alpha: the weight of q · d.
    loss: of degree 2; None is AUC(), as in the paper.
    epochs, learning_rate, max_norm: of degree 2, as for `Wsabie`.
    cubic_epochs, cubic_rate, cubic_norm, batch: of the tables of degree 3.
    """

    def __init__(
        self,
        degree: int = 2,
        dim: int = 50,
        *,
        alpha: float = 1.0,
        loss: Loss | str | None = None,
        epochs: int = 30,
        learning_rate: float = 0.8,
        max_norm: float | str | None = "auto",
        cubic_epochs: int = 30,
        cubic_rate: float = 0.3,
        cubic_norm: float = 0.3,
        batch: int = 32,
        context: str | None = None,
        threads: int | None = None,
        seed: int = 0,
    ) -> None:
        self.degree = degree
        self.dim = dim
        self.alpha = alpha
        self.loss = loss
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.max_norm = max_norm
        self.cubic_epochs = cubic_epochs
        self.cubic_rate = cubic_rate
        self.cubic_norm = cubic_norm
        self.batch = batch
        self.context = context
        self.threads = threads
        self.seed = seed

    def check_params(self) -> None:
        super().check_params()
        if self.degree not in (2, 3):
            raise ValueError(f"degree must be 2 or 3, got {self.degree}")
        check_count("dim", self.dim)
        check_at_least_zero("alpha", self.alpha)
        check_count("cubic_epochs", self.cubic_epochs)
        check_count("batch", self.batch)
        check_above_zero("cubic_rate", self.cubic_rate)
        check_above_zero("cubic_norm", self.cubic_norm)

    def _learn(self, data: Training) -> None:
        contexts, items = self._keep_sides(data)
        self.quadratic_ = self._fit_quadratic(data, contexts, items)
        assert self.quadratic_.context_ is not None
        # Of both sides the rows of words, there being no others.
        self.query_rows_ = np.ascontiguousarray(self.quadratic_.context_.rows[:, : self.dim])
        self.vectors_ = np.asarray(items @ self.quadratic_.items_.rows[:, : self.dim], dtype=np.float32)
        if self.degree == 3:
            self.cubic_ = self._fit_cubic(Triples(data, contexts, items), contexts, items)
            self.query_rows_ = np.concatenate([self.query_rows_, self.cubic_.query], axis=1)
            self.vectors_ = np.concatenate([self.vectors_, self.cubic_.of_items(items)], axis=1)

    def _fit_quadratic(self, data: Training, contexts: Sparse, items: Sparse) -> Wsabie:
        names = [str(number) for number in range(contexts.shape[1])]
        model = Wsabie(
            self.dim,
            self._margin_loss(),
            self.epochs,
            self.learning_rate,
            self.max_norm,
            alpha=self.alpha,
            threads=self.threads,
            seed=self.seed,
        )
        sides: dict[str, Any] = {
            f"{role}_features": Features.from_matrix(data.vocabularies[role].ids, rows, names, identity=False)
            for role, rows in ((data.role, contexts), ("item", items))
        }
        return model.fit(_of_one_role(data.log, data.role), progress=False, **sides)

    def _margin_loss(self) -> Loss:
        return AUC() if self.loss is None else as_loss(self.loss)

    def _fit_cubic(self, triples: Triples, contexts: Sparse, items: Sparse) -> Cubic:
        rng = np.random.default_rng(self.seed)
        cubic = Cubic.random(contexts.shape[1], self.dim, self.cubic_norm, rng)
        margin = self._margin_loss().margin
        base = contexts @ self.query_rows_
        for some, rate in passes(len(triples), self.cubic_epochs, self.batch, self.cubic_rate, rng):
            negatives = triples.negatives(rng, some)
            some, worse = some[negatives >= 0], negatives[negatives >= 0]
            context, better = triples.context[some], triples.positive[some]
            query, apart = contexts[context], items[better] - items[worse]
            lower = (base[context] * (self.vectors_[better] - self.vectors_[worse])).sum(axis=1)
            lower = lower + self.alpha * np.asarray(query.multiply(apart).sum(axis=1)).ravel()
            cubic.step(query, items[better], items[worse], lower - margin, rate, self.cubic_norm)
        return cubic

    def _score(self, rows: Any) -> Floats:
        scores = (rows @ self.query_rows_) @ self.vectors_.T
        if self.alpha:
            scores += np.float32(self.alpha) * (rows @ self.items_).toarray()
        return np.asarray(scores, dtype=np.float32)


class Cubic:
    """Σ_k (S q)_k (U d)_k (V d)_k, its tables with a row for each word."""

    def __init__(self, query: Floats, first: Floats, second: Floats) -> None:
        self.query = query
        self.first = first
        self.second = second

    @classmethod
    def random(cls, n_words: int, dim: int, norm: float, rng: np.random.Generator) -> Cubic:
        """Tables whose rows are about as long as they may be."""
        tables = [rng.normal(0, norm * dim**-0.5, (n_words, dim)).astype(np.float32) for _ in range(3)]
        return cls(*tables)

    def of_items(self, items: Sparse) -> Floats:
        """(U d)∘(V d), which meets S q in a product."""
        vectors: Floats = (items @ self.first) * (items @ self.second)
        return vectors

    def scores(self, query: Sparse, items: Sparse) -> Floats:
        """The term for pairs of a query and an item, row by row."""
        found: Floats = ((query @ self.query) * self.of_items(items)).sum(axis=1)
        return found

    def gradient(
        self, query: Sparse, better: Sparse, worse: Sparse, push: npt.NDArray[Any]
    ) -> tuple[Floats, Floats, Floats]:
        """Of Σ push · (f(q, d⁺) − f(q, d⁻)), for the tables S, U and V."""
        asked = (query @ self.query) * push[:, None]
        of_query = query.T @ ((self.of_items(better) - self.of_items(worse)) * push[:, None])
        first = better.T @ (asked * (better @ self.second)) - worse.T @ (asked * (worse @ self.second))
        second = better.T @ (asked * (better @ self.first)) - worse.T @ (asked * (worse @ self.first))
        return of_query, first, second

    def step(
        self,
        query: Sparse,
        better: Sparse,
        worse: Sparse,
        lower: npt.NDArray[Any],
        rate: float,
        max_norm: float,
    ) -> None:
        """Moves the pairs of which `lower`, the rest of f³ less the margin, and this term sum below 0."""
        words = np.unique(np.concatenate([query.indices, better.indices, worse.indices]))
        some = Cubic(self.query[words], self.first[words], self.second[words])
        query, better, worse = (_in_words(rows, words) for rows in (query, better, worse))
        apart = lower + some.scores(query, better) - some.scores(query, worse)
        slopes = some.gradient(query, better, worse, (apart < 0).astype(np.float32))
        for table, slope in zip((self.query, self.first, self.second), slopes, strict=True):
            rows = table[words] + np.float32(rate) * slope
            norms = np.linalg.norm(rows, axis=1, keepdims=True)
            table[words] = rows * np.minimum(np.float32(max_norm) / np.maximum(norms, 1e-12), 1)


def _in_words(rows: Sparse, words: npt.NDArray[Any]) -> Sparse:
    """The same rows with no columns but these words."""
    shape = (rows.shape[0], len(words))
    return type(rows)((rows.data, np.searchsorted(words, rows.indices), rows.indptr), shape=shape)


def _of_one_role(log: Events, role: str) -> Events:
    """A log without the other role of its contexts."""
    (other,) = {"user", "query"} - {role}
    if other not in log.roles:
        return log
    kept = {name: vocabulary for name, vocabulary in log.vocabularies.items() if name != other}
    return replace(
        log,
        vocabularies=kept,
        user=log.user if role == "user" else None,
        query=log.query if role == "query" else None,
    )
