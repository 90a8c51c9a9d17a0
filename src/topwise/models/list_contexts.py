"""The composition of LaSR's steps: rows U, V and S, and the lists that contexts are made with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from topwise import _core
from topwise.data import Csr, Events, Features
from topwise.models.base import Embedding
from topwise.models.lists import ListMaker, Numbers, weighted_sums
from topwise.models.side import Side
from topwise.models.tables import Floats, empty_rows, padded, random_rows


class ListContexts(Embedding):
    """φ(q) = [U q ; Σ_j w_j S d̄_j] and ψ(d) = [V d ; S d], eq. 14; a subclass has the parameters."""

    list_size: int
    list_norm: float | None
    warm: bool
    leave_out: bool
    item_queries: bool | None

    _before: Embedding  # while fitting
    _show: bool | None = False
    before_: Embedding
    similar_: Side
    lists_: Numbers
    own_items_: npt.NDArray[np.int64]

    def _weights(self) -> npt.NDArray[np.float32]:
        """w_1 … w_k."""
        raise NotImplementedError

    def _create_sides(self, log: Events, role: str, features: dict[str, Features | None]) -> None:
        of_context = features[role]
        if of_context is not None and of_context.identity:
            features = {**features, role: replace(of_context, identity=False)}
        super()._create_sides(log, role, features)
        scale = 0.3 / self.dim if self.init_scale is None else float(self.init_scale)
        rng = np.random.default_rng([self.seed, 1])
        rows = random_rows(len(self.items_.rows), self.dim, self.columns, scale, rng)
        self.similar_ = replace(self.items_, rows=rows)
        if self.warm:
            self._start_from(self._before)
        if self.list_size > len(self.items_.vocabulary):
            raise ValueError(
                f"list_size must be at most the {len(self.items_.vocabulary)} items of the catalogue, "
                f"got {self.list_size}"
            )
        if self._before.roles != (role,):
            raise ValueError(
                f"base must recommend for the {role} of the log, but this {type(self._before).__name__} does "
                f"for {' and '.join(self._before.roles)}"
            )
        self.before_ = self._before
        self.own_items_ = self._own_items(features[role] is not None)
        self.lists_ = np.empty((0, self.list_size), dtype=np.int32)
        self._make_lists()

    def _start_from(self, before: Embedding) -> None:
        theirs = before._sides()
        for name, side in self._sides().items():
            if name == "similar" and name not in theirs:
                continue
            other = theirs.get(name)
            if other is None or before.columns != self.columns or not _same_rows(side, other):
                raise ValueError(
                    "warm=True needs a step before with rows of the same kind: "
                    f"dim={self.dim}, the same ids and features; leave out warm"
                )
            side.rows[:] = other.rows

    def _own_items(self, by_features: bool) -> npt.NDArray[np.int64]:
        """The item that each query is itself."""
        queries = self.context_vocabulary
        none = np.full(len(queries), -1, dtype=np.int64)
        if self.item_queries is False or (
            self.item_queries is None and (by_features or self.role_ != "query")
        ):
            return none
        own = self.items_.vocabulary.codes(queries.ids).astype(np.int64)
        return own if self.item_queries or 2 * np.count_nonzero(own >= 0) >= len(own) else none

    def _make_lists(self) -> None:
        """Lists for the queries that have none yet: all of them before training, new ones when folding in."""
        done = len(self.lists_)
        ids = self.context_vocabulary.ids[done:]
        if len(ids) == 0:
            return
        if len(self.own_items_) < done + len(ids):
            is_item = (self.own_items_ >= 0).any()
            more = self.items_.vocabulary.codes(ids) if is_item else np.full(len(ids), -1)
            self.own_items_ = np.concatenate([self.own_items_, more]).astype(np.int64)
        more_lists = self._maker().of_ids(ids, self.own_items_[done:], self._threads(), self._show)
        self.lists_ = np.concatenate([self.lists_, more_lists])

    def _maker(self) -> ListMaker:
        return ListMaker(self.before_, self.items_.vocabulary, self.list_size)

    def _kernel_contexts(self, bind: Any) -> _core.Contexts:
        self._join_rows()
        self._make_lists()
        return _core.Contexts.by_lists(
            bind(self.context_),
            bind(self.similar_),
            self.lists_.ravel(),
            self._weights(),
            bool(self.leave_out),
        )

    def _join_rows(self) -> None:
        """Puts the rows of V and S side by side, as the kernel reads them."""
        items, similar = self.items_, self.similar_
        width = padded(self.columns)
        base = items.rows.__array_interface__["data"][0]
        behind = similar.rows.__array_interface__["data"][0] == base + 4 * width
        if behind and items.rows.strides == similar.rows.strides == (8 * width, 4):
            return
        both = empty_rows(len(items.rows), 2 * width)
        both[:, :width], both[:, width:] = items.rows, similar.rows
        items.rows, similar.rows = both[:, :width], both[:, width:]

    def _extend_items(self, ids: npt.NDArray[Any], make: Any) -> None:
        similar = self.similar_.extended(ids, lambda count: make(self.similar_, count))
        super()._extend_items(ids, make)
        self.similar_ = replace(similar, vocabulary=self.items_.vocabulary, content=self.items_.content)

    def _max_norm_of(self, side: Side, max_norm: float | None) -> float | None:
        if side is not self.similar_ or max_norm is None:
            return max_norm
        if self.list_norm is not None:
            return max_norm * float(self.list_norm)
        return max_norm * min(1.0, 1 / float(self._weights().sum()))

    def _sides(self) -> dict[str, Side]:
        return {**super()._sides(), "similar": self.similar_}

    def _learned_from(self) -> tuple[npt.NDArray[Any], ...]:
        return (self.lists_,)

    @property
    def _vector_columns(self) -> int:
        return self.columns + self.dim

    @property
    def _kernel_columns(self) -> int:
        return 2 * padded(self.columns)

    def item_vectors(self) -> Floats:
        """ψ of every item: V d, the bias if there is one, and S d."""
        self._check_fitted()
        return np.hstack([self.items_.vectors(self.columns), self.similar_.vectors(self.dim)])

    def _known_vectors(self, codes: npt.NDArray[np.int64]) -> Floats:
        assert self.context_ is not None
        own = self.context_.vectors(self.columns, np.maximum(codes, 0))
        vectors = self._contexts(own, self.lists_[np.maximum(codes, 0)])
        vectors[codes < 0] = self.mean_context_
        return self._with_one(vectors)

    def _feature_vectors(self, features: Any) -> Floats:
        own = super()._feature_vectors(features)
        return self._contexts(own, self._maker().of_features(features, self._threads()))

    def _contexts(self, own: Floats, lists: Numbers) -> Floats:
        listed = np.unique(lists[lists >= 0])
        if len(listed) < len(self.items_.vocabulary) // 2:  # few queries do not want the whole of S
            places = np.full(len(self.items_.vocabulary) + 1, -1, dtype=np.int32)
            places[listed] = np.arange(len(listed))
            lists, rows = places[lists], self.similar_.vectors(self.dim, listed)
        else:
            rows = self.similar_.vectors(self.dim)
        return np.hstack([own, weighted_sums(lists, self._weights(), rows)])

    def _left_out(self, ids: Any, codes: npt.NDArray[np.int64], exclude: Events | None) -> Csr | None:
        """What a list must not show: the query's own item, and what `exclude` holds."""
        own = np.where(codes >= 0, self.own_items_[np.maximum(codes, 0)], -1)
        rows = np.flatnonzero(own >= 0)
        given = None if exclude is None else self._excluded({self.role_: ids}, exclude)
        if len(rows) == 0:
            return given
        columns = own[rows]
        if given is not None:
            rows = np.concatenate([rows, given.row_of_entries()])
            columns = np.concatenate([columns, given.indices])
        return Csr.from_coordinates(rows, columns, (len(codes), len(self.item_vocabulary)))


def _same_rows(side: Side, other: Side) -> bool:
    return (
        side.rows.shape == other.rows.shape
        and side.feature_names == other.feature_names
        and np.array_equal(side.vocabulary.ids, other.vocabulary.ids)
    )
