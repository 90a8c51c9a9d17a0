"""LaSR's lists for many queries: greedy, beam, or eq. 9 over some candidates alone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from topwise.data import Csr
from topwise.models.inference import beam, best, item_scores
from topwise.models.lists import ListMaker, Numbers
from topwise.models.serving import Ids, ids_of
from topwise.models.tables import Floats

if TYPE_CHECKING:
    from topwise.models.lasr import LaSR


def candidate_pools(
    model: LaSR,
    ids: Any,
    features: Any,
    excluded: Csr | None,
    allowed: Numbers | None,
    count: int,
    threads: int,
) -> list[Numbers]:
    """The best items of each query by the step before, in the order of the catalogue."""
    n_items = len(model.item_vocabulary)
    more = 0 if excluded is None else int(excluded.lengths().max(initial=0))
    size = n_items if allowed is not None else min(n_items, count + more)
    maker = ListMaker(model.before_, model.item_vocabulary, size)
    if ids is None:
        lists = maker.of_features(features, threads)
    else:
        asked = np.atleast_1d(np.asarray(ids, dtype=object))
        lists = maker.of_ids(asked, np.full(len(asked), -1), threads)
    pools = []
    for row, listed in enumerate(lists):
        keep = listed[listed >= 0]
        if allowed is not None:
            keep = keep[np.isin(keep, allowed)]
        if excluded is not None:
            keep = keep[~np.isin(keep, excluded.row(row))]
        pools.append(np.sort(keep[:count]))
    return pools


def recommend_lists(
    model: LaSR,
    vectors: Floats,
    k: int,
    excluded: Csr | None,
    allowed: Numbers | None,
    pools: list[Numbers] | None,
    inference: str,
    threads: int,
) -> tuple[Ids, Floats]:
    """The list of each query by `inference`, and its items' scores."""
    items = model.item_vectors()
    weights = model._weights()
    n_items = len(items)
    most = min(k, n_items if allowed is None else len(allowed))
    codes = np.full((len(vectors), most), -1, dtype=np.int32)
    scores = np.full((len(vectors), most), -np.inf, dtype=np.float32)
    everything = np.arange(n_items, dtype=np.int32) if allowed is None else allowed

    def find(row: int) -> None:
        pool = everything if pools is None else pools[row]
        if pools is None and excluded is not None:
            pool = pool[~np.isin(pool, excluded.row(row))]
        if len(pool) == 0:
            return
        order, found = _one(vectors[row], items[pool], weights, most)
        codes[row, : len(order)] = pool[order]
        scores[row, : len(order)] = found

    def _one(
        context: Floats, rows: Floats, weights: Floats, count: int
    ) -> tuple[npt.NDArray[np.int64], Floats]:
        if inference == "iterative":
            given = rows @ context
            order = best(given, count)
            return order, given[order]
        own, similar = rows[:, : model.columns] @ context[: model.columns], rows[:, model.columns :]
        listed = beam(own, similar, weights, 1 if inference == "greedy" else model.beam)
        given = item_scores(own, similar, weights, listed)
        rest = best(given, len(given))
        order = np.concatenate([listed, rest[~np.isin(rest, listed)]])[:count]
        return order, given[order]

    with ThreadPoolExecutor(max_workers=threads) as workers:
        list(workers.map(find, range(len(vectors))))
    return ids_of(model.item_vocabulary, codes), scores
