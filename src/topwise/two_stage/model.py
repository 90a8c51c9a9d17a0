"""TwoStage: retrieve candidates with one model, put them in order with another."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from topwise.data import Csr, Events, Features, Judgments, Vocabulary, split
from topwise.data.joining import concatenated
from topwise.models.feature_ranker import FeatureRanker
from topwise.models.params import Params, check_choice, check_count
from topwise.models.serving import NotFittedError
from topwise.two_stage.candidates import Candidates, contexts_of, excluded_rows, is_single, search
from topwise.two_stage.features import FEATURES, Function, Knowledge, Maker
from topwise.two_stage.judging import as_judgments, judged_candidates
from topwise.two_stage.run import Run

if TYPE_CHECKING:
    from topwise.models.files import Tensors

Ids = npt.NDArray[Any]
Floats = npt.NDArray[np.float32]

SPLITS = ("auto", "time", "random", "folds")
_HELD_CONTEXTS = 0.1  # of those with candidates, for the second stage to validate on


class TwoStage(Params):
    """The first stage's best candidates, re-ranked by what a ranker of judgments learned of such pairs.

    Parameters
    ----------
    first: an embedding model, fitted here, or a `Run`. None is `MatrixFactorization()`.
    second: a ranker of judgments, fitted here. None is `baselines.LambdaMART` on features that are brought to
        0 … 1 within each context, since the scores of a first stage that is fitted again have another scale.
    candidates: how many items of the first stage are re-ranked; the others follow in the first stage's order.
    features: which built-in features of a pair to use: score, rank, popularity, activity, neighbors, content.
        None is all that the first stage and the features of items allow.
    others: further embedding models, fitted here, whose scores are features.
    function: features of your own, by a function of `Pairs` (ids of contexts and items) that returns a row
        for each pair. It must know nothing of held-out events. It is not saved: set it again after loading.
    split: what the second stage learns from must be unseen by the first. "time": the latest `holdout` of the
        log; "random": a random one; "folds": each of `folds` parts in turn, which uses all events and costs
        as many fits; "auto" is "time" for a log with times, else "random".
    holdout: the share of the log for "time" and "random".
    refit: fit the first stage and the others again on the whole log in the end.
    hybrid: give the features of users, queries and items to the embedding models as well.
    threads: None is all cores.
    seed: of the splits; the models have their own.
    """

    def __init__(
        self,
        first: Any = None,
        second: FeatureRanker | None = None,
        candidates: int = 100,
        *,
        features: Sequence[str] | None = None,
        others: Sequence[Any] = (),
        function: Function | None = None,
        split: str = "auto",
        holdout: float = 0.2,
        folds: int = 4,
        refit: bool = True,
        hybrid: bool = False,
        threads: int | None = None,
        seed: int = 0,
    ) -> None:
        self.first = first
        self.second = second
        self.candidates = candidates
        self.features = features
        self.others = others
        self.function = function
        self.split = split
        self.holdout = holdout
        self.folds = folds
        self.refit = refit
        self.hybrid = hybrid
        self.threads = threads
        self.seed = seed

    first_: Any
    second_: FeatureRanker
    others_: list[Any]
    knowledge_: Knowledge
    feature_names_: list[str]
    judged_: str

    def check_params(self) -> None:
        """Refuses parameters that cannot be trained with."""
        check_count("candidates", self.candidates, 2)
        check_choice("split", self.split, SPLITS)
        check_count("folds", self.folds, 2)
        check_count("seed", self.seed, 0)
        if not 0 < float(self.holdout) < 1:
            raise ValueError(f"holdout must be a share between 0 and 1, got {self.holdout}")
        if self.threads is not None:
            check_count("threads", self.threads)
        for name in self.features or ():
            check_choice("features", name, tuple(FEATURES))
            if name == "neighbors" and isinstance(self.first, Run):
                raise ValueError(
                    "the feature 'neighbors' needs item vectors, and a run has none: leave it out"
                )
        if self.second is not None and not isinstance(self.second, FeatureRanker):
            raise TypeError(f"second must be a ranker of judgments, got {type(self.second).__name__}")
        for model in (*(() if self.first is None else (self.first,)), *self.others):
            if not hasattr(model, "item_vocabulary") and not hasattr(type(model), "item_vocabulary"):
                raise TypeError(
                    f"first and others must be embedding models or runs, got {type(model).__name__}"
                )

    # --- fitting ------------------------------------------------------------------------------------------

    def fit(
        self,
        train: Events,
        validation: Events | None = None,
        user_features: Features | None = None,
        item_features: Features | None = None,
        query_features: Features | None = None,
        *,
        progress: bool | None = None,
    ) -> Self:
        """Learns both stages from one log.

        The log is parted: the first stage learns from one part, makes candidates for the contexts of the
        other, and the second stage learns which of them are there. Then the first stage learns from all of
        it. With `validation`, later events, the second stage is validated on candidates of that final first
        stage; without, on a tenth of the contexts of its own part.
        """
        self.check_params()
        if not isinstance(train, Events):
            raise TypeError(f"train must be a log of events (tw.Events), got {type(train).__name__}")
        if len(train) == 0:
            raise ValueError("train must have at least one event, got an empty log")
        given = {"user": user_features, "item": item_features, "query": query_features}
        parts = [self._judged(seen, held, given, progress) for seen, held in self._splits(train)]
        judged = concatenated(*(judgments for judgments, _ in parts))
        maker = self._maker(train, given, progress) if self.refit else parts[-1][1]
        if validation is None:
            held = np.random.default_rng(self.seed).random(judged.n_queries) < _HELD_CONTEXTS
            if held.any() and not held.all():
                judged, held_out = judged.take(~held), judged.take(held)
            else:
                held_out = None
        else:
            held_out = judged_candidates(maker, validation, train, self.candidates, self._threads())
        second = self._default_second() if self.second is None else self.second.clone()
        second.fit(judged, held_out)
        self.second_ = second
        self.first_, self.others_, self.knowledge_ = maker.first, list(maker.others), maker.knowledge
        self.feature_names_ = list(judged.feature_names or [])
        self.judged_ = repr(judged)
        return self

    def _default_second(self) -> FeatureRanker:
        from topwise.baselines import LambdaMART

        return LambdaMART(
            trees=500,
            leaves=15,
            min_rows=500,
            patience=50,
            normalize="minmax",
            threads=self.threads,
            seed=self.seed,
        )

    def _splits(self, log: Events) -> Iterator[tuple[Events, Events]]:
        kind = self.split
        if kind == "auto":
            kind = "time" if log.time is not None else "random"
        if kind == "time":
            yield split.by_time(log, self.holdout)
        elif kind == "random":
            yield split.by_fraction(log, self.holdout, self.seed)
        else:
            yield from split.kfold(log, self.folds, self.seed)

    def _maker(self, log: Events, given: dict[str, Features | None], progress: bool | None) -> Maker:
        """The first stage and the others, fitted on a log, and what that log says."""
        if len(log) == 0:
            raise ValueError("the part of the log for the first stage is empty: make holdout smaller")
        from topwise.models import MatrixFactorization

        first = MatrixFactorization(threads=self.threads) if self.first is None else self.first.clone()
        features = {f"{role}_features": rows for role, rows in given.items()} if self.hybrid else {}
        others = [other.clone() for other in self.others]
        for model in (first, *others):
            if not isinstance(model, Run):
                model.fit(log, progress=progress, **features)
        names = self._chosen(first, given["item"] is not None)
        knowledge = Knowledge.of(log, first.roles[0], first.item_vocabulary, given["item"])
        return Maker(names, knowledge, first, others, self.function)

    def _chosen(self, first: Any, with_content: bool) -> list[str]:
        if self.features is not None:
            return list(self.features)
        left_out = {"neighbors"} if isinstance(first, Run) else set()
        return [name for name in FEATURES if name not in left_out | (set() if with_content else {"content"})]

    def _judged(
        self, seen: Events, held: Events, given: dict[str, Features | None], progress: bool | None
    ) -> tuple[Judgments, Maker]:
        maker = self._maker(seen, given, progress)
        return judged_candidates(maker, held, seen, self.candidates, self._threads()), maker

    # --- serving ------------------------------------------------------------------------------------------

    def _check_fitted(self) -> None:
        if not hasattr(self, "second_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet: call fit first")

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that make a context, as those of the first stage."""
        self._check_fitted()
        roles: tuple[str, ...] = self.first_.roles
        return roles

    @property
    def item_vocabulary(self) -> Vocabulary:
        """The catalogue of the first stage."""
        self._check_fitted()
        vocabulary: Vocabulary = self.first_.item_vocabulary
        return vocabulary

    @property
    def context_vocabulary(self) -> Vocabulary:
        """The contexts that the first stage knows."""
        self._check_fitted()
        vocabulary: Vocabulary = self.first_.context_vocabulary
        return vocabulary

    def _vocabulary(self, role: str) -> Vocabulary:
        return self.context_vocabulary

    scores_by_product = False
    takes_excluded = True

    def score_block(self, users: Any = None, queries: Any = None, excluded: Csr | None = None) -> Floats:
        """A score of every item for some contexts, for `tw.evaluate`: candidates above all others.

        `excluded` has what is left out of each context's list, and so is no candidate. Candidates have the
        second stage's scores; others follow below them in the first stage's order.
        """
        self._check_fitted()
        contexts = contexts_of(self, users, queries)
        if excluded is None:
            excluded = excluded_rows(self, contexts, None)
        rows, n_items = len(excluded), len(self.item_vocabulary)
        found = search(self.first_, contexts, self.candidates, excluded, self._threads())
        codes, again = self._ranked(found)
        some = codes >= 0
        lowest = np.where(some, again, np.inf).min(axis=1)
        floor = np.where(np.isfinite(lowest), lowest, 0.0) - 1
        below = self._first_scores(contexts, rows, n_items).astype(np.float64)
        below += (floor - below.max(axis=1))[:, None]
        out: Floats = below.astype(np.float32)
        out[np.nonzero(some)[0], codes[some]] = again[some]
        return out

    def recommend(
        self,
        users: Any = None,
        queries: Any = None,
        k: int = 10,
        exclude: Events | None = None,
        *,
        threads: int | None = None,
    ) -> tuple[Ids, Floats]:
        """The k best items of each context and their scores, best first; as `recommend` of other models.

        k is at most the number of candidates. Left out is what a context has in `exclude`.
        """
        self._check_fitted()
        check_count("k", k)
        if k > self.candidates:
            raise ValueError(f"k must be at most the {self.candidates} candidates of fitting, got {k}")
        single = is_single(self, users, queries)
        contexts = contexts_of(self, users, queries)
        found = search(
            self.first_,
            contexts,
            self.candidates,
            excluded_rows(self, contexts, exclude),
            threads or self._threads(),
        )
        codes, scores = self._ranked(found)
        from topwise.models.serving import ids_of

        ids = ids_of(self.item_vocabulary, codes[:, :k])
        scores = scores[:, :k]
        return (ids[0], scores[0]) if single else (ids, scores)

    def features_of(self, users: Any = None, queries: Any = None, exclude: Events | None = None) -> Judgments:
        """The candidates of contexts as rows of features, labels 0: what the second stage looks at."""
        self._check_fitted()
        contexts = contexts_of(self, users, queries)
        found = search(
            self.first_, contexts, self.candidates, excluded_rows(self, contexts, exclude), self._threads()
        )
        found = found.take(np.flatnonzero(found.valid.any(axis=1)))
        return as_judgments(self._serving_maker(), found)

    def _ranked(self, found: Candidates) -> tuple[npt.NDArray[np.int32], Floats]:
        """The candidates of each context in their final order, with scores that fall from one to the next.

        Trees give many rows the same score: those stay in the first stage's order.
        """
        scores = np.full(found.items.shape, -np.inf)
        some = found.take(np.flatnonzero(found.valid.any(axis=1)))
        if len(some):
            scores[found.valid] = self.second_.score(as_judgments(self._serving_maker(), some))
        order = np.argsort(-scores, axis=1, kind="stable")
        ranked = np.take_along_axis(scores, order, axis=1).astype(np.float32)
        for place in range(1, ranked.shape[1]):
            below = np.nextafter(ranked[:, place - 1], np.float32(-np.inf))
            np.minimum(ranked[:, place], below, out=ranked[:, place])
        return np.take_along_axis(found.items, order, axis=1), ranked

    def _serving_maker(self) -> Maker:
        wanted = [name for name in self.feature_names_ if name.startswith("function")]
        if wanted and self.function is None:
            raise ValueError(
                "this model was fitted with features by a function of yours, which no file holds: "
                "give it again by model.set_params(function=...)"
            )
        names = self._chosen(self.first_, self.knowledge_.content is not None)
        return Maker(names, self.knowledge_, self.first_, self.others_, self.function)

    def _first_scores(self, contexts: dict[str, Ids], rows: int, n_items: int) -> Floats:
        from topwise.evaluation.ranking import block_of, by_product, vectors_of

        if isinstance(self.first_, Run):
            return np.zeros((rows, n_items), dtype=np.float32)
        if by_product(self.first_):
            scores: Floats = vectors_of(self.first_, contexts) @ self.first_.item_vectors().T
            return scores
        return block_of(self.first_, contexts)

    def _threads(self) -> int:
        return self.threads if self.threads is not None else (os.cpu_count() or 1)

    # --- files --------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Writes both stages into one safetensors file."""
        from topwise.models.files import save_model

        self._check_fitted()
        save_model(self, path)

    def to_parts(self) -> tuple[Tensors, dict[str, Any]]:
        """Everything as tensors and plain data."""
        from topwise.models.files import describe

        tensors: Tensors = {}
        parts: dict[str, Any] = {}
        models = {"first": self.first_, "second": self.second_}
        models |= {f"other{number}": other for number, other in enumerate(self.others_)}
        for name, model in models.items():
            own, parts[name] = describe(model)
            tensors |= {f"{name}.{key}": tensor for key, tensor in own.items()}
        own, knowledge = self.knowledge_.to_parts()
        tensors |= {f"knowledge.{key}": tensor for key, tensor in own.items()}
        left_out = ("first", "second", "others", "function")
        params = {key: value for key, value in self.get_params().items() if key not in left_out}
        header = {"class": type(self).__name__, "params": params, "parts": parts, "knowledge": knowledge}
        return tensors, {**header, "feature_names": self.feature_names_, "judged": self.judged_}

    @classmethod
    def from_parts(cls, header: dict[str, Any], tensors: Tensors) -> Self:
        """The way back. Its parameters first, second and others are the fitted models."""
        from topwise.models.files import rebuild

        def own(name: str) -> Tensors:
            return {key[len(name) + 1 :]: t for key, t in tensors.items() if key.startswith(f"{name}.")}

        models = {name: rebuild(name, part, own(name)) for name, part in header["parts"].items()}
        others = [model for name, model in models.items() if name.startswith("other")]
        model = cls(models["first"], models["second"], others=others, **header["params"])
        model.first_, model.second_, model.others_ = models["first"], models["second"], others
        model.knowledge_ = Knowledge.from_parts(header["knowledge"], own("knowledge"))
        model.feature_names_, model.judged_ = header["feature_names"], header["judged"]
        return model
