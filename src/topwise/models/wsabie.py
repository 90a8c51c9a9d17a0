"""f(x, y) = x (UᵀV + α I) y."""

from __future__ import annotations

from topwise.data import Events, Features
from topwise.losses import Loss
from topwise.models.base import Embedding


class Wsabie(Embedding):
    """Features x of a query (an image, a text, a user's profile) and labels or items y in one space.

    Contexts are their content alone, so any row of features can be asked for: `recommend(features=rows)`.
    Labels are ids, or have features as well. With features of both sides in the same columns, `alpha` adds
    the product of the raw features: f = x(UᵀV + αI)y, for document retrieval.
    """

    def __init__(
        self,
        dim: int = 64,
        loss: Loss | str | None = None,
        epochs: int = 30,
        learning_rate: float = 0.8,
        max_norm: float | str | None = "auto",
        *,
        alpha: float = 0.0,
        norm_exponent: float = 0.15,
        optimizer: str = "adagrad",
        schedule: str = "linear",
        item_bias: bool = False,
        init_scale: float | None = None,
        threads: int | None = None,
        patience: int | None = None,
        metric: str = "ndcg@10",
        seed: int = 0,
    ) -> None:
        super().__init__(
            dim,
            loss,
            epochs,
            learning_rate,
            max_norm,
            norm_exponent=norm_exponent,
            optimizer=optimizer,
            schedule=schedule,
            item_bias=item_bias,
            init_scale=init_scale,
            threads=threads,
            patience=patience,
            metric=metric,
            seed=seed,
        )
        self.alpha = alpha

    def check_params(self) -> None:
        super().check_params()
        if not 0 <= float(self.alpha) < float("inf"):
            raise ValueError(f"alpha must be at least 0 and finite, got {self.alpha}")

    def _context_role(self, log: Events) -> str:
        # A log of labelled examples has queries; where it has users too, the features decide.
        return "query" if "query" in log.roles else "user"

    def _create_sides(self, log: Events, role: str, features: dict[str, Features | None]) -> None:
        of_context = features[role]
        if of_context is None:
            raise ValueError(f"Wsabie needs the features of its contexts: pass {role}_features=")
        if of_context.identity:
            of_context = Features(
                of_context.vocabulary, of_context.names, of_context.matrix, False, of_context.plan
            )
        of_items = features["item"]
        if self.alpha > 0 and (of_items is None or of_items.names != of_context.names):
            raise ValueError(
                "alpha above 0 needs features of both sides with the same columns: pass item_features="
            )
        super()._create_sides(log, role, {**features, role: of_context})

    def _overlap(self) -> float:
        return float(self.alpha)
