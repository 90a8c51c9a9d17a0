"""How well a model ranks what is in a test log among its whole catalogue.

Means are over users (or queries), with 95 % bootstrap intervals.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topwise.cli.arguments import (
    PLURAL,
    add_columns,
    add_exclude,
    count,
    load_model,
    metrics,
    read_events,
    read_excluded,
)
from topwise.cli.errors import UsageError
from topwise.cli.files import check_writable, replacing
from topwise.cli.inputs import read_multilabel
from topwise.cli.judged import CONVENTIONS, add_reading, load_ranker, read_judgments
from topwise.cli.tables import (
    Column,
    add_format,
    decimal,
    print_record,
    print_rows,
    table_lines,
    whole,
    write_csv,
)

if TYPE_CHECKING:
    from topwise.data import Events, Features, Vocabulary
    from topwise.evaluation import Report
    from topwise.models import Embedding

EXAMPLES = (
    "topwise evaluate model.safetensors test.csv --exclude train.csv",
    "topwise evaluate model.safetensors test.csv --metrics recall@20,map --format json",
    "topwise evaluate ranker.safetensors --judgments test.txt --convention letor4",
    "topwise evaluate tagger.safetensors --multilabel test.txt --metrics precision@1,precision@5",
)

_NOTES = {
    "unseen_contexts": "contexts unknown to the model, and ranked as the mean of all others",
    "unseen_items": "items unknown to the model, and so never found",
    "excluded_events": "test events left out, because --exclude has them as well",
    "repeated_events": "test events that repeat another",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `topwise evaluate`."""
    parser.add_argument("model", metavar="MODEL", help="a file that topwise fit wrote")
    parser.add_argument("test", metavar="TEST", nargs="?", help="the events to find: csv, tsv or parquet")
    parser.add_argument(
        "--multilabel", metavar="FILE", help="in place of TEST: examples with labels and features"
    )
    parser.add_argument(
        "--metrics",
        metavar="LIST",
        type=metrics,
        help="recall@k, precision@k, hit@k, ndcg@k, map, mrr, auc, mean_rank, max_rank, rank_loss "
        "(default: recall@10,ndcg@10,map,mean_rank); for judgments also err and mean_ndcg "
        "(default: ndcg@10,map,mrr)",
    )
    group = parser.add_argument_group("judgments", "In place of TEST, for rankers that fit --judgments made.")
    group.add_argument("--judgments", metavar="FILE", help="lines `label qid:… feature:value …`; .gz too")
    group.add_argument(
        "--convention", choices=CONVENTIONS, default="standard", help="of the metrics (default: standard)"
    )
    add_reading(group)
    add_exclude(parser)
    parser.add_argument(
        "--per-context", metavar="FILE", help="write the metrics of every user: csv or parquet"
    )
    parser.add_argument(
        "--run", metavar="FILE", dest="run_file", help="write the ranked lists, for TREC's tools"
    )
    parser.add_argument(
        "--run-depth", metavar="K", type=count(), default=1000, help="their length (default: 1000)"
    )
    parser.add_argument("--qrels", metavar="FILE", help="write the items to find, for TREC's tools")
    parser.add_argument("--threads", metavar="N", type=count(), help="threads (default: all)")
    add_columns(parser)
    add_format(parser)


def run(args: argparse.Namespace) -> int:
    """Evaluates, writes what was asked for, and prints a table."""
    from topwise.evaluation import evaluate, write_qrels, write_run

    if sum(given is not None for given in (args.test, args.multilabel, args.judgments)) != 1:
        raise UsageError(
            "give a file of TEST events, or --multilabel or --judgments FILE in place of it, and not both"
        )
    for path in filter(None, (args.per_context, args.run_file, args.qrels)):
        check_writable(path)
    if args.judgments is not None:
        return _judged(args)
    model: Any = load_model(args.model, two_stage=True)
    exclude: Events | None = None
    if args.multilabel is not None:
        features, test = read_multilabel(args.multilabel)
        model = _Examples(model, features)
    else:
        test = read_events(args.test, args)
        exclude = read_excluded(args, model.roles)
    report = evaluate(model, test, metrics=args.metrics, exclude=exclude, threads=args.threads)
    if args.per_context is not None:
        _write_contexts(report, args.per_context)
    if args.run_file is not None:
        asked: dict[str, Any] = {
            ("users" if role == "user" else "queries"): ids for role, ids in report.context_ids.items()
        }
        with replacing(args.run_file) as path:
            write_run(model, path, **asked, k=args.run_depth, exclude=exclude, threads=args.threads)
    if args.qrels is not None:
        with replacing(args.qrels) as path:
            write_qrels(test, path, exclude=exclude, roles=model.roles)
    _show(report, args.format)
    return 0


