"""A side whose entities have several vectors each: the tastes of a user, the senses of a query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from topwise.data import Csr, Features, Vocabulary
from topwise.models.side import Side
from topwise.models.tables import Floats, empty_rows

Integers = npt.NDArray[np.int64]

# "auto": one taste up to so many positives, and one more each time that they double.
POSITIVES_OF_ONE = 16
MOST_TASTES = 10


def number_of_tastes(tastes: int | str, positives: npt.NDArray[Any]) -> Integers:
    """T of each context: the same for all, or by "auto" T = 1 + ⌊log2(n / 8)⌋, from 1 to 10, of n positives.

    So 1 below 16 positives, 2 from 16 on, 3 from 32, 4 from 64 …
    """
    if tastes != "auto":
        return np.full(len(positives), int(tastes), dtype=np.int64)
    doublings = np.log2(np.maximum(positives, 1) / (POSITIVES_OF_ONE / 2))
    return np.asarray(np.clip(1 + np.floor(doublings), 1, MOST_TASTES), dtype=np.int64)


def order_weights(count: int, smooth: float) -> Floats:
    """w_1 … w_count of sum 1, each `smooth` times the one before; with 0 the hard maximum."""
    weights = np.power(float(smooth), np.arange(count))
    return np.asarray(weights / weights.sum(), dtype=np.float32)


@dataclass
class TasteSide(Side):
    """Rows `first + indptr[c]` to `first + indptr[c + 1]` are the tastes of c, which share its content."""

    indptr: Integers = field(default_factory=lambda: np.zeros(1, dtype=np.int64))

    @classmethod
    def of(
        cls,
        side: Side,
        counts: Integers,
        make: Callable[[int], Floats],
    ) -> TasteSide:
        """The same ids and content as a side, with so many tastes each; `make` gives rows for all of them."""
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        rows = make(side.first + int(indptr[-1]))
        names, plan = side.feature_names, side.plan
        return cls(side.role, side.vocabulary, rows, True, side.content, names, plan, indptr=indptr)

    @classmethod
    def fresh(
        cls,
        role: str,
        vocabulary: Vocabulary,
        features: Features | None,
        counts: Callable[[Vocabulary], Integers],
        make: Callable[[int], Floats],
    ) -> TasteSide:
        """Fresh tastes for the ids of a log, and for those that only the features have."""
        side = Side(role, vocabulary, empty_rows(0, 1))
        if features is not None:
            side = Side.create(role, vocabulary, features, 1, 1, 1.0, np.random.default_rng(0))
        return cls.of(side, counts(side.vocabulary), make)

    def counts(self) -> Integers:
        """How many tastes each entity has."""
        return np.diff(self.indptr)

    def own_rows(self, codes: npt.NDArray[Any]) -> tuple[Integers, Integers]:
        """The rows of the tastes of some entities, and where each one's begin among them."""
        counts = self.counts()[codes]
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        rows = np.arange(starts[-1]) + np.repeat(self.indptr[codes] - starts[:-1], counts)
        return self.first + rows, starts

    def taste_vectors(self, columns: int, codes: npt.NDArray[Any]) -> tuple[Floats, Integers]:
        """All tastes of some entities, one after the other, and where each one's begin."""
        rows, starts = self.own_rows(codes)
        vectors = np.ascontiguousarray(self.rows[rows, :columns])
        if self.content is not None:
            shared = self.compose(self.content.take(codes), columns)
            vectors += np.repeat(shared, np.diff(starts), axis=0)
        return vectors, starts

    def vectors(self, columns: int, codes: npt.NDArray[Any] | None = None) -> Floats:
        """The mean of each entity's tastes."""
        codes = np.arange(len(self.vocabulary)) if codes is None else codes
        tastes, starts = self.taste_vectors(columns, codes)
        if len(codes) == 0:
            return np.zeros((0, columns), dtype=np.float32)
        means = np.add.reduceat(tastes, starts[:-1], axis=0) / np.diff(starts)[:, None]
        return np.asarray(means, dtype=np.float32)

    def silence(self, codes: npt.NDArray[Any]) -> None:
        self.rows[self.own_rows(codes)[0]] = 0

    def extended_by(
        self, ids: npt.NDArray[Any], counts: Integers, make: Callable[[int], Floats]
    ) -> TasteSide:
        """The same side with tastes for more ids at its end."""
        more = int(counts.sum())
        rows = empty_rows(len(self.rows) + more, self.rows.shape[1])
        rows[: len(self.rows)] = self.rows
        rows[len(self.rows) :] = make(more)
        content = self.content
        if content is not None:
            ends = np.full(len(ids), content.indptr[-1])
            content = Csr(
                np.concatenate([content.indptr, ends]), content.indices, content.n_cols, content.values
            )
        return replace(
            self,
            vocabulary=Vocabulary(np.concatenate([self.vocabulary.ids, ids])),
            rows=rows,
            content=content,
            squares=None,
            indptr=np.concatenate([self.indptr, self.indptr[-1] + np.cumsum(counts)]),
        )


def seeded_rows(seed: int, first: int, indptr: Integers, dim: int, columns: int, scale: float) -> Floats:
    """Random rows of tastes that depend on the seed and the number of their entity alone, the first of which
    is `first`: so it does not matter who makes them, and for whom else.
    """
    counts = np.diff(indptr)
    entity = np.repeat(np.arange(first, first + len(counts)), counts)
    taste = np.arange(indptr[-1]) - np.repeat(indptr[:-1], counts)
    rows = empty_rows(int(indptr[-1]), columns)
    step = 65536
    for start in range(0, len(rows), step):
        stop = min(start + step, len(rows))
        stream = _mixed(
            _mixed(np.uint64(seed) + entity[start:stop].astype(np.uint64))
            + taste[start:stop].astype(np.uint64)
        )
        numbers = _mixed(stream[:, None] + np.arange(2 * dim, dtype=np.uint64) * _ODD)
        uniform = ((numbers >> np.uint64(11)) + np.uint64(1)) * 2.0**-53  # (0, 1]
        normal = np.sqrt(-2 * np.log(uniform[:, :dim])) * np.cos(2 * np.pi * uniform[:, dim:])
        rows[start:stop, :dim] = normal * scale
    return rows


_ODD = np.uint64(0x9E3779B97F4A7C15)


def _mixed(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """SplitMix64: numbers in order become numbers without any."""
    with np.errstate(over="ignore"):
        numbers = numbers + _ODD
        numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return numbers ^ (numbers >> np.uint64(31))
