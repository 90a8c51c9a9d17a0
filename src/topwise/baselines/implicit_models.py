"""Today's rivals: ALS over all pairs and BPR, by the library implicit."""

from __future__ import annotations

from typing import Any

import numpy as np

from topwise.baselines.base import Factors
from topwise.baselines.data import Training, check_values
from topwise.evaluation.ranking import use_threads
from topwise.models.params import check_above_zero, check_count


class _Implicit(Factors):
    """What ALS and BPR share: a matrix of interactions in, two tables of factors out."""

    dim: int
    epochs: int
    learning_rate: float
    regularization: float
    values: str
    threads: int | None

    def check_params(self) -> None:
        super().check_params()
        check_count("dim", self.dim)
        check_count("epochs", self.epochs)
        check_above_zero("regularization", self.regularization)
        check_values(self.values)
        if self.threads is not None:
            check_count("threads", self.threads)

    def _model(self) -> Any:
        raise NotImplementedError

    def _learn(self, data: Training) -> None:
        from scipy.sparse import csr_matrix
        from threadpoolctl import threadpool_limits

        # implicit brings threads of its own, and asks for BLAS on one.
        with threadpool_limits(1, "blas"):
            model = self._model()
            model.fit(csr_matrix(data.interactions(self.values)), show_progress=False)
        if not (np.isfinite(model.user_factors).all() and np.isfinite(model.item_factors).all()):
            raise ValueError(
                f"{type(self).__name__} has diverged: lower its learning rate or raise its regularization"
            )
        self._set(data, model.user_factors, model.item_factors)


class IALS(_Implicit):
    """Least squares over all pairs: an absent one weighs 1, a known one alpha times its value (Hu et al.)."""

    def __init__(
        self,
        dim: int = 64,
        regularization: float = 30.0,
        alpha: float = 10.0,
        epochs: int = 15,
        *,
        context: str | None = None,
        values: str = "binary",
        threads: int | None = None,
        seed: int = 0,
    ) -> None:
        self.dim = dim
        self.regularization = regularization
        self.alpha = alpha
        self.epochs = epochs
        self.context = context
        self.values = values
        self.threads = threads
        self.seed = seed

    def check_params(self) -> None:
        super().check_params()
        check_above_zero("alpha", self.alpha)

    def _model(self) -> Any:
        from implicit.cpu.als import AlternatingLeastSquares

        return AlternatingLeastSquares(
            factors=self.dim,
            regularization=self.regularization,
            alpha=self.alpha,
            iterations=self.epochs,
            num_threads=use_threads(self.threads),
            random_state=self.seed,
        )


class BPR(_Implicit):
    """The pairwise logistic loss (Rendle et al.); implicit draws its negatives by popularity.

    With more than one thread, no run is quite like another.
    """

    def __init__(
        self,
        dim: int = 64,
        learning_rate: float = 0.01,
        regularization: float = 0.001,
        epochs: int = 100,
        *,
        context: str | None = None,
        threads: int | None = None,
        seed: int = 0,
    ) -> None:
        self.dim = dim
        self.learning_rate = learning_rate
        self.regularization = regularization
        self.epochs = epochs
        self.context = context
        self.threads = threads
        self.seed = seed

    values = "binary"

    def check_params(self) -> None:
        super().check_params()
        check_above_zero("learning_rate", self.learning_rate)

    def _model(self) -> Any:
        from implicit.cpu.bpr import BayesianPersonalizedRanking

        return BayesianPersonalizedRanking(
            factors=self.dim,
            learning_rate=self.learning_rate,
            regularization=self.regularization,
            iterations=self.epochs,
            verify_negative_samples=True,
            num_threads=use_threads(self.threads),
            random_state=self.seed,
        )
