"""Nearest class means."""

from __future__ import annotations

from typing import Any

import numpy as np

from topwise.baselines.base import Content, Floats
from topwise.baselines.data import Sparse, Training
from topwise.features.weighting import unit_rows
from topwise.models.params import check_choice


class NearestMeans(Content):
    """Labels by how near the mean of their examples is to x.

    "euclidean" ranks as −‖x − μ_y‖² does, by x · μ_y − ‖μ_y‖²/2; "cosine" by the angle. Labels without
    examples come last.
    """

    def __init__(self, metric: str = "euclidean", *, context: str | None = None) -> None:
        self.metric = metric
        self.context = context

    def check_params(self) -> None:
        super().check_params()
        check_choice("metric", self.metric, ("euclidean", "cosine"))

    def _learn(self, data: Training) -> None:
        from scipy.sparse import diags_array

        examples, content = data.interactions(), self._keep_content(data)
        counts = np.asarray(examples.sum(axis=0))
        self.seen_ = counts > 0
        means = (diags_array(1 / np.maximum(counts, 1)) @ (examples.T @ content)).tocsr().astype(np.float32)
        if self.metric == "cosine":
            means = unit_rows(means)
        self.means_ = means.T.tocsr()
        squares = np.asarray(means.multiply(means).sum(axis=1)).ravel()
        self.offsets_ = (0 if self.metric == "cosine" else -0.5) * squares.astype(np.float32)

    def _rows_of_content(self, content: Sparse) -> Any:
        return unit_rows(content) if self.metric == "cosine" else content

    def _score(self, rows: Any) -> Floats:
        scores = (rows @ self.means_).toarray().astype(np.float32) + self.offsets_
        lowest = scores[:, self.seen_].min(axis=1, keepdims=True)
        return np.asarray(np.where(self.seen_, scores, lowest - 1), dtype=np.float32)
