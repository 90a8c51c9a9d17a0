"""What a fitted model answers: vectors, recommendations, neighbours."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from topwise.data import Csr, Events, Features, Pairs, Vocabulary
from topwise.models.params import check_choice, check_count
from topwise.models.side import Side
from topwise.models.tables import Floats

if TYPE_CHECKING:
    from topwise.retrieval import Retriever

Ids: TypeAlias = npt.NDArray[Any]


class NotFittedError(ValueError, AttributeError):
    """The model has not been fitted yet."""


@dataclass(frozen=True)
class Asked:
    """The contexts of a question: their vectors and, by role, the ids that they were given by."""

    vectors: Floats
    ids: Mapping[str, Any]
    single: bool
    raw: Csr | None = None


class Serving:
    """The answers of a model, from its sides and what they were trained on."""

    dim: int
    item_bias: bool
    threads: int | None

    # What fit learns.
    role_: str
    context_: Side | None
    items_: Side
    mean_context_: Floats
    max_norm_: float | None
    best_epoch_: int
    interrupted_: bool
    history_records_: list[dict[str, Any]]
    _index: Retriever | None

    def _overlap(self) -> float:
        """The weight of the product of raw features in a score (Wsabie's α)."""
        return 0.0

    @property
    def columns(self) -> int:
        """The factors of a vector: `dim`, and one more with item biases."""
        return self.dim + bool(self.item_bias)

    @property
    def _vector_columns(self) -> int:
        """The factors of what `context_vectors` and `item_vectors` give."""
        return self.columns

    @property
    def _kernel_columns(self) -> int:
        """The columns of an item's vector in the kernel."""
        return self.columns

    # --- what was learned ---------------------------------------------------------------------------------

    def _check_fitted(self) -> None:
        if not hasattr(self, "items_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet: call fit first")

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that make a context."""
        self._check_fitted()
        return (self.role_,)

    @property
    def item_vocabulary(self) -> Vocabulary:
        """The catalogue: every item that can be recommended, in order of its number."""
        self._check_fitted()
        return self.items_.vocabulary

    @property
    def context_vocabulary(self) -> Vocabulary:
        """The users or queries that the model knows."""
        self._check_fitted()
        assert self.context_ is not None
        return self.context_.vocabulary

    @property
    def scores_by_product(self) -> bool:
        """True when a score is the product of a context's and an item's vector, and nothing more."""
        return self._overlap() == 0

    def item_vectors(self) -> Floats:
        """ψ of every item, the bias as the last factor."""
        self._check_fitted()
        return self.items_.vectors(self.columns)

    def context_vectors(
        self,
        users: Any = None,
        queries: Any = None,
        features: Any = None,
    ) -> Floats:
        """φ of users or queries by id, or of rows of raw features.

        An id that the model does not know gets the mean over the contexts it was trained with, and so about
        the most popular items.
        """
        self._check_fitted()
        return self._asked(users, queries, features).vectors

    def _asked(self, users: Any, queries: Any, features: Any) -> Asked:
        """The contexts that the arguments of `recommend` speak of."""
        product = self.scores_by_product
        if features is not None:
            rows = _rows_2d(features)
            raw = None if product else self._feature_rows(rows)
            return Asked(self._feature_vectors(rows), {}, rows is not features, raw)
        ids = self._context_ids(users, queries)
        codes = self._codes(ids)
        raw = None if product else self._raw_content(codes)
        return Asked(
            self._known_vectors(codes), {self.role_: ids}, _is_single(ids, self.context_vocabulary), raw
        )

    def _vectors_of(self, codes: Mapping[str, npt.NDArray[np.int64]]) -> Floats:
        """φ of contexts by the codes of each role, -1 for an unknown id."""
        return self._known_vectors(codes[self.role_])

    def _known_vectors(self, codes: npt.NDArray[np.int64]) -> Floats:
        assert self.context_ is not None
        vectors = self.context_.vectors(
            self.columns, np.maximum(codes, 0) if len(self.context_.vocabulary) else codes
        )
        vectors[codes < 0] = self.mean_context_
        return self._with_one(vectors)

    def _feature_vectors(self, features: Any) -> Floats:
        side = self.context_
        if side is None or side.content is None:
            raise ValueError(
                f"this {type(self).__name__} was fitted without features of its {self.role_} side"
            )
        return self._with_one(side.compose(self._feature_rows(features), self.columns))

    def _feature_rows(self, features: Any) -> Csr:
        """Raw features in the columns that the model was fitted with."""
        side = self._content_side()
        assert side is not None
        assert side.content is not None
        if (
            side.plan is not None
            and not isinstance(features, Csr | Features | np.ndarray)
            and not hasattr(features, "tocoo")
        ):
            from topwise.data.features import encode_frame

            return encode_frame(side.plan, features)
        if isinstance(features, Features):
            features = features.matrix
        features = _rows_2d(features)
        count = features.shape[0] if hasattr(features, "shape") else len(features)
        rows = Features.from_matrix(range(count), features).matrix
        if rows.n_cols != side.content.n_cols:
            raise ValueError(
                f"features must have the {side.content.n_cols} columns of fitting, got {rows.n_cols}"
            )
        return rows

    def _content_side(self) -> Side | None:
        """The side that rows of raw features are of."""
        return self.context_

    def _with_one(self, vectors: Floats) -> Floats:
        if self.item_bias:
            vectors[:, self.dim] = 1
        return vectors

    def _context_ids(self, users: Any, queries: Any) -> Any:
        given = {"user": users, "query": queries}
        wanted = given.pop(self.role_)
        _, unwanted = given.popitem()
        if wanted is None or unwanted is not None:
            plural = {"user": "users", "query": "queries"}
            raise ValueError(f"this model recommends for {plural[self.role_]}: pass {plural[self.role_]}=")
        return wanted

    def _codes(self, ids: Any) -> npt.NDArray[np.int64]:
        return self.context_vocabulary.codes(ids)

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
    ) -> tuple[Ids, Floats]:
        """The k best items of each context and their scores, best first, ties in catalogue order.

        One id gives arrays of one dimension, several of two. Left out are the items that a context has in the
        log `exclude`; `items` restricts the answer to some. Where fewer than k remain, a row ends with the
        score −inf and the id None (−1 for ids that are ints). `features` are rows of raw features in place of
        ids. Unknown ids get what suits the mean context.
        """
        self._check_fitted()
        asked = self._asked(users, queries, features)
        excluded = None if exclude is None or not asked.ids else self._excluded(asked.ids, exclude)
        return self._top(asked.vectors, asked.raw, k, excluded, items, asked.single, threads)

    def _top(
        self,
        vectors: Floats,
        raw: Csr | None,
        k: int,
        excluded: Csr | None,
        items: Any,
        single: bool,
        threads: int | None,
    ) -> tuple[Ids, Floats]:
        check_count("k", k)
        candidates = None if items is None else self._known_items(items)
        best, scores = self._best(vectors, raw, k, excluded, candidates, threads or self._threads())
        found = ids_of(self.item_vocabulary, best)
        return (found[0], scores[0]) if single else (found, scores)

    def _best(
        self,
        vectors: Floats,
        raw: Csr | None,
        k: int,
        excluded: Csr | None,
        candidates: npt.NDArray[np.int32] | None,
        threads: int,
    ) -> tuple[npt.NDArray[np.int32], Floats]:
        retriever = self._retriever()
        if raw is None:
            return retriever.search(vectors, k, excluded, candidates, threads)
        return retriever.search_blocks(
            lambda rows: self._block(vectors[rows], raw.take(np.arange(len(raw))[rows])),
            len(vectors),
            k,
            excluded,
            candidates,
        )

    def score_block(self, users: Any = None, queries: Any = None, features: Any = None) -> Floats:
        """The scores of all items for some contexts: as many columns as the catalogue has items."""
        asked = self._asked(users, queries, features)
        return self._block(asked.vectors, asked.raw)

    def _block(self, vectors: Floats, raw: Csr | None) -> Floats:
        scores: Floats = vectors @ self._retriever().vectors.T
        alpha = self._overlap()
        if alpha != 0 and raw is not None and self.items_.content is not None:
            scores += np.float32(alpha) * _product(raw, self.items_.content)
        return scores

    def _raw_content(self, codes: npt.NDArray[np.int64]) -> Csr | None:
        side = self.context_
        return None if side is None or side.content is None else side.content.take(codes)

    def neighbors(
        self,
        items: Any = None,
        k: int = 10,
        metric: str = "cosine",
        *,
        users: Any = None,
        queries: Any = None,
    ) -> tuple[Ids, Floats]:
        """The nearest items of items (or contexts of contexts), without themselves, by "cosine" or "dot"."""
        self._check_fitted()
        check_count("k", k)
        check_choice("metric", metric, ("cosine", "dot"))
        if (items is None) == (users is None and queries is None):
            raise ValueError("neighbors are of items, or of users or queries: pass one of them")
        if items is not None:
            vocabulary, of = self.item_vocabulary, items
            vectors = self.item_vectors()[:, : self.dim]
        else:
            role, of = next(iter(self._neighbors_of(users, queries).items()))
            vocabulary = self._vocabulary(role)
            vectors = self._vectors_of({role: np.arange(len(vocabulary))})[:, : self.dim]
        codes = _known_codes(vocabulary, of, "item" if items is not None else role)
        from topwise.retrieval import Retriever

        vectors = np.ascontiguousarray(_unit(vectors) if metric == "cosine" else vectors)
        itself = Csr(np.arange(len(codes) + 1), codes.astype(np.int32), len(vocabulary))
        best, scores = Retriever(vectors).search(vectors[codes], k, itself, None, self._threads())
        found = ids_of(vocabulary, best)
        return (found[0], scores[0]) if _is_single(of, vocabulary) else (found, scores)

    def _neighbors_of(self, users: Any, queries: Any) -> Mapping[str, Any]:
        return {self.role_: self._context_ids(users, queries)}

    def _vocabulary(self, role: str) -> Vocabulary:
        """The known ids of a role of the contexts."""
        return self.context_vocabulary

    def _retriever(self) -> Retriever:
        from topwise.retrieval import Retriever

        index: Retriever | None = getattr(self, "_index", None)
        if index is None:
            index = self._index = Retriever(self.item_vectors())
        return index

    def _forget_index(self) -> None:
        self._index = None

    def _known_items(self, items: Any) -> npt.NDArray[np.int32]:
        return np.unique(_known_codes(self.item_vocabulary, items, "item")).astype(np.int32)

    def _excluded(self, ids: Mapping[str, Any], exclude: Events) -> Csr:
        """What `exclude` holds for each of these contexts, in the catalogue's numbers."""
        if not isinstance(exclude, Events):
            raise TypeError(f"exclude must be a log of events, got {type(exclude).__name__}")
        known = exclude.recode({"item": self.item_vocabulary})
        roles = [role for role in ids if role in exclude.roles] or list(ids)[:1]
        rows = {role: exclude.vocabulary(role).codes(ids[role]) for role in roles}
        if len(roles) == 1:
            return known.matrix(roles[0]).take(rows[roles[0]])
        pairs = Pairs.of(known)
        return pairs.matrix(known).take(pairs.find(rows["user"], rows["query"]))

    def _threads(self) -> int:
        return self.threads if self.threads is not None else (os.cpu_count() or 1)


def _rows_2d(features: Any) -> Any:
    """A single dense row as a matrix of one."""
    if isinstance(features, np.ndarray | list) and np.ndim(features) == 1:
        return np.asarray(features)[None, :]
    return features


def _is_single(ids: Any, vocabulary: Vocabulary) -> bool:
    return bool(vocabulary._is_single(ids))


def _known_codes(vocabulary: Vocabulary, ids: Any, role: str) -> npt.NDArray[np.int64]:
    codes = vocabulary.codes(ids)
    if (codes < 0).any():
        wanted: Sequence[Any] = [ids] if _is_single(ids, vocabulary) else list(ids)
        unknown = wanted[int(np.argmax(codes < 0))]
        raise ValueError(
            f"the model does not know the {role} {unknown!r}; it knows {len(vocabulary)} of them"
        )
    return codes


def ids_of(vocabulary: Vocabulary, codes: npt.NDArray[np.int32]) -> Ids:
    """Ids in place of codes; None (or −1 for ids that are ints) in place of −1."""
    ids = vocabulary.ids
    if (codes >= 0).all():
        return ids[codes]
    nothing = np.array([-1 if ids.dtype.kind == "i" else None], dtype=ids.dtype)
    return np.concatenate([ids, nothing])[codes]


def _unit(vectors: Floats) -> Floats:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(norms, np.finfo(np.float32).tiny), dtype=np.float32)


def _product(left: Csr, right: Csr) -> Floats:
    """left · rightᵀ of two sparse matrices, dense."""
    out = np.zeros((len(left), len(right)), dtype=np.float32)
    assert right.values is not None
    assert left.values is not None
    order = np.argsort(right.indices, kind="stable")  # the right matrix by columns
    rows, values = right.row_of_entries()[order], right.values[order]
    ends = np.cumsum(np.bincount(right.indices, minlength=right.n_cols))
    for row in range(len(left)):
        begin, end = left.indptr[row], left.indptr[row + 1]
        for feature, value in zip(left.indices[begin:end], left.values[begin:end], strict=True):
            start = ends[feature - 1] if feature else 0
            out[row, rows[start : ends[feature]]] += value * values[start : ends[feature]]
    return out
