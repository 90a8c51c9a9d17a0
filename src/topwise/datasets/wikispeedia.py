"""Wikispeedia: the articles of a school edition of Wikipedia, and which of them link to which."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import numpy as np

from topwise.data import Csr, Events, Features
from topwise.datasets.base import Dataset, find_file, read_lines

_ORIGIN = "snap.stanford.edu/data/wikispeedia.html (wikispeedia_paths-and-graph)"


def wikispeedia_links(root: str | Path) -> Dataset:
    """Links from a local folder: the article that links is the query, the linked one the item.

    Ids are the names in the addresses, titles the same made readable. `item_features` are the categories,
    each with those above it: "subject.Science.Biology" counts for "subject.Science" as well.
    """
    links = list(_rows(root, "links.tsv"))
    names = {name for link in links for name in link}
    log = Events.from_arrays(query=[page for page, _ in links], item=[linked for _, linked in links])
    return Dataset(
        log=log,
        description="Wikispeedia, links between articles",
        item_titles={name: unquote(name).replace("_", " ") for name in sorted(names)},
        item_features=_categories(root, sorted(names)),
    )


def _categories(root: str | Path, articles: list[str]) -> Features:
    row_of = {name: row for row, name in enumerate(articles)}
    entries: set[tuple[int, str]] = set()
    for article, category in _rows(root, "categories.tsv"):
        parts = category.split(".")
        if article in row_of:
            entries |= {(row_of[article], ".".join(parts[:end])) for end in range(2, len(parts) + 1)}
    names = sorted({category for _, category in entries})
    column_of = {name: column for column, name in enumerate(names)}
    rows = np.array([row for row, _ in entries], dtype=np.int64)
    columns = np.array([column_of[category] for _, category in entries], dtype=np.int64)
    return Features.from_matrix(
        articles, Csr.from_coordinates(rows, columns, (len(articles), len(names))), names
    )


def _rows(root: str | Path, name: str) -> Iterator[list[str]]:
    """The pairs of a table, which begins with lines of comment."""
    file = find_file(root, name, _ORIGIN)
    for number, line in enumerate(read_lines(file), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = line.split("\t")
        if len(parts) != 2:
            raise ValueError(
                f"line {number} of {file} must be two names with a tab between, got {line[:60]!r}"
            )
        yield parts
