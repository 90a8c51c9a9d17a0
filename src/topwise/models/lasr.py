"""f(q, d) = q UᵀV d + Σ_j w_j d SᵀS d̄_j, where d̄ is the list of q by the step before."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from topwise.data import Events, Features
from topwise.losses import Loss
from topwise.models.base import Callback, Embedding
from topwise.models.inference import METHODS
from topwise.models.list_contexts import ListContexts
from topwise.models.params import check_above_zero, check_choice, check_count
from topwise.models.serving import Ids, _is_single, _rows_2d
from topwise.models.side import Side
from topwise.models.tables import Floats, empty_rows

if TYPE_CHECKING:
    from topwise.evaluation.consistency import ConsistencyReport


class StaleListsError(ValueError):
    """The lists that a model rests on are of a base that has been trained again since."""


class LaSR(ListContexts):
    """Latent Structured Ranking: an item's score depends on the query and on the list it would stand in.

    Algorithm 1 of the paper. Step 0 ranks without structure. Step t has U, V and S of its own, trained on
    eq. 14 with the list that step t − 1 gives each query: the context is [U q ; Σ_j w_j S d̄_j], an item is
    [V d ; S d]. A LaSR of T steps holds one of T − 1 steps (`before_`), down to its base.

    Parameters
    ----------
    steps: T, how many steps come after step 0.
    list_size: k, the length of the lists.
    inference: how `recommend` looks for the best list: "iterative" (eq. 7–9), "greedy" or "beam" (eq. 6).
    beam: the beginnings that "beam" keeps at each place.
    candidates: rank only so many items again, the best by the step before; None is the whole catalogue.
    base: step 0. A fitted model; or one that is not, which `fit` then trains first; None is a
        MatrixFactorization, or a Wsabie where contexts have features, with the parameters of this model.
    warm: start each step from the rows of the step before, where S is fresh at step 1.
    list_weights: "1/i" (eq. 4), or a weight for each place of the list, falling and not below 0.
    list_norm: the ball of S as a share of `max_norm`, at most 1. None is 1/Σ w, or 1 if that is more: so
        Σ_j w_j S d̄_j stays in the ball of U q.
    leave_out: leave the positive being trained out of its own list, since there base lists know it and at
        test they do not; False is eq. 14 to the letter.
    item_queries: whether queries are items: the query's own item is then never in its list, and not
        recommended. None finds out: queries without features, of which at least half are items by id.

    The other parameters are those of every embedding model, and the same for each step; steps with
    parameters of their own are stacked by `base`, which may be a LaSR. "auto" finds `max_norm` for each step.
    """

    _base_items: Side | None = None

    def __init__(
        self,
        dim: int = 64,
        steps: int = 1,
        list_size: int = 20,
        inference: str = "iterative",
        loss: Loss | str | None = None,
        epochs: int = 30,
        learning_rate: float = 0.8,
        max_norm: float | str | None = "auto",
        *,
        beam: int = 5,
        candidates: int | None = None,
        base: Embedding | None = None,
        warm: bool = False,
        list_weights: str | Sequence[float] | npt.NDArray[Any] = "1/i",
        list_norm: float | None = None,
        leave_out: bool = True,
        item_queries: bool | None = None,
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
        self.steps = steps
        self.list_size = list_size
        self.inference = inference
        self.beam = beam
        self.candidates = candidates
        self.base = base
        self.warm = warm
        self.list_weights = list_weights
        self.list_norm = list_norm
        self.leave_out = leave_out
        self.item_queries = item_queries

    def check_params(self) -> None:
        super().check_params()
        check_count("steps", self.steps)
        check_count("list_size", self.list_size)
        check_choice("inference", self.inference, METHODS)
        check_count("beam", self.beam)
        if self.candidates is not None:
            check_count("candidates", self.candidates)
        if self.base is not None and not isinstance(self.base, Embedding):
            raise TypeError(
                f"base must be a model of this package, got {type(self.base).__name__}: "
                "MatrixFactorization.from_vectors makes one of your own vectors"
            )
        if self.list_norm is not None:
            check_above_zero("list_norm", self.list_norm)
            if self.list_norm > 1:
                raise ValueError(f"list_norm must be at most 1, the ball of U and V, got {self.list_norm}")
        self._weights()

    def _weights(self) -> npt.NDArray[np.float32]:
        """w_1 … w_k."""
        if isinstance(self.list_weights, str):
            check_choice("list_weights", self.list_weights, ("1/i",))
            return (1 / np.arange(1, self.list_size + 1)).astype(np.float32)
        weights = np.asarray(self.list_weights, dtype=np.float32)
        if weights.shape != (self.list_size,):
            raise ValueError(
                f"list_weights must be one a place of the list, {self.list_size}, got {weights.size}"
            )
        if not (
            np.isfinite(weights).all() and (np.diff(weights) <= 0).all() and weights[-1] >= 0 < weights[0]
        ):
            raise ValueError("list_weights must be finite, not rise, not fall below 0, and begin above 0")
        return weights

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
        """Learns from a log of events, a step after the other.

        As for every model; each step ends with its own best epoch on `validation`, and `callback` gets the
        step in its records. A checkpoint holds the steps done and the state of the one under way. Ctrl-C
        leaves the steps learned so far.
        """
        from topwise.training.steps import fit_steps

        self.check_params()
        features = {"user": user_features, "item": item_features, "query": query_features}
        fit_steps(self, train, validation, features, callback, checkpoint, checkpoint_every, resume, progress)
        return self

    def _fit_step(self, *args: Any, **options: Any) -> None:
        """This step alone, on the lists of the one before."""
        super().fit(*args, **options)

    def fold_in(self, log: Events, **options: Any) -> Self:
        """As for every model, in each step of the chain; queries known before keep their lists."""
        self._check_fitted()
        before = self.before_
        self.before_ = copy.copy(before)
        try:
            self.before_.fold_in(log, **options)
            super().fold_in(log, **options)
        except BaseException:
            self.before_ = before
            raise
        return self

    def _for_trial(self, train: Events, features: dict[str, Features | None]) -> Embedding:
        from topwise.training.steps import refitted

        trial = copy.copy(self)
        trial._show = False
        trial._before = refitted(self._before, train, features)
        return trial

    def _first_norm(self) -> float | None:
        return getattr(self._before, "max_norm_", None)

    # --- what was learned ---------------------------------------------------------------------------------

    def _check_fitted(self) -> None:
        super()._check_fitted()
        if self._base_items is not None and getattr(self.base, "items_", None) is not self._base_items:
            raise StaleListsError(
                f"the base, a {type(self.base).__name__}, was trained again after this LaSR had learned "
                "from its lists: fit this LaSR again too, or give it a copy of the base"
            )

    @property
    def steps_(self) -> int:
        """The steps after step 0 that the model has: `steps`, and those of a base that is a LaSR."""
        before = self.__dict__.get("before_", self.__dict__.get("_before"))
        return 1 + (before.steps_ if isinstance(before, LaSR) else 0)

    def step(self, number: int) -> Embedding:
        """The model of step 0, 1, … as a whole: what this one would be with fewer steps."""
        self._check_fitted()
        if not 0 <= number <= self.steps_:
            raise ValueError(f"step must be between 0 and {self.steps_}, got {number}")
        model: Embedding = self
        while (model.steps_ if isinstance(model, LaSR) else 0) > number:
            assert isinstance(model, LaSR)
            model = model.before_
        return model

    def lists(self, users: Any = None, queries: Any = None) -> Ids:
        """d̄ of the step before for known contexts: the items that this step's scores look at, best first."""
        from topwise.models.serving import _known_codes, ids_of

        self._check_fitted()
        ids = self._context_ids(users, queries)
        codes = _known_codes(self.context_vocabulary, ids, self.role_)
        found = ids_of(self.item_vocabulary, self.lists_[codes])
        return found[0] if _is_single(ids, self.context_vocabulary) else found

    # --- serving ------------------------------------------------------------------------------------------

    def recommend(
        self,
        users: Any = None,
        queries: Any = None,
        k: int = 10,
        exclude: Events | None = None,
        items: Any = None,
        *,
        features: Any = None,
        threads: int | None = None,
        inference: str | None = None,
        candidates: int | None = None,
    ) -> tuple[Ids, Floats]:
        """As for every model, by the inference of the model or another one.

        Scores are those of eq. 9: with the list of the step before where inference is "iterative", and with
        the list itself where it is "greedy" or "beam", whose order they need not follow. Places after
        `list_size`, which weigh nothing, are filled by these scores. `candidates` ranks only so many items
        again, the best by the step before. A query that is an item does not get itself.
        """
        from topwise.models.structured import candidate_pools, recommend_lists

        self._check_fitted()
        check_count("k", k)
        inference = self.inference if inference is None else inference
        check_choice("inference", inference, METHODS)
        candidates = self.candidates if candidates is None else candidates
        if candidates is not None:
            check_count("candidates", candidates)
        ids, rows, excluded = None, None, None
        if features is not None:
            rows = _rows_2d(features)
            vectors, single = self._feature_vectors(rows), rows is not features
        else:
            ids = self._context_ids(users, queries)
            single = _is_single(ids, self.context_vocabulary)
            codes = self._codes(ids)
            vectors = self._known_vectors(codes)
            excluded = self._left_out(ids, codes, exclude)
        if inference == "iterative" and candidates is None:
            return self._top(vectors, None, k, excluded, items, single, threads)
        allowed, workers, pools = None, threads or self._threads(), None
        if items is not None:
            allowed = self._known_items(items)
        if candidates is not None:
            pools = candidate_pools(self, ids, rows, excluded, allowed, candidates, workers)
        found, scores = recommend_lists(self, vectors, k, excluded, allowed, pools, inference, workers)
        return (found[0], scores[0]) if single else (found, scores)

    def consistency(
        self,
        users: Any = None,
        queries: Any = None,
        k: int = 10,
        *,
        features: Any = None,
        item_features: Features | None = None,
        exclude: Events | None = None,
        inference: str | None = None,
    ) -> ConsistencyReport:
        """How alike the items of a list are, before (step 0) and after (this model), query by query.

        All known queries where none are given. `item_features`, or the content that the items were fitted
        with, adds how far apart they are by content.
        """
        from topwise.evaluation.consistency import compare_lists

        self._check_fitted()
        if features is None and users is None and queries is None:
            given = {"users" if self.role_ == "user" else "queries": self.context_vocabulary.ids}
        else:
            given = {"users": users, "queries": queries, "features": features}
        return compare_lists(self, given, k, item_features, exclude, inference)

    # --- files --------------------------------------------------------------------------------------------

    def _extra(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        from topwise.models.files import describe

        tensors, header = describe(self.before_)
        named = {f"before.{name}": tensor for name, tensor in tensors.items()}
        return (
            {**named, "lists": self.lists_, "own_items": self.own_items_},
            {"before": header, "base_given": self.base is not None},
        )

    def _take_extra(self, tensors: dict[str, npt.NDArray[Any]], header: dict[str, Any]) -> None:
        from topwise.models.files import rebuild

        prefix = "before."
        own = {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}
        self.before_ = rebuild("the file", header["before"], own)
        rows = empty_rows(len(self.items_.rows), self.columns)
        rows[:, : self.columns] = tensors["similar.rows"]
        self.similar_ = replace(self.items_, rows=rows)
        self.lists_, self.own_items_ = tensors["lists"], tensors["own_items"]
        if header["base_given"]:
            self.base = self.step(0)
            self._base_items = self.base.items_
