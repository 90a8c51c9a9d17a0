"""Score the rows of a file of judgments with a ranker, and list each query's rows best first."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from topwise.cli.arguments import count
from topwise.cli.files import check_writable, replacing
from topwise.cli.judged import add_reading, load_ranker, read_judgments
from topwise.cli.tables import Column, add_format, decimal, print_rows, whole

EXAMPLES = (
    "topwise rank ranker.safetensors test.txt --k 3",
    "topwise rank ranker.safetensors test.txt --scores scores.txt",
    "topwise rank ranker.safetensors test.txt --run run.txt",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `topwise rank`."""
    parser.add_argument("model", metavar="MODEL", help="a file that topwise fit --judgments wrote")
    parser.add_argument("rows", metavar="FILE", help="lines `label qid:… feature:value …`; .gz too")
    parser.add_argument("--k", metavar="N", type=count(), help="rows of each query (default: all)")
    parser.add_argument("--scores", metavar="OUT", help="write a score a line, in the order of FILE")
    parser.add_argument("--run", metavar="OUT", dest="run_file", help="write the lists for TREC's tools")
    add_reading(parser.add_argument_group("judgments"))
    add_format(parser)


def run(args: argparse.Namespace) -> int:
    """Scores, and writes or prints."""
    for path in filter(None, (args.scores, args.run_file)):
        check_writable(path)
    model = load_ranker(args.model)
    judged = read_judgments(args.rows, args, model.n_features_)
    scores = model.score(judged)
    if args.scores is not None:
        with replacing(args.scores) as path:
            path.write_text("".join(f"{score!r}\n" for score in scores.tolist()))
    query = judged.query_of_rows()
    order = np.lexsort((-scores, query))
    rank = np.arange(len(order)) - judged.indptr[query] + 1
    if args.k is not None:
        order, rank = order[rank <= args.k], rank[rank <= args.k]
    docids: Any = judged.docids
    if docids is None:  # by its place in the query, from 1
        docids = np.arange(len(query)) - judged.indptr[query] + 1
    columns = (judged.qids[query[order]], rank, docids[order], scores[order], judged.labels[order])
    listed = list(zip(*(column.tolist() for column in columns), strict=True))
    if args.run_file is not None:
        with replacing(args.run_file) as path:
            path.write_text(
                "".join(f"{qid} Q0 {doc} {place} {score!r} topwise\n" for qid, place, doc, score, _ in listed)
            )
    if args.scores is None and args.run_file is None:
        shown = [
            Column("qid"),
            Column("rank", right=True),
            Column("document"),
            Column("score", decimal, right=True),
        ]
        print_rows(
            [*shown, Column("label", lambda label: f"{label:g}", right=True)], listed, args.format, groups=1
        )
    else:
        print(f"scored {whole(len(judged))} rows of {whole(judged.n_queries)} queries")
    return 0
