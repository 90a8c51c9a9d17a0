"""What every embedding model shares: parameters, fitting, serving, files. A model adds its composition."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from topwise import _core
from topwise.data import Events, Features
from topwise.losses import Loss, as_loss
from topwise.models.params import Params, check_above_zero, check_choice, check_count
from topwise.models.serving import Serving
from topwise.models.side import Side
from topwise.models.tables import Floats

if TYPE_CHECKING:
    from topwise.training import EpochRecord

Callback: TypeAlias = "Callable[[EpochRecord], bool | None]"

OPTIMIZERS = ("adagrad", "sgd")
SCHEDULES = ("linear", "cosine", "constant")


class Embedding(Serving, Params):
    """f(context, item) = φ(context) · ψ(item), trained by the loop of the package.

    Parameters
    ----------
    dim: the length of the vectors.
    loss: `AUC`, `OWPC`, `WARP` (the default) or `KOS`.
    epochs: passes over the log, at most; fewer with `patience`.
    learning_rate: the first step size; `schedule` says how it falls.
    max_norm: the papers' constraint ‖row‖ ≤ C. It decides the quality more than anything else. "auto" finds
        it on a slice of the log that it holds out for the search; None trains without it.
    norm_exponent: an item with n events may be as long as C·(n/n̄)^κ; 0 is the same ball for all.
    optimizer: "adagrad" keeps one accumulator a row; "sgd" none.
    schedule: "linear" and "cosine" fall to 0 by the last epoch, "constant" stays.
    item_bias: one more factor, 1 in every context.
    init_scale: the deviation of the first random rows; None is 0.3/dim.
    threads: None is all cores. `threads=1` gives the same model for the same seed, always; so does any other
        number for a MatrixFactorization without features, by AUC or WARP.
    patience: with a validation log, the epochs without a better `metric` after which training stops.
    metric: what validation looks at; any name that `evaluate` knows.
    seed: of everything random.
    """

    _history_is_context: ClassVar[bool] = False
    _phase: str = "training"  # what the progress bar says of the epochs

    def __init__(
        self,
        dim: int = 64,
        loss: Loss | str | None = None,
        epochs: int = 30,
        learning_rate: float = 0.8,
        max_norm: float | str | None = "auto",
        *,
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
        self.dim = dim
        self.loss = loss
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.max_norm = max_norm
        self.norm_exponent = norm_exponent
        self.optimizer = optimizer
        self.schedule = schedule
        self.item_bias = item_bias
        self.init_scale = init_scale
        self.threads = threads
        self.patience = patience
        self.metric = metric
        self.seed = seed

    # --- fitting ------------------------------------------------------------------------------------------

    def fit(
        self,
        train: Events,
        validation: Events | None = None,
        user_features: Features | None = None,
        item_features: Features | None = None,
        query_features: Features | None = None,
        *,
        callback: Callback | None = None,
        checkpoint: str | Path | None = None,
        checkpoint_every: int = 1,
        resume: bool = False,
        progress: bool | None = None,
    ) -> Self:
        """Learns from a log of events.

        With `validation`, every epoch ends with `metric` on it (the items of `train` left out), and the rows
        of the best epoch are kept. `callback` gets a record after each epoch; returning False stops. With
        `checkpoint`, the state is written to that file every so many epochs, and `resume=True` goes on from
        it, if it is there, to the same result. `progress` shows a bar (None: in a terminal only). Ctrl-C ends
        training early and leaves a usable model.
        """
        from topwise.training import FitOptions, fit_model

        self.check_params()
        features = {"user": user_features, "item": item_features, "query": query_features}
        options = FitOptions(callback, checkpoint, checkpoint_every, resume, progress)
        fit_model(self, train, validation, features, options)
        return self

    def fold_in(
        self,
        log: Events,
        *,
        epochs: int = 10,
        known: Events | None = None,
        learning_rate: float | None = None,
        progress: bool | None = None,
    ) -> Self:
        """Learns rows for the users and the items of `log` that the model does not know yet.

        New users learn with all items as they are, then new items with all users as they are; every other
        row stays the same to the bit. `known` has further positives of those users, which are then never
        drawn as negatives.
        """
        from topwise.training import fold_in

        check_count("epochs", epochs)
        fold_in(
            self, log, known, epochs, self.learning_rate if learning_rate is None else learning_rate, progress
        )
        return self

    def check_params(self) -> None:
        """Refuses parameters that cannot be trained with."""
        check_count("dim", self.dim)
        check_count("epochs", self.epochs)
        check_above_zero("learning_rate", self.learning_rate)
        if isinstance(self.max_norm, str):
            check_choice("max_norm", self.max_norm, ("auto",))
        elif self.max_norm is not None:
            check_above_zero("max_norm", self.max_norm)
        if not 0 <= float(self.norm_exponent) <= 1:
            raise ValueError(f"norm_exponent must be between 0 and 1, got {self.norm_exponent}")
        check_choice("optimizer", self.optimizer, OPTIMIZERS)
        check_choice("schedule", self.schedule, SCHEDULES)
        if self.init_scale is not None:
            check_above_zero("init_scale", self.init_scale)
        if self.threads is not None:
            check_count("threads", self.threads)
        if self.patience is not None:
            check_count("patience", self.patience)
        check_count("seed", self.seed, 0)
        as_loss(self.loss).check()

    # --- the composition, for subclasses ------------------------------------------------------------------

    def _create_sides(self, log: Events, role: str, features: dict[str, Features | None]) -> None:
        """Fresh rows for both sides, from the ids of the log and of the features."""
        rng = np.random.default_rng(self.seed)
        scale = 0.3 / self.dim if self.init_scale is None else float(self.init_scale)

        def create(of: str) -> Side:
            return Side.create(of, log.vocabulary(of), features[of], self.dim, self.columns, scale, rng)

        self.role_ = role
        self.context_ = None if self._history_is_context else create(role)
        self.items_ = create("item")
        if (
            self.context_ is not None
            and self.item_bias
            and self.context_.ids
            and self.context_.content is None
        ):
            self.context_.rows[:, self.dim] = 1

    def _kernel_contexts(self, bind: Callable[[Side], _core.Side]) -> _core.Contexts:
        """What the kernel makes contexts from; `bind` gives it the rows of a side."""
        return _core.Contexts.by_rows(bind(self.context_)) if self.context_ else _core.Contexts.by_history()

    def _contexts_apart(self) -> bool:
        """Whether contexts learn alone, the items fixed: then neither threads nor order matter to the bit."""
        return False

    def _sides(self) -> dict[str, Side]:
        """Everything that has rows."""
        return {"items": self.items_} | ({} if self.context_ is None else {"context": self.context_})

    def _put_sides(self, sides: dict[str, Side]) -> None:
        """Everything that has rows, as it comes from a file."""
        self.items_, self.context_ = sides["items"], sides.get("context")

    def _extend(
        self, role: str, ids: npt.NDArray[Any], log: Events, make: Callable[[Side, int], Floats]
    ) -> None:
        """More users or queries, of which the log has the events; `make` gives so many fresh rows."""
        side = self.context_
        assert side is not None
        if not side.ids:
            raise ValueError(f"contexts of this {type(self).__name__} are their content alone: use features=")
        self.context_ = side.extended(ids, lambda count: make(side, count))

    def _extend_items(self, ids: npt.NDArray[Any], make: Callable[[Side, int], Floats]) -> None:
        """Rows for more items, which `make` gives."""
        side = self.items_
        self.items_ = side.extended(ids, lambda count: make(side, count))

    def _for_trial(self, train: Events, features: dict[str, Features | None]) -> Embedding:
        """What the search for `max_norm` makes its runs from: nothing in it may know more than `train`."""
        return self

    def _first_norm(self) -> float | None:
        """Where that search begins; None is a guess from the log."""
        return None

    def _learned_from(self) -> tuple[npt.NDArray[Any], ...]:
        """What a fit rests on beside the log and the features; a checkpoint goes on with the same alone."""
        return ()

    def _context_role(self, log: Events) -> str:
        return log.context_role

    def _context_roles(self, log: Events) -> tuple[str, ...]:
        """The roles of the log that make a context, that of `_context_role` among them."""
        return (self._context_role(log),)

    def _max_norm_of(self, side: Side, max_norm: float | None) -> float | None:
        """The ball of a side's rows."""
        return max_norm

    def _judged_without(self, train: Events) -> Events | None:
        """What validation leaves out of the lists: the items that a context has in the training log."""
        return train

    # --- files --------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Writes the model into one safetensors file. A crash while saving leaves an old file whole."""
        from topwise.models.files import save_model

        self._check_fitted()
        save_model(self, path)

    def _extra(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        """Tensors and plain data that the model file has beside parameters and sides."""
        return {}, {}

    def _take_extra(self, tensors: dict[str, npt.NDArray[Any]], header: dict[str, Any]) -> None:
        """Takes back what `_extra` gave."""

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_index"}
