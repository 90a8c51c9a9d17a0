"""What the first stage hands to the second: for each context some items, best first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from topwise.data import Csr, Events, Vocabulary
from topwise.data.vocabulary import Ids, as_ids

Floats = npt.NDArray[np.float32]
Items = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Candidates:
    """A row for each context: items by their codes in the catalogue, -1 where there are fewer, and scores."""

    contexts: Mapping[str, Ids]
    items: Items
    scores: Floats
    catalogue: Vocabulary

    def __len__(self) -> int:
        return len(self.items)

    @cached_property
    def valid(self) -> npt.NDArray[np.bool_]:
        """Where there is an item."""
        return self.items >= 0

    @cached_property
    def row(self) -> npt.NDArray[np.int64]:
        """The context of each pair."""
        return np.nonzero(self.valid)[0]

    @cached_property
    def item(self) -> Items:
        """The item of each pair."""
        return self.items[self.valid]

    def take(self, rows: npt.NDArray[Any]) -> Candidates:
        """Some contexts."""
        contexts = {role: ids[rows] for role, ids in self.contexts.items()}
        return Candidates(contexts, self.items[rows], self.scores[rows], self.catalogue)

    def among(self, targets: Csr) -> npt.NDArray[np.bool_]:
        """Which pairs are in the sparse rows."""
        width = targets.n_cols
        wanted = targets.row_of_entries() * width + targets.indices
        return np.isin(self.row * width + self.item, wanted)


def search(model: Any, contexts: Mapping[str, Ids], k: int, excluded: Csr, threads: int) -> Candidates:
    """The k best items of contexts by a model or a run, without those that are excluded."""
    catalogue = model.item_vocabulary
    k = min(k, len(catalogue))
    if hasattr(model, "search"):
        items, scores = model.search(contexts, k, excluded)
    else:
        from topwise.evaluation.trec import retriever_of, search_contexts

        items, scores = search_contexts(model, retriever_of(model), dict(contexts), k, excluded, threads)
    return Candidates(contexts, items, scores, catalogue)


def scores_of_pairs(model: Any, candidates: Candidates) -> npt.NDArray[np.float64]:
    """The scores of another model for the same pairs; its mean over pairs for items that it does not know."""
    codes = model.item_vocabulary.codes(candidates.catalogue.ids)[candidates.item]
    known = codes >= 0
    out = np.zeros(len(codes))
    blocks = _blocks(model, candidates)
    for rows, scores in blocks:
        inside = (candidates.row >= rows.start) & (candidates.row < rows.stop) & known
        out[inside] = scores[candidates.row[inside] - rows.start, codes[inside]]
    if not known.all():
        out[~known] = out[known].mean() if known.any() else 0.0
    return out


_SCORES = 2**23


def _blocks(model: Any, candidates: Candidates) -> Any:
    from topwise.evaluation.ranking import block_of, by_product, vectors_of

    size = max(1, _SCORES // max(len(model.item_vocabulary), 1))
    vectors = model.item_vectors() if by_product(model) else None
    for start in range(0, len(candidates), size):
        rows = slice(start, min(start + size, len(candidates)))
        contexts = {role: candidates.contexts[role][rows] for role in model.roles}
        if vectors is None:
            yield rows, block_of(model, contexts)
        else:
            yield rows, vectors_of(model, contexts) @ vectors.T


# --- what a caller asks for -------------------------------------------------------------------------------

_PLURAL = {"user": "users", "query": "queries"}


def contexts_of(model: Any, users: Any, queries: Any) -> dict[str, Ids]:
    """The ids of the contexts that a caller names, for each role of a model."""
    given = {role: ids for role, ids in (("user", users), ("query", queries)) if ids is not None}
    if set(given) != set(model.roles):
        wanted = [_PLURAL[role] for role in model.roles]
        asked = ", ".join(f"{name}=" for name in wanted)
        raise ValueError(f"this model ranks for {' and '.join(wanted)}: pass {asked}")
    single = is_single(model, users, queries)
    contexts = {role: as_ids([given[role]] if single else given[role], role) for role in model.roles}
    if len({len(ids) for ids in contexts.values()}) > 1:
        raise ValueError("users and queries must be as many, one of each for a context")
    return contexts


def is_single(model: Any, users: Any, queries: Any) -> bool:
    """Whether a caller gave one id in place of several."""
    ids = users if users is not None else queries
    return ids is not None and bool(model.context_vocabulary._is_single(ids))


def excluded_rows(model: Any, contexts: Mapping[str, Ids], exclude: Events | None) -> Csr:
    """What a log has of each context, in the codes of a model's catalogue."""
    n_items = len(model.item_vocabulary)
    if exclude is None:
        count = len(contexts[model.roles[0]])
        return Csr(np.zeros(count + 1, dtype=np.int64), np.empty(0, dtype=np.int32), n_items)
    if not isinstance(exclude, Events):
        raise TypeError(f"exclude must be a log of events, got {type(exclude).__name__}")
    role = model.roles[0]
    known = exclude.recode({"item": model.item_vocabulary}).matrix(role)
    return known.take(exclude.vocabulary(role).codes(contexts[role]))
