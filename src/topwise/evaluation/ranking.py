"""The ranks of relevant items among the whole catalogue, by any model that gives vectors or scores."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from topwise import _core
from topwise.data import Csr, Vocabulary
from topwise.evaluation.cases import Cases, Ids
from topwise.evaluation.metrics import Ranking

Floats: TypeAlias = npt.NDArray[np.float32]
Counts: TypeAlias = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]

# What is held at once: vectors of so many contexts, or so many scores of a model without vectors.
_CONTEXTS = 16_384
_SCORES = 2**22

PLURAL = {"user": "users", "query": "queries"}


class Ranker(Protocol):
    """What evaluation needs of a model: the score of an item for a context is the product of their vectors.

    A model whose score is something else says so by an attribute `scores_by_product = False`, and has a
    method `score_block(users=..., queries=...)` that gives the scores of all items, one row a context; then
    it needs no vectors. With an attribute `takes_excluded = True`, the method also gets `excluded=...`, the
    sparse rows of what is left out of each context's list. If it has `taste_vectors(users=..., queries=...)`
    and `smooth` as well, as MaxMF, its scores are made from these.
    """

    @property
    def roles(self) -> tuple[str, ...]: ...
    @property
    def item_vocabulary(self) -> Vocabulary: ...
    def item_vectors(self) -> Floats: ...
    def context_vectors(self, users: Any = None, queries: Any = None) -> Floats: ...


def check_model(model: Any) -> None:
    """Refuses what is no model. What a model that is not fitted yet has to say is left to itself."""
    needed = ["roles", "item_vocabulary", "item_vectors", "context_vectors"]
    if inspect.getattr_static(model, "scores_by_product", True) is False:
        needed[2:] = ["score_block"]
    missing = [name for name in needed if inspect.getattr_static(model, name, None) is None]
    if missing:
        raise TypeError(
            f"model must be a fitted model, or an object with {', '.join(needed)}; "
            f"{type(model).__name__} has no {missing[0]}"
        )


def use_threads(threads: int | None) -> int:
    """A checked number of threads; None is all that this process may use."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return check_count("threads", threads)


def check_count(name: str, value: Any, least: int = 1) -> int:
    """A whole number of at least so much, or an error that names it."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be a whole number, got {value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}")
    return int(value)


class Part(NamedTuple):
    """Some of the cases: what is held at once."""

    contexts: dict[str, Ids]
    targets: Csr
    excluded: Csr


def rank(model: Ranker, cases: Cases, threads: int) -> Ranking:
    """The ranks of all relevant items, exact, with little more in memory than the answer."""
    if by_product(model):
        items = np.ascontiguousarray(model.item_vectors(), dtype=np.float32)
        counts = [_count_by_vectors(model, items, part, threads) for part in _parts(cases, _CONTEXTS)]
    elif by_tastes(model):
        items = np.ascontiguousarray(model.item_vectors(), dtype=np.float32)
        counts = [_count_by_tastes(model, items, part, threads) for part in _parts(cases, _CONTEXTS)]
    else:
        rows = max(1, _SCORES // cases.targets.n_cols)
        counts = [
            count_by_scores(block_of(model, part.contexts, part.excluded), part)
            for part in _parts(cases, rows)
        ]
    greater, equal = (np.concatenate(parts) for parts in zip(*counts, strict=True))
    length = cases.targets.n_cols - cases.excluded.lengths()
    return Ranking.from_counts(greater, equal, cases.targets.indptr, cases.relevant, length)


def by_product(model: Ranker) -> bool:
    """Whether a model's scores are products of vectors."""
    return bool(getattr(model, "scores_by_product", True))


def by_tastes(model: Any) -> bool:
    """Whether a model's scores are the largest of several products, or weighted by their order."""
    return hasattr(model, "taste_vectors")


