"""What every baseline shares: what it is fitted with, and what it answers. A baseline adds its scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from topwise.baselines.data import Sparse, Training, narrow
from topwise.data import Csr, Events, Features, Vocabulary
from topwise.evaluation.ranking import PLURAL, use_threads
from topwise.models.params import Params, check_choice, check_count
from topwise.models.serving import NotFittedError, _is_single, _known_codes, _rows_2d, ids_of

Floats: TypeAlias = npt.NDArray[np.float32]
Ids: TypeAlias = npt.NDArray[Any]
Codes: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Asked:
    """The contexts of a question: what the baseline scores them from, and the ids that they were given by."""

    rows: Any
    count: int
    ids: Mapping[str, Any]
    single: bool


class Baseline(Params):
    """Scores of all items for a context, learned in one way or another.

    A subclass learns in `_learn`, makes something that can be sliced out of contexts, `_rows` (or
    `_rows_of_content` from raw features), and scores it by `_score`. Unknown contexts, those without events
    or content, have the code −1: they get what suits the mean context.
    """

    scores_by_product: ClassVar[bool] = False
    uses: ClassVar[frozenset[str]] = frozenset()
    """The sides of which it can use features: "context", "item"."""
    needs: ClassVar[frozenset[str]] = frozenset()
    """The sides of which it must have features."""

    context: str | None
    seed: int

    vocabularies_: Mapping[str, Vocabulary]
    known_: Mapping[str, npt.NDArray[np.bool_]]

    # --- fitting ------------------------------------------------------------------------------------------

    def fit(
        self,
        train: Events,
        validation: Events | None = None,
        user_features: Features | None = None,
        item_features: Features | None = None,
        query_features: Features | None = None,
    ) -> Self:
        """Learns from a log of events, and from features where the baseline has a use for them.

        `validation` is for the parameters that are "auto"; without any it is not looked at.
        """
        self.check_params()
        features = {"user": user_features, "item": item_features, "query": query_features}
        data = Training.of(self, train, validation, features)
        self._forget()
        try:
            self._learn(data)
            self.vocabularies_ = data.vocabularies
            self.known_ = self._known(data)
            self._choose(data)
        except BaseException:
            self._forget()
            raise
        return self

    def check_params(self) -> None:
        """Refuses parameters that cannot be fitted with."""
        if getattr(self, "context", None) is not None:
            check_choice("context", self.context, ("user", "query"))
        if hasattr(self, "seed"):
            check_count("seed", self.seed, 0)

    def _roles_of(self, log: Events, features: Mapping[str, Features | None]) -> tuple[str, ...]:
        """The roles that make a context of a log: one, by `context`, by its features, or the log's first."""
        role = self.context
        if role is None:
            by_content = (r for r in ("query", "user") if features[r] is not None and r in log.roles)
            return (next(by_content, log.context_role),)
        if role not in log.roles:
            raise ValueError(f"train must have the role {role!r} for context={role!r}; {log!r} has not")
        return (role,)

    def _learn(self, data: Training) -> None:
        raise NotImplementedError(f"{type(self).__name__} must define _learn")

    def _choose(self, data: Training) -> None:
        """Finds what is left to the validation log."""

    def _known(self, data: Training) -> dict[str, npt.NDArray[np.bool_]]:
        """Which ids of each role of the contexts have something to go by: events, here."""
        return {role: data.has_events(role) for role in data.roles}

    def _forget(self) -> None:
        for name in [name for name in vars(self) if name.endswith("_") or name == "_index"]:
            delattr(self, name)

    # --- what is known ------------------------------------------------------------------------------------

    def _check_fitted(self) -> None:
        if not hasattr(self, "vocabularies_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet: call fit first")

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that make a context."""
        self._check_fitted()
        return tuple(self.known_)

    @property
    def item_vocabulary(self) -> Vocabulary:
        """The catalogue: every item that can be recommended, in order of its number."""
        self._check_fitted()
        return self.vocabularies_["item"]

    @property
    def user_vocabulary(self) -> Vocabulary | None:
        """The users that it knows, if users are a part of its contexts."""
        self._check_fitted()
        return self.vocabularies_.get("user")

    @property
    def query_vocabulary(self) -> Vocabulary | None:
        """The queries that it knows, if queries are a part of its contexts."""
        self._check_fitted()
        return self.vocabularies_.get("query")

    # --- answers ------------------------------------------------------------------------------------------

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
    ) -> tuple[Ids, Floats]:
        """The k best items of each context and their scores, best first, ties in catalogue order.

        As with the models: one id gives arrays of one dimension, several of two; contexts that are pairs are
        given by `users` and `queries` of the same length; `exclude` leaves out the items that a context has
        in that log, and `items` restricts the answer to some. Rows that end early go on with −inf.
        """
        self._check_fitted()
        check_count("k", k)
        asked = self._asked(users, queries, features)
        excluded = None if exclude is None or not asked.ids else self._excluded(asked.ids, exclude)
        candidates = None
        if items is not None:
            candidates = np.unique(_known_codes(self.item_vocabulary, items, "item")).astype(np.int32)
        best, scores = self._search(asked, k, excluded, candidates, use_threads(threads))
        found = ids_of(self.item_vocabulary, best)
        return (found[0], scores[0]) if asked.single else (found, scores)

    def score_block(self, users: Any = None, queries: Any = None, *, features: Any = None) -> Floats:
        """The scores of all items for some contexts: as many columns as the catalogue has items."""
        self._check_fitted()
        return self._score(self._asked(users, queries, features).rows)

    def _search(
        self, asked: Asked, k: int, excluded: Csr | None, candidates: Any, threads: int
    ) -> tuple[npt.NDArray[np.int32], Floats]:
        from topwise.retrieval import search_blocks

        def score(rows: slice) -> Floats:
            return self._score(asked.rows[rows])

        return search_blocks(score, asked.count, len(self.item_vocabulary), k, excluded, candidates)

    def _rows(self, codes: Mapping[str, Codes]) -> Any:
        """What `_score` takes, for contexts by their codes; −1 is the mean context."""
        raise NotImplementedError(f"{type(self).__name__} must define _rows")

    def _rows_of_content(self, content: Sparse) -> Any:
        """What `_score` takes, for rows of raw features."""
        raise ValueError(f"a {type(self).__name__} knows its contexts by their ids: pass users= or queries=")

    def _score(self, rows: Any) -> Floats:
        """The scores of all items, in an array of its own."""
        raise NotImplementedError(f"{type(self).__name__} must define _score")

    def _asked(self, users: Any, queries: Any, features: Any = None) -> Asked:
        self._check_fitted()
        given = {r: ids for r, ids in {"user": users, "query": queries}.items() if ids is not None}
        if features is not None:
            if given:
                raise ValueError("contexts are given by ids or by features=, not by both")
            content = self._raw_content(features)
            return Asked(self._rows_of_content(content), content.shape[0], {}, np.ndim(features) == 1)
        if set(given) != set(self.roles):
            wanted = " and ".join(f"{PLURAL[role]}=" for role in self.roles)
            raise ValueError(
                f"this {type(self).__name__} recommends for contexts by their ids: pass {wanted}"
            )
        single = [_is_single(ids, self.vocabularies_[role]) for role, ids in given.items()]
        codes = {role: self.vocabularies_[role].codes(ids) for role, ids in given.items()}
        counts = {role: len(own) for role, own in codes.items()}
        if len(set(counts.values())) > 1 or len(set(single)) > 1:
            listed = ", ".join(f"{count} {PLURAL[role]}" for role, count in counts.items())
            raise ValueError(f"contexts that are pairs need as many users as queries, got {listed}")
        # The flag behind the last answers for −1.
        known = {role: np.append(self.known_[role], False)[own] for role, own in codes.items()}
        codes = {role: np.where(known[role], own, -1) for role, own in codes.items()}
        return Asked(self._rows(codes), next(iter(counts.values())), given, single[0])

    def _raw_content(self, features: Any) -> Sparse:
        """Raw features as sparse rows, in any of the forms that Features takes."""
        if isinstance(features, Features):
            features = features.matrix
        rows = _rows_2d(features)
        count = rows.shape[0] if hasattr(rows, "shape") else len(rows)
        return narrow(Features.from_matrix(range(count), rows).matrix.to_scipy())

    def _excluded(self, ids: Mapping[str, Any], exclude: Events) -> Csr:
        """What `exclude` holds for each of these contexts, in the catalogue's numbers.

        Of a pair it is what the log has for the pair, or for its user where the log has users alone.
        """
        if not isinstance(exclude, Events):
            raise TypeError(f"exclude must be a log of events, got {type(exclude).__name__}")
        log = exclude.recode({"item": self.item_vocabulary})
        has = np.zeros(len(log), dtype=np.int64)
        wanted: Codes = np.zeros(1, dtype=np.int64)
        # One number for each context; pairs count role by role.
        roles = [role for role in ids if role in exclude.roles] or list(ids)[:1]
        for role, own in ((role, ids[role]) for role in roles):
            of_log, asked = log.codes(role).astype(np.int64), exclude.vocabulary(role).codes(own)
            has = np.where((has < 0) | (of_log < 0), -1, has * log.n(role) + of_log)
            wanted = np.where((wanted < 0) | (asked < 0), -1, wanted * log.n(role) + asked)
        contexts, row = np.unique(wanted, return_inverse=True)
        place = np.minimum(np.searchsorted(contexts, has), len(contexts) - 1)
        chosen = (contexts[place] == has) & (has >= 0) & (log.item >= 0)
        shape = (len(contexts), len(self.item_vocabulary))
        return Csr.from_coordinates(place[chosen], log.item[chosen], shape).take(row)


class Content(Baseline):
    """Contexts that are known by their features alone; so any row of features can be asked for."""

    uses: ClassVar[frozenset[str]] = frozenset({"context"})
    needs: ClassVar[frozenset[str]] = frozenset({"context"})

    content_: Sparse

    def _keep_content(self, data: Training) -> Sparse:
        """Keeps the contexts' content, and behind it the mean of what is not empty; gives the former."""
        from scipy.sparse import csr_array, vstack

        content = data.content(data.role)
        filled = np.diff(content.indptr) > 0
        if not filled.any():
            raise ValueError(f"{data.role}_features must have at least one entry, got empty rows alone")
        mean = csr_array(content[filled].mean(axis=0).reshape(1, -1).astype(np.float32))
        self.content_ = vstack([content, mean], format="csr")
        return content

    def _known(self, data: Training) -> dict[str, npt.NDArray[np.bool_]]:
        return {data.role: np.diff(self.content_.indptr)[:-1] > 0}

    def _rows(self, codes: Mapping[str, Codes]) -> Any:
        (own,) = codes.values()
        return self._rows_of_content(self.content_[own])

    def _rows_of_content(self, content: Sparse) -> Any:
        return content

    def _raw_content(self, features: Any) -> Sparse:
        rows = super()._raw_content(features)
        if rows.shape[1] != self.content_.shape[1]:
            raise ValueError(
                f"features must have the {self.content_.shape[1]} columns of fitting, got {rows.shape[1]}"
            )
        return rows


