"""The best items for users, for queries, for both together, or for rows of features.

An unknown user gets what suits the mean of all users (or the query alone, where there is one), and a warning
says so.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from topwise.cli.arguments import (
    PLURAL,
    add_columns,
    add_exclude,
    check_role,
    check_tastes,
    count,
    listed,
    load_model,
    read_excluded,
    read_ids,
)
from topwise.cli.bulk import Block, check_ending, writing
from topwise.cli.errors import UsageError, complain
from topwise.cli.files import check_writable
from topwise.cli.inputs import RawRows
from topwise.cli.tables import Column, add_format, decimal, print_rows
from topwise.cli.titles import Titles, add_titles

if TYPE_CHECKING:
    from topwise.data import Events
    from topwise.models import Embedding

# Contexts of which the results are held at once.
CHUNK = 8192
_SHOWN_UNKNOWN = 5

EXAMPLES = (
    "topwise recommend model.safetensors --users 42,7 --exclude train.csv --titles movies.csv",
    "topwise recommend model.safetensors --all --k 20 --exclude train.csv --out recs.parquet",
    "topwise recommend songs.safetensors --users 42 --queries 260,296 --k 5",
    "topwise recommend bag.safetensors --history 50,1,260",
    "topwise recommend tagger.safetensors --features new.txt --k 5 --format csv",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `topwise recommend`."""
    parser.add_argument("model", metavar="MODEL", help="a file that topwise fit wrote")
    group = parser.add_argument_group(
        "for whom (one of them; of users and queries both, for a model of both: as many, or one of one kind)"
    )
    either = group.add_mutually_exclusive_group()
    either.add_argument("--users", metavar="IDS", type=listed, help="ids, separated by commas")
    either.add_argument("--users-file", metavar="FILE", help="ids, one a line; - is the standard input")
    queries = group.add_mutually_exclusive_group()
    queries.add_argument("--queries", metavar="IDS", type=listed, help="the same for a model of queries")
    queries.add_argument("--queries-file", metavar="FILE", help="the same for a model of queries")
    either.add_argument("--all", action="store_true", help="all that the model knows")
    either.add_argument("--features", metavar="FILE", help="rows of raw features: a table, or examples")
    either.add_argument(
        "--history", metavar="ITEMS", type=listed, help="somebody who has these items (item-bag)"
    )
    group = parser.add_argument_group("what")
    group.add_argument("--k", metavar="N", type=count(), default=10, help="items for each (default: 10)")
    add_exclude(group)
    group.add_argument(
        "--inference",
        choices=("iterative", "greedy", "beam"),
        help="how a LaSR finds lists (default: as fitted)",
    )
    group.add_argument(
        "--candidates",
        metavar="N",
        type=count(),
        help="a LaSR ranks only so many again, the best by the step before",
    )
    group.add_argument("--items-file", metavar="FILE", help="recommend these items only: ids, one a line")
    add_titles(group)
    group.add_argument("--show-taste", action="store_true", help="which taste an item suits best (maxmf)")
    group.add_argument("--features-id", metavar="COLUMN", help="the id column, when --features is a table")
    group.add_argument(
        "--list-separator", metavar="TEXT", help="what separates lists in --features, as in fit"
    )
    group.add_argument("--threads", metavar="N", type=count(), help="threads (default: all)")
    group.add_argument("--out", metavar="FILE", help="write .csv or .parquet in place of printing")
    add_columns(parser)
    add_format(parser)


def run(args: argparse.Namespace) -> int:
    """Recommends, and prints or writes."""
    if args.out is not None:
        check_ending(args.out)
        check_writable(args.out)
    model = load_model(args.model, two_stage=True)
    task = _task(model, args)
    if args.out is None:
        _print(task, args.format)
    else:
        with writing(args.out) as write:
            for block in task.blocks(progress=True):
                write(block)
        complain(f"wrote the items of {len(task):,} {task.unit} to {args.out}")
    return 0


def _print(task: _Task, form: str) -> None:
    columns = [*map(Column, task.contexts), Column("rank", right=True), Column("item")]
    columns += [Column("title")] if task.titles is not None else []
    columns += [Column("taste", right=True)] if "return_taste" in task.arguments else []
    columns += [Column("score", decimal, right=True)]
    print_rows(
        columns, (row for block in task.blocks() for row in block.rows()), form, groups=len(task.contexts)
    )


@dataclass
class _Task:
    """For whom to recommend, and what with."""

    model: Embedding
    contexts: dict[str, Any]
    arguments: dict[str, Any]
    raw: RawRows | None = None
    exclude: Events | None = None
    titles: Titles | None = None

    def __len__(self) -> int:
        return len(next(iter(self.contexts.values())))

    @property
    def unit(self) -> str:
        """What there are so many of."""
        return "pairs" if len(self.contexts) > 1 else PLURAL[next(iter(self.contexts))]

    def blocks(self, progress: bool = False) -> Iterator[Block]:
        """The results, some contexts at a time."""
        from tqdm import tqdm

        with tqdm(total=len(self), unit=f" {self.unit}", disable=None if progress else True) as bar:
            for start in range(0, len(self), CHUNK):
                ids = {role: of[start : start + CHUNK] for role, of in self.contexts.items()}
                items, scores, *tastes = self._recommend(ids, start)
                yield Block(ids, items, scores, self.titles, *tastes)
                bar.update(len(items))

    def _recommend(self, ids: dict[str, Any], start: int) -> tuple[Any, ...]:
        if self.raw is not None:
            return self.model.recommend(features=self.raw.some(start, start + CHUNK), **self.arguments)
        if "history" in self.arguments:
            items, scores = self.model.recommend(**self.arguments)
            return items[None], scores[None]
        # Of the log to exclude, a block looks at its own contexts' events only.
        exclude = self.exclude
        for role, of in ids.items():
            if exclude is not None and role in exclude.roles:
                exclude = _events_of(exclude, role, of)
        asked = {PLURAL[role]: of for role, of in ids.items()}
        return self.model.recommend(**asked, exclude=exclude, **self.arguments)


