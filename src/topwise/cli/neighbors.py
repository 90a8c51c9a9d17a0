"""The nearest items of items, or users of users, by the angle between their vectors.

Or the tastes of users, each by the items that it scores best.
"""

from __future__ import annotations

import argparse
from typing import Any

from topwise.cli.arguments import check_role, check_tastes, count, listed, load_model
from topwise.cli.bulk import Block
from topwise.cli.errors import UsageError
from topwise.cli.tables import Column, add_format, decimal, print_rows
from topwise.cli.titles import Titles, add_titles

EXAMPLES = (
    "topwise neighbors model.safetensors --items 50,1 --titles movies.csv",
    "topwise neighbors model.safetensors --users 42 --tastes --titles movies.csv",
    "topwise neighbors model.safetensors --users 42 --k 5 --metric dot --format json",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `topwise neighbors`."""
    parser.add_argument("model", metavar="MODEL", help="a file that topwise fit wrote")
    either = parser.add_mutually_exclusive_group(required=True)
    for what in ("items", "users", "queries"):
        either.add_argument(f"--{what}", metavar="IDS", type=listed, help="ids, separated by commas")
    parser.add_argument("--k", metavar="N", type=count(), default=10, help="neighbours of each (default: 10)")
    parser.add_argument(
        "--metric", choices=("cosine", "dot"), help="of the vectors (default: cosine; with --tastes dot)"
    )
    parser.add_argument(
        "--tastes",
        action="store_true",
        help="each taste of the users (sense of the queries) by the items that it scores best (maxmf)",
    )
    add_titles(parser)
    add_format(parser)


def run(args: argparse.Namespace) -> int:
    """Prints the neighbours."""
    model = load_model(args.model)
    role, name = _asked(args)
    ids = getattr(args, name)
    if role != "item":
        check_role(model, role)
    if args.tastes:
        return _show_tastes(model, args, role, ids)
    metric = args.metric or "cosine"
    titles = Titles.read(args.titles) if args.titles is not None and role == "item" else None
    vocabulary = model.item_vocabulary if role == "item" else model._vocabulary(role)
    found, values = model.neighbors(**{name: ids}, k=args.k, metric=metric)
    block = Block({"asked": vocabulary.ids[vocabulary.codes(ids)]}, found, values)
    rows = [_row(row, titles) for row in block.rows()]
    print_rows(_columns(role, metric, titles), rows, args.format, groups=1 if titles is None else 2)
    return 0


def _show_tastes(model: Any, args: argparse.Namespace, role: str, ids: list[str]) -> int:
    if role == "item":
        raise UsageError("--tastes are those of users or queries: give --users or --queries")
    check_tastes(model, "--tastes")
    titles = None if args.titles is None else Titles.read(args.titles)
    metric = args.metric or "dot"
    rows = []
    for asked in ids:
        for taste in model.tastes(asked, k=args.k, metric=metric):
            for place, (item, score) in enumerate(
                zip(taste.items.tolist(), taste.scores, strict=True), start=1
            ):
                title = [] if titles is None else [titles.of(item)]
                rows.append([asked, taste.number, place, item, *title, score])
    columns = [Column(role), Column("taste", right=True), Column("rank", right=True), Column("item")]
    columns += [] if titles is None else [Column("title")]
    print_rows([*columns, Column("score", decimal, right=True)], rows, args.format, groups=2)
    return 0


def _asked(args: argparse.Namespace) -> tuple[str, str]:
    names = {"item": "items", "user": "users", "query": "queries"}
    return next((role, name) for role, name in names.items() if getattr(args, name) is not None)


def _columns(role: str, metric: str, titles: Titles | None) -> list[Column]:
    similarity = Column(metric, decimal, right=True)
    if titles is None:
        return [Column(role), Column("rank", right=True), Column("neighbor"), similarity]
    return [
        Column(role),
        Column("title"),
        Column("rank", right=True),
        Column("neighbor"),
        Column("neighbor_title"),
        similarity,
    ]


def _row(row: tuple[Any, ...], titles: Titles | None) -> list[Any]:
    asked, rank, neighbor, value = row
    if titles is None:
        return [asked, rank, neighbor, value]
    return [asked, titles.of(asked), rank, neighbor, titles.of(neighbor), value]
