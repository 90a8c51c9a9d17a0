"""Train, measure and recommend on the data that ships with the package, in a few seconds."""

from __future__ import annotations

import argparse
import os
import time
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from topwise.cli.arguments import count
from topwise.cli.export import export
from topwise.cli.files import check_writable
from topwise.cli.tables import Column, decimal, table_lines, whole

if TYPE_CHECKING:
    from topwise.data import Events, Vocabulary
    from topwise.datasets import Dataset
    from topwise.models import MatrixFactorization

EXAMPLES = (
    "topwise demo",
    "topwise demo --user 103 --item 1 --out model.safetensors",
    "topwise demo --export folder",
)

SEED = 0
HELD_OUT = 0.2
K = 10
METRICS = ("recall@10", "ndcg@10", "map", "mean_rank")
# Somebody whose taste is easy to tell, so that a reader can judge for themselves.
USER = "103"
ITEM = "1"
_TITLE_WIDTH = 38


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `topwise demo`."""
    parser.add_argument("--user", metavar="ID", default=USER, help=f"for whom to recommend (default: {USER})")
    parser.add_argument(
        "--item", metavar="ID", default=ITEM, help=f"the film with neighbours (default: {ITEM})"
    )
    parser.add_argument("--threads", metavar="N", type=count(), help="threads (default: all)")
    parser.add_argument("--out", metavar="MODEL", help="save the model to this file")
    parser.add_argument("--export", metavar="FOLDER", help="only write the data into this folder")


def run(args: argparse.Namespace) -> int:
    """The whole way from a log of events to a ranked list."""
    from topwise import datasets, split

    if args.out is not None:
        check_writable(args.out)
    data = datasets.movielens_small()
    train, test = split.by_fraction(data.log, test=HELD_OUT, seed=SEED)
    if args.export is not None:
        export(data, train, test, args.export)
        return 0
    for role, id_ in (("user", args.user), ("item", args.item)):
        if id_ not in train.vocabulary(role):
            raise ValueError(f"there is no {role} {id_!r} in {data.description}")
    print(
        f"{data.description}: {whole(len(data.log))} likes of {whole(data.log.n('item'))} films "
        f"by {whole(data.log.n('user'))} people"
    )
    model = _train(train, args.threads)
    _measure(model, train, test)
    _recommend(model, data, train, test, args.user)
    _neighbors(model, data, args.item)
    if args.out is not None:
        model.save(args.out)
        print(f"\nSaved to {args.out} ({os.path.getsize(args.out) / 1e6:.1f} MB)")
    return 0


def _step(number: int, text: str) -> None:
    print(f"\n{number}. {text}\n", flush=True)


def _train(train: Events, threads: int | None) -> MatrixFactorization:
    from topwise.models import MatrixFactorization

    _step(1, f"Learn from {1 - HELD_OUT:.0%} of the likes")
    started = time.perf_counter()
    model = MatrixFactorization(max_norm="auto", threads=threads, seed=SEED).fit(train)
    seconds = time.perf_counter() - started
    print(f"   vectors of {model.dim} numbers, the loss WARP, {model.epochs} epochs")
    learned: Any = model
    print(f"   longest vector found by trying: {learned.max_norm_:g}")
    print(f"   {seconds:.1f} s")
    return model


def _measure(model: MatrixFactorization, train: Events, test: Events) -> None:
    """The model beside the ranking that is the same for everybody."""
    from topwise.evaluation import evaluate

    _step(2, "Find the likes held out, among all films that a person has not liked before")
    ours, theirs = (
        evaluate(ranker, test, metrics=METRICS, exclude=train) for ranker in (model, _Popularity(train))
    )
    rows = [(name, theirs[name], ours[name], *map(decimal, ours.interval(name))) for name in ours]
    columns = [
        Column("metric", title=""),
        Column("popularity", decimal, right=True),
        Column("topwise", decimal, right=True),
        Column("interval", title="95 % interval"),
    ]
    for line in table_lines(columns, [(*row[:3], f"{row[3]} to {row[4]}") for row in rows]):
        print(f"   {line}")
    print(f"\n   means over {whole(ours.n_contexts)} people; mean_rank: the lower the better")


def _recommend(model: MatrixFactorization, data: Dataset, train: Events, test: Events, user: str) -> None:
    _step(3, f"Recommend for person {user}")
    liked = _items_of(train, user)
    held_out = set(_items_of(test, user))
    # The best known films first: a reader recognises those.
    fame = np.bincount(train.item, minlength=train.n("item"))
    liked.sort(key=lambda id_: -fame[train.vocabulary("item").codes(id_)[0]])
    items, _ = model.recommend(users=user, k=K, exclude=train)
    mark = [f"{n:>2} {_title(data, id_)}{' *' if id_ in held_out else ''}" for n, id_ in enumerate(items, 1)]
    columns = [Column("liked", title=f"liked ({len(liked)} films)"), Column("recommended")]
    pairs = zip_longest([_title(data, id_) for id_ in liked[:K]], mark, fillvalue="")
    for line in table_lines(columns, list(pairs)):
        print(f"   {line}")
    print("\n   * among the likes held out, which the model has not seen")


def _neighbors(model: MatrixFactorization, data: Dataset, item: str) -> None:
    _step(4, f"Films nearest to {data.item_titles[item]}")
    items, values = model.neighbors(items=item, k=5)
    columns = [Column("film"), Column("cosine", lambda value: f"{value:.2f}", right=True)]
    rows = [(_title(data, id_), value) for id_, value in zip(items, values, strict=True)]
    for line in table_lines(columns, rows):
        print(f"   {line}")


def _items_of(log: Events, user: str) -> list[Any]:
    ids: list[Any] = (
        log.vocabulary("item").ids[log.matrix("user").row(log.vocabulary("user").codes(user)[0])].tolist()
    )
    return ids


def _title(data: Dataset, item: Any) -> str:
    title = data.item_titles[item]
    return title if len(title) <= _TITLE_WIDTH else title[: _TITLE_WIDTH - 1] + "…"


class _Popularity:
    """The same list for everybody: items by the number of their events."""

    roles = ("user",)

    def __init__(self, log: Events) -> None:
        self.item_vocabulary: Vocabulary = log.vocabulary("item")
        self._counts = np.bincount(log.item, minlength=log.n("item")).astype(np.float32)

    def item_vectors(self) -> Any:
        return self._counts[:, None]

    def context_vectors(self, users: Any = None, queries: Any = None) -> Any:
        return np.ones((len(users), 1), dtype=np.float32)
