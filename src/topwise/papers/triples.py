"""Logs of (query, user, item): what a user took after what. Last.fm-1K itself, and what stands in for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from topwise import datasets
from topwise.data import Csr, Events, Features
from topwise.features import TermWeights
from topwise.papers.methods import only
from topwise.papers.protocols import (
    compact,
    eighty_ten_ten,
    head_and_tail,
    one_day_in_five,
    some_contexts,
)
from topwise.papers.study import Source, Task

QUICK_USERS = 150

Parts = Callable[[Events, int], tuple[Events, Events, Events]]


def _source(
    name: str,
    load: Callable[[Path], Events],
    parts: Parts,
    stands_for: str,
    pairs_only: bool,
    also: tuple[str, ...] = (),
    original: bool = False,
) -> Source:
    def task(folder: Path, seed: int, quick: bool) -> Task:
        log = replace(load(folder), weight=None)
        if quick:
            log = some_contexts(log, QUICK_USERS)
        train, validation, test = parts(log, seed)
        if pairs_only:
            train, validation, test = (only(part, "query") for part in (train, validation, test))
        return Task(train, validation, test, seed=seed, quick=quick)

    return Source(name, task, stands_for, also, original)


def _plays(folder: Path) -> Events:
    """Two artists played one after the other, within an hour, by the same user."""
    from topwise import sessions

    return sessions.consecutive(datasets.lastfm_1k(folder).log, "1h")


def _visits(folder: Path) -> Events:
    """Two venues visited one after the other, within six hours, by the same user."""
    from topwise import sessions

    return sessions.consecutive(datasets.foursquare_nyc(folder).log, "6h")


def _films(folder: Path) -> Events:
    """Two films rated one after the other, within an hour, by the same user."""
    from topwise import sessions

    return sessions.consecutive(datasets.movielens_1m(folder).log, "1h")


def _tags(folder: Path) -> Events:
    return datasets.lastfm_hetrec_tags(folder).log


def lastfm_1k(pairs_only: bool = False) -> Source:
    """The papers' own data."""
    return _source(
        "lastfm-1k",
        _plays,
        one_day_in_five,
        "Last.fm-1K",
        pairs_only,
        ("lastfm-dataset-1K",),
        original=True,
    )


def foursquare(stands_for: str = "", pairs_only: bool = False) -> Source:
    """Venues one after the other."""
    return _source("foursquare-nyc", _visits, one_day_in_five, stands_for, pairs_only)


def films(stands_for: str = "", pairs_only: bool = False) -> Source:
    """Films one after the other; whole sittings fall on one day, so the parts are by chance."""
    return _source("movielens-1m", _films, eighty_ten_ten, stands_for, pairs_only)


def tagged(stands_for: str = "", pairs_only: bool = False) -> Source:
    """A tag, the user who gave it, the artist who got it."""
    return _source("lastfm-hetrec2011", _tags, eighty_ten_ten, stands_for, pairs_only)


# --- head and tail --------------------------------------------------------------------------------------


def _cold(folder: Path, seed: int, quick: bool) -> Task:
    """Articles of one library, two by two in random order; words are content of both; queries and items of
    the tail have no more than their words."""
    found = datasets.citeulike(folder)
    assert found.item_features is not None
    log = some_contexts(found.log, QUICK_USERS) if quick else found.log
    rng = np.random.default_rng(0)
    owner = log.codes("user")
    order = np.lexsort((rng.random(len(log)), owner))
    same = owner[order][1:] == owner[order][:-1]
    users, items = log.ids("user")[order], log.ids("item")[order]
    triples = Events.from_arrays(user=users[1:][same], query=items[:-1][same], item=items[1:][same])
    head, validation, test = head_and_tail(triples, seed, *((2, 1) if quick else (10, 2)))
    known = np.unique(head.ids("item"))
    # A query of the head, so that what is cold is the item.
    validation, test = (part.take(np.isin(part.ids("query"), known)) for part in (validation, test))
    counts = found.item_features.matrix
    terms = TermWeights(sublinear=True).fit(counts.take(known).to_scipy())
    ids = np.unique(np.concatenate([triples.ids("query"), triples.ids("item")]))
    rows = Csr.from_scipy(terms.transform(counts.take(found.item_features.vocabulary.codes(ids)).to_scipy()))
    features = Features.from_matrix(ids, rows, identity=False)
    return Task(
        compact(head),
        compact(validation),
        compact(test),
        {"query_features": features, "item_features": features},
        seed=seed,
        quick=quick,
    )


def cold_articles(stands_for: str = "") -> Source:
    """Cold start: items of which there is content alone."""
    return Source("citeulike-t", _cold, stands_for)
