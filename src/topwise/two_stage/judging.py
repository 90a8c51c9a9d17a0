"""Candidates as judgments: what the second stage learns from, and what it scores."""

from __future__ import annotations

import numpy as np

from topwise.data import Csr, Events, Judgments
from topwise.two_stage.candidates import Candidates, search
from topwise.two_stage.features import Maker


def judged_candidates(maker: Maker, held: Events, seen: Events, candidates: int, threads: int) -> Judgments:
    """The candidates for the contexts of held-out events, judged by those events.

    Contexts of which no candidate is held out have nothing to teach, and are left out.
    """
    from topwise.evaluation.cases import Cases

    cases = Cases.from_log(held, maker.first.roles, maker.first.item_vocabulary, seen)
    found = search(maker.first, cases.contexts, candidates, cases.excluded, threads)
    hits = np.zeros(len(found), dtype=bool)
    hits[found.row[found.among(cases.targets)]] = True
    if not hits.any():
        raise ValueError(
            f"none of the {candidates} candidates of any context is among the held-out events: "
            "make candidates larger, or the first stage better"
        )
    used = np.flatnonzero(hits)
    return as_judgments(maker, found.take(used), cases.targets.take(used))


def as_judgments(maker: Maker, found: Candidates, targets: Csr | None = None) -> Judgments:
    """Rows of features for candidates, a query for each context; labels 1 for what is in `targets`."""
    matrix, names = maker.make(found)
    labels = np.zeros(len(matrix), dtype=np.float32)
    if targets is not None:
        labels[found.among(targets)] = 1
    lengths = np.bincount(found.row, minlength=len(found))
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    ids = list(found.contexts.values())
    qids = ids[0]
    if len(ids) > 1:
        qids = np.empty(len(found), dtype=object)
        qids[:] = list(zip(*ids, strict=True))
    docids = found.catalogue.ids[found.item]
    return Judgments(matrix, labels, indptr, qids, docids=docids, feature_names=names)