class Factors(Baseline):
    """Scores that are products of a context's and an item's vector, as of the embedding models."""

    scores_by_product: ClassVar[bool] = True

    contexts_: Floats
    items_: Floats

    def context_vectors(self, users: Any = None, queries: Any = None, features: Any = None) -> Floats:
        """The vectors of contexts; an unknown one has the mean vector."""
        return np.ascontiguousarray(self._asked(users, queries, features).rows, dtype=np.float32)

    def item_vectors(self) -> Floats:
        """The vector of every item of the catalogue."""
        self._check_fitted()
        return self.items_

    def _set(self, data: Training, contexts: npt.NDArray[Any], items: npt.NDArray[Any]) -> None:
        """Keeps the vectors; the last one is the mean over the contexts that have events."""
        (role,) = data.roles
        mean = contexts[data.has_events(role)].mean(axis=0, keepdims=True)
        self.contexts_ = np.concatenate([contexts, mean]).astype(np.float32)
        self.items_ = np.ascontiguousarray(items, dtype=np.float32)

    def _rows(self, codes: Mapping[str, Codes]) -> Any:
        (own,) = codes.values()
        return self.contexts_[own]

    def _score(self, rows: Any) -> Floats:
        return np.asarray(rows @ self.items_.T, dtype=np.float32)

    def _search(
        self, asked: Asked, k: int, excluded: Csr | None, candidates: Any, threads: int
    ) -> tuple[npt.NDArray[np.int32], Floats]:
        from topwise.retrieval import Retriever

        index = getattr(self, "_index", None)
        if index is None:
            index = self._index = Retriever(self.items_)
        vectors = np.ascontiguousarray(asked.rows, dtype=np.float32)
        found: tuple[npt.NDArray[np.int32], Floats] = index.search(vectors, k, excluded, candidates, threads)
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_index"}


def is_among(wanted: Codes, ordered: Codes) -> npt.NDArray[np.bool_]:
    """Which numbers are among sorted ones."""
    if len(ordered) == 0:
        return np.zeros(len(wanted), dtype=bool)
    place = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
    return np.asarray(ordered[place] == wanted)
