"""`topwise fit --model two-stage`: an embedding model for candidates, a ranker for their order."""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

from topwise.cli.errors import UsageError
from topwise.cli.files import check_writable
from topwise.cli.inputs import read_inputs
from topwise.cli.judged import RANKERS, build_ranker
from topwise.cli.model_options import MODELS, build_model, typed_options
from topwise.cli.tables import print_record, whole

MODEL = "two-stage"
CANDIDATES = 100


def add_fitting(parser: argparse.ArgumentParser) -> None:
    """The options of the second stage, and of how the two are put together."""
    group = parser.add_argument_group(
        "two stages", "For --model two-stage. The options of model and loss are the first stage's."
    )
    group.add_argument(
        "--first", choices=tuple(MODELS), help="what finds candidates (default: matrix-factorization)"
    )
    group.add_argument(
        "--first-run", metavar="FILE", help="candidates from a run in TREC's form in place of a model"
    )
    group.add_argument(
        "--also",
        metavar="MODEL",
        choices=tuple(MODELS),
        action="append",
        default=[],
        help="one more model whose scores are features; may be given several times",
    )
    group.add_argument(
        "--second", choices=tuple(RANKERS), help="what puts them in order (default: lambdamart)"
    )
    group.add_argument(
        "--split",
        choices=("auto", "time", "random", "folds"),
        default="auto",
        help="what the second stage learns from (default: the latest fifth, or a random one without times)",
    )


def fit_two_stage(args: argparse.Namespace) -> int:
    """Fits both stages, saves them, and tells how it went."""
    from topwise.two_stage import Run, TwoStage

    if args.checkpoint is not None or args.multilabel is not None:
        raise UsageError(f"--model {MODEL} goes neither with --checkpoint nor with --multilabel")
    if args.first_run is not None and args.first is not None:
        raise UsageError("give --first or --first-run, and not both")
    check_writable(args.out)
    options = typed_options(args)
    candidates = options.pop("candidates", CANDIDATES)
    if candidates < 2:
        raise UsageError(f"--candidates must be at least 2, got {candidates}: one alone has no order")
    first: Any = build_model(args.first or "matrix-factorization", options)
    threads, seed = first.threads, first.seed
    if args.second is not None:
        common = {"seed": seed, **({} if "threads" not in options else {"threads": threads})}
        second = build_ranker(args.second, args.set, _those_of(args.second, common))
    elif args.set:
        raise UsageError("--set is for the second stage: name it by --second")
    else:
        second = None
    others = [build_model(name, options) for name in args.also]
    inputs = read_inputs(args, seed)
    if args.first_run is not None:
        first = Run.read(args.first_run, inputs.train.context_role)
    model = TwoStage(first, second, candidates, others=others, split=args.split, threads=threads, seed=seed)
    started = time.perf_counter()
    model.fit(inputs.train, inputs.validation, **inputs.feature_arguments())
    seconds = time.perf_counter() - started
    model.save(args.out)
    record = {
        "model": "TwoStage",
        "first": type(model.first_).__name__,
        "second": type(model.second_).__name__,
        "events": len(inputs.train),
        "items": len(model.item_vocabulary),
        "candidates": model.candidates,
        "features": model.feature_names_,
        "learned_from": model.judged_,
        "seconds": round(seconds, 3),
        "file": args.out,
        "bytes": os.path.getsize(args.out),
    }
    print_record(record, args.format, _shown(record))
    return 0


def _those_of(name: str, params: dict[str, Any]) -> dict[str, Any]:
    import importlib
    import inspect

    module, class_name = RANKERS[name]
    known = inspect.signature(getattr(importlib.import_module(module), class_name).__init__).parameters
    return {key: value for key, value in params.items() if key in known}


def _shown(record: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        ("model", f"{record['first']}, then {record['second']} on {record['candidates']} candidates"),
        ("events", f"{whole(record['events'])} ({whole(record['items'])} items)"),
        ("features", ", ".join(record["features"])),
        ("learned from", record["learned_from"]),
        ("seconds", f"{record['seconds']:.1f}"),
        ("saved", f"{record['file']} ({record['bytes'] / 1e6:.1f} MB)"),
    ]
