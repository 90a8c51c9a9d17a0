"""Rivals that are a few lines of a library: their scores, ranked as those of any model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from topwise.data import Vocabulary
from topwise.papers.study import Settings, Task


@dataclass
class Vectors:
    """Scores that are products of vectors of queries and of items, as `evaluate` wants them."""

    role: str
    contexts: Vocabulary
    items: Vocabulary
    left: Any
    right: npt.NDArray[np.float32]

    @property
    def roles(self) -> tuple[str, ...]:
        return (self.role,)

    @property
    def item_vocabulary(self) -> Vocabulary:
        return self.items

    @property
    def context_vocabulary(self) -> Vocabulary:
        return self.contexts

    def item_vectors(self) -> npt.NDArray[np.float32]:
        return self.right

    def context_vectors(self, users: Any = None, queries: Any = None) -> npt.NDArray[np.float32]:
        rows = self.left[self.contexts.codes(queries if self.role == "query" else users)]
        dense = rows.toarray() if hasattr(rows, "toarray") else rows
        return np.asarray(dense, dtype=np.float32)


def _example_matrices(task: Task) -> tuple[Any, Any, Vocabulary, Vocabulary]:
    """All rows of features; and the labels of those that are taught, with their row numbers."""
    features = task.features["query_features"]
    log = task.train.recode({"query": features.vocabulary})
    y = log.matrix("query").to_scipy()
    return features.matrix.to_scipy().tocsr(), y.tocsr(), features.vocabulary, log.vocabulary("item")


def one_vs_rest(task: Task, settings: Settings) -> Vectors:
    """A squared-hinge classifier for each label by liblinear, against all other examples, or against as many
    of them as it has (`balanced`)."""
    from scipy.sparse import csr_matrix, hstack
    from sklearn.svm import LinearSVC

    x, y, queries, labels = _example_matrices(task)
    rng = np.random.default_rng(settings["seed"])
    taught = np.flatnonzero(np.diff(y.indptr))
    rows, columns = csr_matrix(x[taught]), y[taught].tocsc()
    weights = np.zeros((len(labels), x.shape[1] + 1), dtype=np.float32)
    for label in range(len(labels)):
        positive = columns.indices[columns.indptr[label] : columns.indptr[label + 1]]
        if len(positive) == 0:
            continue
        target = np.full(len(taught), -1.0)
        target[positive] = 1.0
        chosen = np.arange(len(taught))
        if settings.get("balanced"):
            others = rng.permutation(np.flatnonzero(target < 0))[: len(positive)]
            chosen = np.concatenate([positive, others])
        if len(np.unique(target[chosen])) < 2:
            continue
        machine = LinearSVC(C=settings["C"], tol=0.1, dual="auto", random_state=settings["seed"])
        machine.fit(rows[chosen], target[chosen])
        weights[label, :-1], weights[label, -1] = machine.coef_[0], machine.intercept_[0]
    ones = csr_matrix(np.ones((x.shape[0], 1), dtype=np.float32))
    return Vectors("query", queries, labels, hstack([x, ones]).tocsr(), weights)