def _judged(args: argparse.Namespace) -> int:
    """Evaluates a ranker of judgments."""
    from topwise.evaluation import evaluate

    if args.exclude or args.run_file or args.qrels:
        raise UsageError("--judgments goes without --exclude, --run and --qrels: see topwise rank --help")
    if args.per_context is not None:
        check_writable(args.per_context)
    ranker = load_ranker(args.model)
    judged = read_judgments(args.judgments, args, ranker.n_features_)
    report = evaluate(ranker, judged, metrics=args.metrics, convention=args.convention)
    if args.per_context is not None:
        _write_contexts(report, args.per_context)
    _show(report, args.format)
    return 0


def _show(report: Report, form: str) -> None:
    rows = [(name, report[name], *report.interval(name)) for name in report]
    if form == "json":
        print_record(report.to_dict(), form)
    elif form == "csv":
        print_rows([Column(name) for name in ("metric", "mean", "low", "high")], rows, form)
    else:
        shown = [(name, mean, f"{decimal(low)} to {decimal(high)}") for name, mean, low, high in rows]
        columns = [
            Column("metric"),
            Column("mean", decimal, right=True),
            Column("interval", title=f"{100 * report.confidence:g} % interval"),
        ]
        print("\n".join(table_lines(columns, shown)))
        pairs = len(report.roles) > 1
        contexts = "pairs of a user and a query" if pairs else PLURAL[report.roles[0]]
        print(f"\n{whole(report.n_contexts)} {contexts}, {whole(report.n_relevant)} items to find")
        for name, note in _NOTES.items():
            if number := getattr(report, name):
                print(f"{note}: {whole(number)}")


def _write_contexts(report: Report, path: str) -> None:
    """A row for every context: its ids and its metrics."""
    import polars as pl

    ids = {role: pl.Series(role, ids.tolist()) for role, ids in report.context_ids.items()}
    frame = pl.DataFrame({**ids, **{name: report.per_context(name) for name in report}})
    ending = Path(path).suffix.lower()
    if ending not in (".csv", ".parquet"):
        raise UsageError(f"--per-context writes .csv or .parquet, got {path}")
    with replacing(path) as beside:
        if ending == ".csv":
            with beside.open("w", encoding="utf8", newline="") as file:
                write_csv(file, frame.columns, frame.iter_rows())
        else:
            frame.write_parquet(beside)


class _Examples:
    """A model that is asked by the number of an example, whose features it then looks up."""

    def __init__(self, model: Embedding, features: Features) -> None:
        if model.context_ is None or model.context_.content is None:
            raise ValueError(
                f"--multilabel needs a model with features, and this is a {type(model).__name__} without"
            )
        if not model.scores_by_product:
            raise ValueError(
                "--multilabel does not go with a model that adds α times the product of raw features"
            )
        self._model = model
        self._features = features

    @property
    def roles(self) -> tuple[str, ...]:
        return ("query",)

    @property
    def context_vocabulary(self) -> Vocabulary:
        return self._features.vocabulary

    @property
    def item_vocabulary(self) -> Vocabulary:
        return self._model.item_vocabulary

    def item_vectors(self) -> Any:
        return self._model.item_vectors()

    def context_vectors(self, users: Any = None, queries: Any = None) -> Any:
        rows = self._features.matrix.take(self._features.vocabulary.codes(queries))
        return self._model.context_vectors(features=rows)
