"""f(u, d) = max_t Û_tu · V_d."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from topwise import _core
from topwise.data import Csr, Events, Features, Vocabulary
from topwise.losses import Loss
from topwise.models.base import Callback, Embedding
from topwise.models.params import check_choice, check_count
from topwise.models.serving import Ids, _is_single, _known_codes, _rows_2d, _unit, ids_of
from topwise.models.side import Side
from topwise.models.tables import Floats, random_rows
from topwise.models.taste_side import Integers, TasteSide, number_of_tastes, order_weights, seeded_rows
from topwise.models.tastes import Taste, Tastes, merge_tastes

if TYPE_CHECKING:
    from topwise.training.stages import ItemStage


class MaxMF(Embedding):
    """Several vectors, tastes, for every user (or query), of which the one that suits an item best speaks.

    Parameters beside those of every model
    ----------
    tastes: T, the same for all users; or "auto", by a user's number n of positives: 1 + ⌊log2(n / 8)⌋, from 1
        to 10. With fewer positives than T a user still has T tastes, some of which stay as they began.
    smooth: weighs a user's tastes by their order for an item, each `smooth` times the one before; so 0 is the
        maximum and 1 the mean.
    stages: 1 learns tastes and items together. 2 learns the items by `ItemBag` first, then every user's
        tastes alone: in parallel, the same for any number of threads, and on a cluster if wanted
        (`fit(cluster=)`).

    With features of the context, what they say counts for all of its tastes alike. With features of the items
    this is the model of the senses of a query: f(q, d) = max_t S_tq · V Φ(d).
    """

    _stored: ClassVar[Mapping[str, str]] = {"tastes": "n_tastes"}
    _item_stage: ItemStage | None = None
    _positives: npt.NDArray[np.int64] | None = None  # of each context, while a fit is going on

    def __init__(
        self,
        dim: int = 64,
        loss: Loss | str | None = None,
        epochs: int = 30,
        learning_rate: float = 0.8,
        max_norm: float | str | None = "auto",
        *,
        tastes: int | str = 5,
        smooth: float = 0.0,
        stages: int = 1,
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
        self.n_tastes = tastes  # `tastes` is the method that shows them
        self.smooth = smooth
        self.stages = stages

    def check_params(self) -> None:
        super().check_params()
        if isinstance(self.n_tastes, str):
            check_choice("tastes", self.n_tastes, ("auto",))
        else:
            check_count("tastes", self.n_tastes)
        if not 0 <= float(self.smooth) <= 1:
            raise ValueError(f"smooth must be between 0 (the maximum) and 1 (the mean), got {self.smooth}")
        check_count("stages", self.stages)
        if self.stages > 2:
            raise ValueError(f"stages must be 1 or 2, got {self.stages}")

    # --- fitting ------------------------------------------------------------------------------------------

    def fit(
        self,
        train: Events,
        validation: Events | None = None,
        user_features: Features | None = None,
        item_features: Features | None = None,
        query_features: Features | None = None,
        *,
        items_from: Embedding | None = None,
        cluster: str | None = None,
        parts: str | Path | None = None,
        callback: Callback | None = None,
        checkpoint: str | Path | None = None,
        checkpoint_every: int = 1,
        resume: bool = False,
        progress: bool | None = None,
    ) -> Self:
        """As for every model. With `stages=2`: `items_from` is a fitted model whose item vectors are taken,
        in place of learning them. `cluster` is the address of a Ray cluster, or "auto", which then learns the
        tastes; `parts` a folder that its nodes share, where each part of the users is kept when it is done,
        so that a broken run goes on. The first stage's checkpoint stands beside the second's, as FILE.items.
        """
        self.check_params()
        arguments: dict[str, Any] = {
            "callback": callback,
            "checkpoint": checkpoint,
            "checkpoint_every": checkpoint_every,
            "resume": resume,
            "progress": progress,
        }
        features = (user_features, item_features, query_features)
        given = {"items_from": items_from, "cluster": cluster, "parts": parts}
        if self.stages == 1:
            wrong = [name for name, value in given.items() if value is not None]
            if wrong:
                raise ValueError(f"{wrong[0]} goes with training in two stages: set stages=2")
            try:
                return super().fit(train, validation, *features, **arguments)
            finally:
                self._positives = None
        from topwise.training.stages import fit_two_stages

        named = dict(zip(("user", "item", "query"), features, strict=True))
        fit_two_stages(self, train, validation, named, items_from, cluster, parts, arguments)
        return self

    def _create_sides(self, log: Events, role: str, features: dict[str, Features | None]) -> None:
        rng = np.random.default_rng(self.seed)
        of_context = features[role]
        if of_context is not None and not of_context.identity:
            raise ValueError(
                f"tastes are rows of the {role}'s own, and {role}_features were given with identity=False: "
                "give them with identity=True, or use Wsabie"
            )

        def make(count: int) -> Floats:
            return random_rows(count, self.dim, self.columns, self._scale(), rng)

        self.role_ = role
        # The search for max_norm tries parts of the log, with the tastes of the whole.
        if self._positives is None or len(self._positives) != log.n(role):
            self._positives = np.bincount(log.codes(role)[log.codes(role) >= 0], minlength=log.n(role))
        positives = self._positives
        if self.stages == 2:
            counts = number_of_tastes(self.n_tastes, positives)
            indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
            rows = seeded_rows(self.seed, 0, indptr, self.dim, self.columns, self._scale())
            self.context_ = TasteSide(role, log.vocabulary(role), rows, indptr=indptr)
            self.items_ = self._stage().items_of(log)
        else:

            def counts_of(vocabulary: Vocabulary) -> Integers:
                cold = np.zeros(len(vocabulary) - len(positives), dtype=np.int64)
                return number_of_tastes(self.n_tastes, np.concatenate([positives, cold]))

            self.context_ = TasteSide.fresh(role, log.vocabulary(role), of_context, counts_of, make)
            self.items_ = Side.create(
                "item", log.vocabulary("item"), features["item"], self.dim, self.columns, self._scale(), rng
            )
        if self.item_bias and self.context_.content is None:
            self.context_.rows[:, self.dim] = 1

    def _scale(self) -> float:
        return 0.3 / self.dim if self.init_scale is None else float(self.init_scale)

    def _stage(self) -> ItemStage:
        from topwise.training.stages import ItemStage

        return self._item_stage or ItemStage(self)

    def _kernel_contexts(self, bind: Callable[[Side], _core.Side]) -> _core.Contexts:
        side = self._tastes_side()
        return _core.Contexts.by_tastes(bind(side), side.indptr, float(self.smooth))

    def _contexts_apart(self) -> bool:
        return self.stages == 2

    def _extend(
        self, role: str, ids: npt.NDArray[Any], log: Events, make: Callable[[Side, int], Floats]
    ) -> None:
        side = self._tastes_side()
        codes = log.codes(role)
        positives = np.bincount(codes[codes >= 0], minlength=log.n(role))[log.vocabulary(role).codes(ids)]
        self.context_ = side.extended_by(
            ids, number_of_tastes(self.n_tastes, positives), lambda count: make(side, count)
        )

    # --- serving ------------------------------------------------------------------------------------------

    def _tastes_side(self) -> TasteSide:
        self._check_fitted()
        assert isinstance(self.context_, TasteSide)
        return self.context_

    @property
    def scores_by_product(self) -> bool:
        """A score is the largest of several products."""
        return False

    def taste_vectors(
        self, users: Any = None, queries: Any = None, features: Any = None
    ) -> tuple[Floats, Integers]:
        """The tastes of users or queries, one after the other, and where each one's begin (one end more).

        An unknown id has one taste, the mean over all contexts; so has a row of raw features, its content.
        """
        self._check_fitted()
        if features is not None:
            vectors = self._feature_vectors(_rows_2d(features))
            return vectors, np.arange(len(vectors) + 1)
        return self._tastes_of(self._codes(self._context_ids(users, queries)))

    def _tastes_of(self, codes: npt.NDArray[np.int64]) -> tuple[Floats, Integers]:
        known = codes >= 0
        vectors, starts = self._tastes_side().taste_vectors(self.columns, codes[known])
        if known.all():
            return self._with_one(vectors), starts
        counts = np.ones(len(codes), dtype=np.int64)
        counts[known] = np.diff(starts)
        rows = np.tile(self.mean_context_, (int(counts.sum()), 1))
        rows[np.repeat(known, counts)] = vectors
        return self._with_one(rows), np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    def recommend(  # type: ignore[override]
        self,
        users: Any = None,
        queries: Any = None,
        k: int = 10,
        exclude: Events | None = None,
        items: Any = None,
        *,
        features: Any = None,
        threads: int | None = None,
        return_taste: bool = False,
    ) -> tuple[Ids, Floats] | tuple[Ids, Floats, npt.NDArray[np.int32]]:
        """As for every model; with `return_taste` also the number of the taste that suits each item best,
        from 1 as `tastes` counts them, and 0 where there is no item.

        The best of every taste are found, and the best of them all are kept: exact, since an item of the
        answer is among the k best of its own taste. Smoothed maxima are found by scoring all items.
        """
        self._check_fitted()
        check_count("k", k)
        excluded = None
        if features is not None:
            rows = _rows_2d(features)
            (vectors, starts), single = self.taste_vectors(features=rows), rows is not features
        else:
            ids = self._context_ids(users, queries)
            single = _is_single(ids, self.context_vocabulary)
            vectors, starts = self._tastes_of(self._codes(ids))
            excluded = None if exclude is None else self._excluded({self.role_: ids}, exclude)
        candidates = None if items is None else self._known_items(items)
        best, scores, taste = self._best_of_tastes(
            vectors, starts, k, excluded, candidates, threads or self._threads()
        )
        answer = (ids_of(self.item_vocabulary, best), scores, taste)[: 3 if return_taste else 2]
        return tuple(part[0] for part in answer) if single else answer  # type: ignore[return-value]

    def _best_of_tastes(
        self,
        vectors: Floats,
        starts: Integers,
        k: int,
        excluded: Csr | None,
        candidates: npt.NDArray[np.int32] | None,
        threads: int,
    ) -> tuple[npt.NDArray[np.int32], Floats, npt.NDArray[np.int32]]:
        retriever, counts = self._retriever(), np.diff(starts)
        if self.smooth == 0:
            owner = np.repeat(np.arange(len(counts)), counts)
            of_taste = None if excluded is None else excluded.take(owner)
            found = retriever.search(vectors, k, of_taste, candidates, threads)
            return merge_tastes(*found, starts)
        best, scores = retriever.search_blocks(
            lambda rows: self._scores(*_some(vectors, starts, rows)), len(counts), k, excluded, candidates
        )
        products = np.full(
            (len(counts), int(counts.max(initial=1)), best.shape[1]), -np.inf, dtype=np.float32
        )
        for context, (begin, end) in enumerate(pairwise(starts)):
            products[context, : end - begin] = vectors[begin:end] @ retriever.vectors[best[context]].T
        taste = np.where(best < 0, 0, products.argmax(axis=1) + 1).astype(np.int32)
        return best, scores, taste

    def score_block(self, users: Any = None, queries: Any = None, features: Any = None) -> Floats:
        """The scores of all items for some contexts: as many columns as the catalogue has items."""
        return self._scores(*self.taste_vectors(users, queries, features))

    def _scores(self, vectors: Floats, starts: Integers) -> Floats:
        items = self._retriever().vectors.T
        scores = np.empty((len(starts) - 1, items.shape[1]), dtype=np.float32)
        for context, (begin, end) in enumerate(pairwise(starts)):
            products = vectors[begin:end] @ items
            if self.smooth > 0:
                products = -np.sort(-products, axis=0)
                scores[context] = order_weights(end - begin, self.smooth) @ products
            else:
                scores[context] = products.max(axis=0)
        return scores

    def tastes(
        self, of: Any, k: int = 10, metric: str = "dot", titles: Mapping[Any, str] | None = None
    ) -> Tastes:
        """The tastes of one user (or query), each by its nearest items: `print(model.tastes(42))`.

        Nearest are the items that the taste scores best, or by "cosine" those in its direction, whatever
        their length. `titles` says what items are called.
        """
        self._check_fitted()
        check_count("k", k)
        check_choice("metric", metric, ("dot", "cosine"))
        if not _is_single(of, self.context_vocabulary):
            raise ValueError(f"tastes are shown of one {self.role_} at a time, got {of!r}")
        vectors, _ = self._tastes_of(_known_codes(self.context_vocabulary, of, self.role_))
        retriever = self._retriever()
        if metric == "cosine":
            from topwise.retrieval import Retriever

            vectors = _unit(vectors[:, : self.dim])
            retriever = Retriever(_unit(self.item_vectors()[:, : self.dim]))
        best, scores = retriever.search(np.ascontiguousarray(vectors), k, None, None, self._threads())
        ids = ids_of(self.item_vocabulary, best)
        shown = [Taste(t + 1, ids[t], scores[t]) for t in range(len(ids))]
        return Tastes(self.role_, of, shown, metric, titles)


def _some(vectors: Floats, starts: Integers, rows: slice) -> tuple[Floats, Integers]:
    """The tastes of contexts that follow each other."""
    ends = starts[rows.start : rows.stop + 1]
    return vectors[ends[0] : ends[-1]], ends - ends[0]
