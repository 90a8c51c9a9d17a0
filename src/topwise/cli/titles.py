"""What items are called, for people who do not know their ids."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any


def add_titles(parser: argparse._ActionsContainer) -> None:
    """The option for a file of titles."""
    parser.add_argument(
        "--titles",
        metavar="FILE",
        help="a csv, tsv or parquet file of titles: the id in the first column, the title in the column "
        "called title, or else in the second",
    )


class Titles:
    """The titles of items by their ids; None for an item without one."""

    def __init__(self, title_of: Mapping[str, str]) -> None:
        self._title_of = title_of

    @classmethod
    def read(cls, path: str) -> Titles:
        """Titles from a file."""
        from topwise.data.readers import Source

        source = Source(path)
        names = source.names() or []
        columns = source.read({"id": 0, "title": "title" if "title" in names[1:] else 1})
        return cls(dict(zip(map(str, columns["id"].to_list()), columns["title"].to_list(), strict=True)))

    def of(self, item: Any) -> str | None:
        """The title of an item."""
        return self._title_of.get(str(item))
