"""Linked documents: a document, or a few of its words, is the query; what it links to, the answer."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt

from topwise.data import Csr, Events, Features
from topwise.data.readers import read_columns
from topwise.features import TermWeights, TextSpace, keyword_queries
from topwise.papers.study import Source, Task

Pairs: TypeAlias = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]

WORDS = 20_000
QUICK_DOCUMENTS = 250
TEACHING, CHOOSING = 0.63, 0.07


def linked(counts: Csr, links: Pairs, seed: int, quick: bool, keywords: int | None = None) -> Task:
    """70 % of the documents teach, with the links that they have, 30 % judge; of the former a tenth chooses.

    A document stands in its own list as a known item of no weight, so that it is neither drawn nor ranked.
    With `keywords`, a query is so many random words of the document in place of all of it. Methods that weigh
    words themselves take the counts, under `counts`.
    """
    if quick:
        counts, links = _cut(counts, links)
    part = np.random.default_rng(seed).permutation(len(counts)) / len(counts)
    terms = TermWeights(sublinear=True).fit(counts.take(np.flatnonzero(part < TEACHING)).to_scipy())
    log = _log(links, len(counts))
    of_event = part[log.ids("query")]
    known = np.arange(len(log)) < len(counts)
    return Task(
        log.take(known | (of_event < TEACHING)),
        log.take(~known & (of_event >= TEACHING) & (of_event < TEACHING + CHOOSING)),
        log.take(~known & (of_event >= TEACHING + CHOOSING)),
        _features(Csr.from_scipy(terms.transform(counts.to_scipy())), seed, keywords),
        {"counts": _features(counts, seed, keywords)},
        seed=seed,
        quick=quick,
    )


def _log(links: Pairs, documents: int) -> Events:
    """Links as events, behind an event of no weight for each document and itself."""
    query, item = links
    distinct = query != item
    itself = np.arange(documents)
    return Events.from_arrays(
        query=np.concatenate([itself, query[distinct]]),
        item=np.concatenate([itself, item[distinct]]),
        weight=np.concatenate([np.zeros(documents), np.ones(distinct.sum())]),
    )


def _features(rows: Csr, seed: int, keywords: int | None) -> dict[str, Features]:
    texts = Features.from_matrix(np.arange(len(rows)), rows, identity=False)
    asked = texts if keywords is None else keyword_queries(texts, keywords, seed)
    return {"query_features": asked, "item_features": texts}


def _cut(counts: Csr, links: Pairs) -> tuple[Csr, Pairs]:
    """The documents with the most links, and the words that they have."""
    query, item = links
    degree = np.bincount(query, minlength=len(counts)) + np.bincount(item, minlength=len(counts))
    kept = np.sort(np.argsort(-degree, kind="stable")[:QUICK_DOCUMENTS])
    number = np.full(len(counts), -1)
    number[kept] = np.arange(len(kept))
    inside = (number[query] >= 0) & (number[item] >= 0)
    return counts.take(kept), (number[query[inside]], number[item[inside]])


# --- collections ----------------------------------------------------------------------------------------


def _wikispeedia(folder: Path) -> tuple[Csr, Pairs]:
    lines = gzip.decompress((folder / "articles_text_first5000.jsonl.gz").read_bytes()).decode("utf8")
    articles = [json.loads(line) for line in lines.splitlines()]
    number = {unquote(article["article"]): place for place, article in enumerate(articles)}
    space = TextSpace("count", min_df=3, max_words=WORDS, stop_words="english")
    counts = space.fit(range(len(articles)), [article["text"] for article in articles]).matrix
    pairs = []
    for line in gzip.decompress((folder / "links.tsv.gz").read_bytes()).decode("utf8").splitlines():
        if line and not line.startswith("#"):
            one, other = (number.get(unquote(name)) for name in line.split("\t"))
            if one is not None and other is not None:
                pairs.append((one, other))
    query, item = np.array(pairs).T
    return counts, (query, item)


def _chameleon(folder: Path) -> tuple[Csr, Pairs]:
    data = json.loads(gzip.decompress((folder / "chameleon_features.json.gz").read_bytes()))
    rows = np.concatenate([np.full(len(nouns), int(one)) for one, nouns in data.items()])
    columns = np.concatenate([np.array(nouns, dtype=np.int64) for nouns in data.values()])
    shape = (max(map(int, data)) + 1, int(columns.max()) + 1)
    edges = read_columns(folder / "chameleon_edges.csv.gz", {"one": "id1", "other": "id2"})
    one, other = (edges[name].cast(int).to_numpy() for name in ("one", "other"))
    both = np.unique(np.stack([np.concatenate([one, other]), np.concatenate([other, one])]), axis=1)
    return Csr.from_coordinates(rows, columns, shape, np.ones(len(rows))), (both[0], both[1])


def _citeulike(folder: Path) -> tuple[Csr, Pairs]:
    from topwise.datasets import citeulike, citeulike_citations

    features = citeulike(folder).item_features
    assert features is not None
    log = citeulike_citations(folder)
    return features.matrix, (log.ids("query"), log.ids("item"))


def _source(
    name: str, load: Callable[[Path], tuple[Csr, Pairs]], stands_for: str, keywords: int | None
) -> Source:
    def task(folder: Path, seed: int, quick: bool) -> Task:
        counts, links = load(folder)
        return linked(counts, links, seed, quick, keywords)

    return Source(name, task, stands_for)


def wikispeedia(stands_for: str = "", keywords: int | None = None) -> Source:
    """4,598 articles of an encyclopaedia and the links between them."""
    return _source("wikispeedia", _wikispeedia, stands_for, keywords)


def chameleon(stands_for: str = "", keywords: int | None = None) -> Source:
    """2,277 articles of an encyclopaedia by their nouns, and mutual links."""
    return _source("wikipedia-chameleon", _chameleon, stands_for, keywords)


def citations(stands_for: str = "", keywords: int | None = None) -> Source:
    """25,975 scientific articles by their words, and their citations in either direction."""
    return _source("citeulike-t", _citeulike, stands_for, keywords)