def _task(model: Embedding, args: argparse.Namespace) -> _Task:
    _check_sources(args)
    role = model.roles[-1] if args.features is not None else model.roles[0]
    if not hasattr(model, "neighbors") and (args.items_file or args.features or args.history):
        raise UsageError("a model of two stages recommends for ids, from all items: give --users")
    arguments: dict[str, Any] = {"k": args.k, "threads": args.threads}
    for name in ("inference", "candidates"):
        if getattr(args, name) is not None:
            if type(model).__name__ != "LaSR":
                raise UsageError(f"--{name} is for the model lasr, and this is a {type(model).__name__}")
            arguments[name] = getattr(args, name)
    if args.items_file is not None:
        arguments["items"] = read_ids(args.items_file)
    if args.show_taste:
        check_tastes(model, "--show-taste")
        arguments["return_taste"] = True
    titles = None if args.titles is None else Titles.read(args.titles)
    if args.features is not None or args.history is not None:
        if args.exclude:
            raise UsageError("--exclude goes with ids: --users, --queries or --all")
        if args.history is not None:
            return _history(model, args, arguments, titles)
        raw = RawRows.read(args.features, args.features_id, args.list_separator)
        return _Task(model, {role: raw.ids}, arguments, raw, titles=titles)
    if args.all and len(model.roles) > 1:
        raise UsageError("--all is for a model of users or of queries alone: give --users and --queries")
    contexts = {role: model.context_vocabulary.ids} if args.all else _given_ids(model, args)
    return _Task(model, contexts, arguments, exclude=read_excluded(args, model.roles), titles=titles)


def _history(
    model: Embedding, args: argparse.Namespace, arguments: dict[str, Any], titles: Titles | None
) -> _Task:
    from topwise.models import ItemBag

    if not isinstance(model, ItemBag):
        raise UsageError(
            f"--history is for the model item-bag, and this is a {type(model).__name__}: give --users"
        )
    _warn_of_unknown(model.item_vocabulary.codes(args.history), args.history, "item", "which does not count")
    arguments["history"] = args.history
    ids = np.array([",".join(args.history)], dtype=object)
    return _Task(model, {model.roles[0]: ids}, arguments, titles=titles)


def _check_sources(args: argparse.Namespace) -> None:
    """Exactly one kind of contexts, or users and queries."""
    queries = "--queries" if args.queries else "--queries-file" if args.queries_file else None
    others = [
        flag
        for flag in ("--all", "--features", "--history")
        if getattr(args, flag.removeprefix("--")) not in (None, False)
    ]
    if queries and others:
        raise UsageError(f"{queries} not allowed with argument {others[0]}")
    if not (queries or others or args.users or args.users_file):
        raise UsageError(
            "one of the arguments --users --queries --users-file --queries-file --all --features --history "
            "is required"
        )


def _given_ids(model: Embedding, args: argparse.Namespace) -> dict[str, Any]:
    """The ids that were asked for, as the model knows them, by role."""
    found: dict[str, Any] = {}
    for role, ids, file in (
        ("user", args.users, args.users_file),
        ("query", args.queries, args.queries_file),
    ):
        if ids or file:
            check_role(model, role)
            found[role] = np.array(read_ids(file) if file else ids, dtype=object)
    longest = max(map(len, found.values()))
    if {*map(len, found.values())} - {1, longest}:
        listed_lengths = " and ".join(f"{len(ids)} {PLURAL[role]}" for role, ids in found.items())
        raise UsageError(f"users and queries must be as many, or one of them single, got {listed_lengths}")
    return {role: _as_known(model, role, ids, longest) for role, ids in found.items()}


def _as_known(model: Embedding, role: str, ids: Any, length: int) -> Any:
    vocabulary = model._vocabulary(role)
    codes = vocabulary.codes(ids)
    other = {"user": "the query", "query": "the user"}[role]
    outcome = f"what suits the mean of all {PLURAL[role]}" if len(model.roles) == 1 else f"what suits {other}"
    _warn_of_unknown(codes, ids, role, f"and recommends {outcome}")
    # Where some are unknown, all stay as they were typed, so that a column of them has one type.
    known = vocabulary.ids[codes] if (codes >= 0).all() else ids
    return known if len(known) == length else known.repeat(length)


def _warn_of_unknown(codes: Any, ids: Any, role: str, outcome: str) -> None:
    unknown = [str(id_) for id_, code in zip(ids, codes, strict=True) if code < 0]
    if unknown:
        more = f" and {len(unknown) - _SHOWN_UNKNOWN:,} more" if len(unknown) > _SHOWN_UNKNOWN else ""
        names = ", ".join(map(repr, unknown[:_SHOWN_UNKNOWN]))
        complain(f"warning: the model does not know the {role} {names}{more}, {outcome}")


def _events_of(log: Events, role: str, ids: Any) -> Events:
    codes = log.vocabulary(role).codes(ids)
    wanted = np.zeros(log.n(role), dtype=bool)
    wanted[codes[codes >= 0]] = True
    return log.take(wanted[log.codes(role)])
