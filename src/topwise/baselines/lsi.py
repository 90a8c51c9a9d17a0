"""Latent semantic indexing (Deerwester et al.), alone and mixed with TF-IDF."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from topwise.baselines.base import Content, Factors, Floats
from topwise.baselines.choice import check_weight, choose
from topwise.baselines.cosine import TFIDF
from topwise.baselines.data import Sparse, Training
from topwise.baselines.svd import truncated_svd
from topwise.features.weighting import TermWeights, check_counts, unit_rows
from topwise.models.params import check_choice, check_count

ALPHAS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
WEIGHTINGS = ("tfidf", "none")


class LSI(Content, Factors):
    """f(c, d) = cos(V x, V y), V being the leading right singular vectors of the items' content.

    Parameters
    ----------
    dim: the number of singular vectors.
    weighting: "tfidf" weighs counts of words before; "none" takes features as they are.
    """

    uses: ClassVar[frozenset[str]] = frozenset({"context", "item"})
    needs: ClassVar[frozenset[str]] = frozenset({"context", "item"})

    def __init__(
        self, dim: int = 200, *, weighting: str = "tfidf", context: str | None = None, seed: int = 0
    ) -> None:
        self.dim = dim
        self.weighting = weighting
        self.context = context
        self.seed = seed

    def check_params(self) -> None:
        super().check_params()
        check_count("dim", self.dim)
        check_choice("weighting", self.weighting, WEIGHTINGS)

    def _learn(self, data: Training) -> None:
        contexts, items = self._keep_content(data), data.content("item")
        self.terms_ = None
        if self.weighting == "tfidf":
            check_counts(contexts)
            self.terms_ = TermWeights().fit(items)
        weighted = items if self.terms_ is None else self.terms_.transform(items)
        _, self.singular_values_, directions = truncated_svd(weighted.astype(np.float64), self.dim, self.seed)
        self.directions_ = directions.astype(np.float32)
        self.items_ = self._rows_of_content(items)

    def _rows_of_content(self, content: Sparse) -> Any:
        weighted = content if self.terms_ is None else self.terms_.transform(content)
        rows: Floats = weighted @ self.directions_.T
        return np.ascontiguousarray(unit_rows(rows), dtype=np.float32)


class LSITFIDF(Content):
    """α LSI + (1 − α) TF-IDF, both as cosines.

    Parameters
    ----------
    dim: the number of singular vectors of the LSI.
    alpha: between 0 and 1; "auto" takes the best of `alphas` on the validation log.
    metric: what "auto" looks at.
    sublinear: 1 + log(count) in place of the count, in the TF-IDF.
    """

    uses: ClassVar[frozenset[str]] = frozenset({"context", "item"})
    needs: ClassVar[frozenset[str]] = frozenset({"context", "item"})

    def __init__(
        self,
        dim: int = 200,
        alpha: float | str = 0.5,
        *,
        alphas: Sequence[float] = ALPHAS,
        metric: str = "map",
        sublinear: bool = False,
        context: str | None = None,
        seed: int = 0,
    ) -> None:
        self.dim = dim
        self.alpha = alpha
        self.alphas = alphas
        self.metric = metric
        self.sublinear = sublinear
        self.context = context
        self.seed = seed

    def check_params(self) -> None:
        super().check_params()
        check_count("dim", self.dim)
        check_weight("alpha", self.alpha, most=1)

    def _learn(self, data: Training) -> None:
        self._keep_content(data)
        self.latent_ = LSI(self.dim, seed=self.seed)
        self.latent_._learn(data)
        self.words_ = TFIDF(sublinear=self.sublinear)
        self.words_._learn(data)
        self.alpha_ = 0.5 if isinstance(self.alpha, str) else float(self.alpha)

    def _choose(self, data: Training) -> None:
        if self.alpha == "auto":
            self.tried_ = choose(self, "alpha", self.alphas, self.metric, data, self._use)

    def _use(self, alpha: float) -> None:
        self.alpha_ = alpha

    def _score(self, rows: Any) -> Floats:
        scores = np.float32(self.alpha_) * self.latent_._score(self.latent_._rows_of_content(rows))
        scores += np.float32(1 - self.alpha_) * self.words_._score(self.words_._rows_of_content(rows))
        return scores