def known_ids(model: Any, role: str) -> Vocabulary | None:
    """The users or queries that a model knows, if it tells."""
    vocabulary = getattr(model, f"{role}_vocabulary", None)
    if vocabulary is None and model.roles == (role,):
        vocabulary = getattr(model, "context_vocabulary", None)
    return vocabulary if isinstance(vocabulary, Vocabulary) else None


def vectors_of(model: Ranker, contexts: dict[str, Ids]) -> Floats:
    """The vectors of contexts that are given by the ids of each role."""
    vectors = model.context_vectors(**{PLURAL[role]: ids for role, ids in contexts.items()})
    return np.ascontiguousarray(vectors, dtype=np.float32)


def block_of(model: Any, contexts: dict[str, Ids], excluded: Csr | None = None) -> Floats:
    """All scores of contexts, by a model that has no vectors for them."""
    given: dict[str, Any] = {PLURAL[role]: ids for role, ids in contexts.items()}
    if getattr(model, "takes_excluded", False):
        given["excluded"] = excluded
    scores = model.score_block(**given)
    if not np.isfinite(scores).all():
        raise ValueError(
            f"the scores of a {type(model).__name__} must be finite, but score_block gave others"
        )
    return np.asarray(scores, dtype=np.float32)


def count_by_scores(scores: Floats, part: Part) -> Counts:
    """How many items score above each target and how many the same, without targets and excluded."""
    ordered = _ordered_bits(scores)
    wanted = ordered[part.targets.row_of_entries(), part.targets.indices]
    for left_out in (part.targets, part.excluded):
        ordered[left_out.row_of_entries(), left_out.indices] = _LOWEST
    ordered += np.arange(len(scores))[:, None] << 32
    ordered.sort(axis=1)
    # Each row's numbers lie above those of the row before, so one search serves all of them.
    row = part.targets.row_of_entries()
    below = np.searchsorted(ordered.ravel(), wanted + (row << 32), side="left")
    up_to = np.searchsorted(ordered.ravel(), wanted + (row << 32), side="right")
    return ((row + 1) * scores.shape[1] - up_to).astype(np.int32), (up_to - below).astype(np.int32)


_LOWEST = 0


def _ordered_bits(scores: Floats) -> npt.NDArray[np.int64]:
    """Numbers of 32 bits, above 0, in the order of finite scores."""
    # The bits of a float order as its size; -0 becomes 0 first.
    bits = (scores + np.float32(0)).view(np.int32).astype(np.int64)
    return np.where(bits < 0, -(bits & 0x7FFFFFFF), bits) + 2**31


def _count_by_vectors(model: Ranker, items: Floats, part: Part, threads: int) -> Counts:
    targets, excluded = part.targets, part.excluded
    contexts = vectors_of(model, part.contexts)
    counts: Counts = _core.rank_items(
        contexts, items, targets.indptr, targets.indices, excluded.indptr, excluded.indices, threads
    )
    return counts


def _count_by_tastes(model: Any, items: Floats, part: Part, threads: int) -> Counts:
    targets, excluded = part.targets, part.excluded
    tastes, starts = model.taste_vectors(**{PLURAL[role]: ids for role, ids in part.contexts.items()})
    counts: Counts = _core.rank_tastes(
        tastes,
        starts,
        float(model.smooth),
        items,
        targets.indptr,
        targets.indices,
        excluded.indptr,
        excluded.indices,
        threads,
    )
    return counts


def _parts(cases: Cases, size: int) -> Iterator[Part]:
    for start in range(0, len(cases), size):
        rows = slice(start, start + size)
        contexts = {role: ids[rows] for role, ids in cases.contexts.items()}
        yield Part(contexts, _some(cases.targets, rows), _some(cases.excluded, rows))


def _some(matrix: Csr, rows: slice) -> Csr:
    """Rows that follow each other, without a copy of their entries."""
    ends = matrix.indptr[rows.start : rows.stop + 1]
    return Csr(ends - ends[0], matrix.indices[ends[0] : ends[-1]], matrix.n_cols)
