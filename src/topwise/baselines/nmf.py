"""Non-negative matrix factorisation."""

from __future__ import annotations

from topwise.baselines.base import Factors
from topwise.baselines.data import Training, check_values
from topwise.models.params import check_count


class NMF(Factors):
    """min ‖X − W H‖² over W ≥ 0 and H ≥ 0, by scikit-learn's coordinate descent.

    Parameters
    ----------
    dim: the length of the vectors.
    iterations: passes at most; it stops when the error falls by less than `tolerance` of the first.
    regularization: of the squares of both factors, times the size of the other side.
    context, values: as for `SVD`.
    """

    def __init__(
        self,
        dim: int = 50,
        *,
        context: str | None = None,
        values: str = "binary",
        iterations: int = 200,
        tolerance: float = 1e-4,
        regularization: float = 0.0,
        seed: int = 0,
    ) -> None:
        self.dim = dim
        self.context = context
        self.values = values
        self.iterations = iterations
        self.tolerance = tolerance
        self.regularization = regularization
        self.seed = seed

    def check_params(self) -> None:
        super().check_params()
        check_count("dim", self.dim)
        check_count("iterations", self.iterations)
        check_values(self.values)
        for name in ("tolerance", "regularization"):
            if not 0 <= float(getattr(self, name)) < float("inf"):
                raise ValueError(f"{name} must be at least 0 and finite, got {getattr(self, name)}")

    def _learn(self, data: Training) -> None:
        from sklearn import decomposition

        matrix = data.interactions(self.values)
        if self.dim > min(matrix.shape):
            raise ValueError(
                f"dim must be at most {min(matrix.shape)}, the smaller side of the matrix {matrix.shape}, "
                f"got {self.dim}"
            )
        model = decomposition.NMF(
            n_components=self.dim,
            init="nndsvda",
            max_iter=self.iterations,
            tol=self.tolerance,
            alpha_W=self.regularization,
            random_state=self.seed,
        )
        contexts = model.fit_transform(matrix)
        self._set(data, contexts, model.components_.T)
