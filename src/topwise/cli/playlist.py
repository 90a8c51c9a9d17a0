"""A walk from item to item: each is the query for the next, and none comes twice.

The model must have items as queries: one that topwise fit made with --sessions, say.
"""

from __future__ import annotations

import argparse
from typing import Any

from topwise.cli.arguments import add_columns, add_exclude, count, load_model, read_excluded, read_ids
from topwise.cli.errors import UsageError
from topwise.cli.tables import Column, add_format, print_rows
from topwise.cli.titles import Titles, add_titles

EXAMPLES = (
    "topwise playlist songs.safetensors --user 42 --seed 260 --length 15 --titles songs.csv",
    "topwise playlist songs.safetensors --seed 260 --format csv",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `topwise playlist`."""
    parser.add_argument("model", metavar="MODEL", help="a file that topwise fit wrote, of the model lcr")
    parser.add_argument("--seed", metavar="ITEM", required=True, help="the item that it begins with")
    parser.add_argument("--for-user", metavar="ID", help="whose playlist it is; else of nobody in particular")
    parser.add_argument("--length", metavar="N", type=count(), default=20, help="items (default: 20)")
    add_exclude(parser)
    parser.add_argument("--items-file", metavar="FILE", help="of these items only: ids, one a line")
    add_titles(parser)
    add_columns(parser)
    add_format(parser)


def run(args: argparse.Namespace) -> int:
    """Walks, and prints."""
    from topwise.models import LCR

    model: Any = load_model(args.model)
    if not isinstance(model, LCR) or "query" not in model.roles:
        raise UsageError("a playlist needs a model of queries: topwise fit --model lcr --sessions 1h, say")
    exclude = read_excluded(args, ("user",)) if args.for_user is not None else None
    items = None if args.items_file is None else read_ids(args.items_file)
    found = model.playlist(args.for_user, args.seed, args.length, items=items, exclude=exclude)
    titles = None if args.titles is None else Titles.read(args.titles)
    columns = [Column("place", right=True), Column("item"), *([] if titles is None else [Column("title")])]
    rows = [
        [place, item, *([] if titles is None else [titles.of(item)])]
        for place, item in enumerate(found.tolist(), start=1)
    ]
    print_rows(columns, rows, args.format)
    return 0
