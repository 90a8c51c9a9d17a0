"""Judgments for query-dependent ranking (section 4.4): queries and documents with the same features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from topwise.data import Judgments


def similarity_judgments(
    queries: npt.ArrayLike,
    documents: npt.ArrayLike,
    relevant: Sequence[npt.ArrayLike],
    *,
    qids: Sequence[Any] | None = None,
    same: npt.ArrayLike | None = None,
) -> Judgments:
    """A row for each query and document, with the difference between them as features, and label 1 or 0.

    `relevant` has the numbers of each query's relevant documents; they need be neither symmetric nor
    transitive. `same` has, where a query is one of the documents itself, the number of that document (or −1),
    which is left out. The query is then the origin, to which models with anchors="query" measure.
    """
    asked = np.asarray(queries, dtype=np.float32)
    offered = np.asarray(documents, dtype=np.float32)
    if asked.ndim != 2 or offered.ndim != 2 or asked.shape[1] != offered.shape[1]:
        raise ValueError(
            f"queries and documents must be matrices with the same features, got the shapes {asked.shape} "
            f"and {offered.shape}"
        )
    if len(relevant) != len(asked):
        raise ValueError(
            f"relevant must have one entry for each of {len(asked)} queries, got {len(relevant)}"
        )
    own = np.full(len(asked), -1) if same is None else np.asarray(same, dtype=np.int64)
    if own.shape != (len(asked),):
        raise ValueError(f"same must have one number for each of {len(asked)} queries, got {own.shape}")
    numbers = np.arange(len(offered))
    kept = [numbers[numbers != left_out] for left_out in own.tolist()]
    sizes = [len(each) for each in kept]
    features = np.empty((sum(sizes), asked.shape[1]), dtype=np.float32)
    labels = np.zeros(len(features), dtype=np.float32)
    start = 0
    for query, chosen in enumerate(kept):
        rows = slice(start, start + len(chosen))
        features[rows] = offered[chosen] - asked[query]
        listed = np.asarray(relevant[query], dtype=np.int64)
        outside = listed[(listed < 0) | (listed >= len(offered))]
        if len(outside):
            raise ValueError(
                f"relevant documents must be numbers from 0 to {len(offered) - 1}, got {outside[0]} "
                f"for query {query}"
            )
        labels[rows] = np.isin(chosen, listed)
        start = rows.stop
    return Judgments.from_arrays(features, labels, qids, groups=sizes)
