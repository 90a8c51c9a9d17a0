"""A log as the kernel reads it: the events of each context, and what is known of it as a set."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from topwise import _core
from topwise.data import Csr, Events, Pairs, Vocabulary
from topwise.models.base import Embedding


@dataclass(frozen=True)
class Positives:
    """Events by context. Repeated events stay repeated; events of weight 0 are known and not trained."""

    indptr: npt.NDArray[np.int64]
    items: npt.NDArray[np.int32]
    weights: npt.NDArray[np.float32] | None
    known: Csr
    drawable: npt.NDArray[np.int32] | None = None
    pairs: Pairs | None = None

    @classmethod
    def of(
        cls, log: Events, role: str, contexts: Vocabulary, items: Vocabulary, known: Events | None = None
    ) -> Positives:
        """The events of a log in a model's own numbers; those of unknown ids are left out."""
        vocabularies = {role: contexts, "item": items}
        log = _recoded(log, vocabularies)
        matrix = log.matrix(role)
        if known is not None:
            matrix = _union(matrix, _recoded(known, vocabularies).matrix(role))
        return cls._grouped(log, log.codes(role), matrix)

    @classmethod
    def of_pairs(
        cls, log: Events, vocabularies: dict[str, Vocabulary], known: Events | None = None
    ) -> Positives:
        """The same with the distinct pairs of a user and a query as contexts."""
        log = _recoded(log, vocabularies)
        pairs = Pairs.of(log)
        matrix = pairs.matrix(log)
        if known is not None:
            matrix = _union(matrix, pairs.matrix(_recoded(known, vocabularies)))
        return replace(
            cls._grouped(log, pairs.find(log.codes("user"), log.codes("query")), matrix), pairs=pairs
        )

    @classmethod
    def _grouped(cls, log: Events, context: npt.NDArray[Any], known: Csr) -> Positives:
        item, weight = log.item, log.weight
        keep = (context >= 0) & (item >= 0)
        if weight is not None:
            keep &= weight > 0
        if not keep.all():
            context, item = context[keep], item[keep]
            weight = None if weight is None else weight[keep]
        order = np.argsort(context, kind="stable")
        indptr = np.zeros(len(known) + 1, dtype=np.int64)
        np.cumsum(np.bincount(context, minlength=len(known)), out=indptr[1:])
        if weight is not None and len(weight) > 0:
            # Their mean is 1, so that a weighted log wants the same learning rate as one without weights.
            weight = (weight[order] / max(float(weight.mean(dtype=np.float64)), 1e-30)).astype(np.float32)
        return cls(indptr, item[order], weight, known)

    def __len__(self) -> int:
        return len(self.items)

    @property
    def n_contexts(self) -> int:
        """The contexts with events."""
        return int(np.count_nonzero(np.diff(self.indptr)))

    def kernel(self, n_items: int) -> _core.Log:
        """The same for the kernel, which keeps hold of the arrays."""
        return _core.Log(
            self.indptr,
            self.items,
            self.weights,
            self.known.indptr,
            self.known.indices,
            self.drawable,
            n_items,
            None if self.pairs is None else self.pairs.users,
            None if self.pairs is None else self.pairs.queries,
        )

    def events_of(self, role: str, count: int) -> npt.NDArray[np.int64]:
        """The number of events of each of the users, or of the queries."""
        events = np.diff(self.indptr)
        if self.pairs is None:
            return events
        codes = self.pairs.users if role == "user" else self.pairs.queries
        return np.bincount(codes, weights=events, minlength=count).astype(np.int64)

    def codes(self, role: str, contexts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The users, or the queries, of some contexts."""
        if self.pairs is None:
            return contexts
        return (self.pairs.users if role == "user" else self.pairs.queries)[contexts].astype(np.int64)


def positives_of(model: Embedding, log: Events, known: Events | None = None) -> Positives:
    """The events of a log in the numbers of a model, by its kind of context."""
    items = model.item_vocabulary
    if len(model.roles) == 1:
        return Positives.of(log, model.role_, model.context_vocabulary, items, known)
    return Positives.of_pairs(
        log, {role: model._vocabulary(role) for role in model.roles} | {"item": items}, known
    )


def _recoded(log: Events, wanted: dict[str, Vocabulary]) -> Events:
    other = {of: voc for of, voc in wanted.items() if log.vocabulary(of) is not voc}
    return log.recode(other) if other else log


def _union(first: Csr, second: Csr) -> Csr:
    rows = np.concatenate([first.row_of_entries(), second.row_of_entries()])
    return Csr.from_coordinates(rows, np.concatenate([first.indices, second.indices]), first.shape)
