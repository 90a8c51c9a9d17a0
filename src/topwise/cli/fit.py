"""Train a model on a log of events, and write it into one file.

Ctrl-C ends training early: what was learned so far is saved, and the exit code is 130.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import TYPE_CHECKING, Any

from topwise.cli.arguments import count
from topwise.cli.errors import INTERRUPTED, Interrupts, UsageError
from topwise.cli.files import check_writable
from topwise.cli.inputs import Inputs, add_inputs, model_kind, read_inputs
from topwise.cli.judged import RANKERS, fit_ranker
from topwise.cli.judged import add_fitting as add_judgments
from topwise.cli.model_options import add_model_options, build_model, typed_options
from topwise.cli.tables import add_format, decimal, print_record, whole
from topwise.cli.two_stages import MODEL, fit_two_stage
from topwise.cli.two_stages import add_fitting as add_two_stages

if TYPE_CHECKING:
    from topwise.models import Embedding

EXAMPLES = (
    "topwise fit ratings.csv --user userId --item movieId --out model.safetensors",
    "topwise fit plays.parquet --validation-fraction 0.1 --patience 3 --out model.safetensors",
    "topwise fit plays.parquet --model maxmf --tastes 5 --out model.safetensors",
    "topwise fit --multilabel train.txt --out tagger.safetensors",
    "topwise fit --judgments train.txt --validation vali.txt --model lambdamart --out ranker.safetensors",
    "topwise fit plays.parquet --model two-stage --candidates 200 --out search.safetensors",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `topwise fit`."""
    parser.add_argument(
        "--out", metavar="MODEL", required=True, help="the file to write, such as model.safetensors"
    )
    add_inputs(parser)
    add_model_options(parser, (MODEL, *RANKERS))
    add_judgments(parser)
    add_two_stages(parser)
    group = parser.add_argument_group("checkpoints")
    group.add_argument(
        "--checkpoint", metavar="FILE", help="write the state of training to this file as it goes"
    )
    group.add_argument(
        "--checkpoint-every",
        metavar="N",
        type=count(),
        default=1,
        help="epochs from one to the next (default: 1)",
    )
    group.add_argument("--resume", action="store_true", help="go on from the checkpoint, if it is there")
    group = parser.add_argument_group("cluster", "For maxmf with --stages 2: the tastes are learned on Ray.")
    group.add_argument("--cluster", metavar="ADDRESS", help="of a Ray cluster; auto: the one of this machine")
    group.add_argument(
        "--parts", metavar="FOLDER", help="shared by all nodes: keeps what is done, and a broken run goes on"
    )
    add_format(parser)


def run(args: argparse.Namespace) -> int:
    """Fits, saves, and tells how it went."""
    if args.judgments is not None:
        if args.events is not None or args.multilabel is not None:
            raise UsageError("give a file of EVENTS, or --judgments FILE in place of it, and not both")
        return fit_ranker(args)
    if args.model == MODEL:
        return fit_two_stage(args)
    if args.model in RANKERS:
        raise UsageError(f"the model {args.model} learns from judgments: give --judgments FILE")
    options = typed_options(args)
    model = build_model(model_kind(args), options)
    _check(args, model)
    inputs = read_inputs(args, model.seed)
    started = time.perf_counter()
    with Interrupts() as interrupts:
        model.fit(
            inputs.train,
            inputs.validation,
            **inputs.feature_arguments(),
            checkpoint=args.checkpoint,
            checkpoint_every=args.checkpoint_every,
            resume=args.resume,
            **_cluster(args),
        )
    seconds = time.perf_counter() - started
    model.save(args.out)
    record = _record(model, inputs, seconds, args.out, interrupts.hit)
    print_record(record, args.format, _shown(record))
    return INTERRUPTED if interrupts.hit else 0


def _check(args: argparse.Namespace, model: Embedding) -> None:
    if args.resume and args.checkpoint is None:
        raise UsageError("--resume needs the file to go on from: give --checkpoint FILE")
    if _cluster(args) and getattr(model, "stages", 1) != 2:
        raise UsageError("--cluster and --parts are for --model maxmf --stages 2")
    validated = args.validation is not None or args.validation_fraction is not None
    if model.patience is not None and not validated:
        raise UsageError("--patience needs something to validate on: give --validation-fraction 0.1, say")
    for path in filter(None, (args.out, args.checkpoint)):
        check_writable(path)


def _cluster(args: argparse.Namespace) -> dict[str, Any]:
    """The arguments for a cluster, where there are any: not every model takes them."""
    return {name: getattr(args, name) for name in ("cluster", "parts") if getattr(args, name) is not None}


def _record(model: Any, inputs: Inputs, seconds: float, out: str, interrupted: bool) -> dict[str, Any]:
    train, validation = inputs.train, inputs.validation
    history = model.history_records_
    best = history[model.best_epoch_ - 1] if history else {}
    return {
        "model": type(model).__name__,
        "loss": model.get_params()["loss"].__class__.__name__ if model.loss is not None else "WARP",
        "dim": model.dim,
        **({"steps": model.steps_} if hasattr(model, "steps_") else {}),
        "events": len(train),
        **{f"{role}s" if role != "query" else "queries": train.n(role) for role in train.roles},
        "features": {role: len(features.names) for role, features in inputs.features.items()},
        "validation_events": None if validation is None else len(validation),
        "max_norm": model.max_norm_,
        "max_norm_found": model.max_norm == "auto",
        "epochs": len(history),
        "best_epoch": model.best_epoch_,
        "metric": best.get("metric"),
        "validation": best.get("validation"),
        "seconds": round(seconds, 3),
        "file": out,
        "bytes": os.path.getsize(out),
        "interrupted": interrupted,
        "history": history,
    }


def _shown(record: dict[str, Any]) -> list[tuple[str, str]]:
    """The record for reading."""
    sizes = [f"{whole(record[name])} {name}" for name in ("users", "queries", "items") if name in record]
    norm = "none" if record["max_norm"] is None else f"{record['max_norm']:g}"
    lines = [
        ("model", f"{record['model']}, {record['loss']}, dim {record['dim']}"),
        ("events", f"{whole(record['events'])} ({', '.join(sizes)})"),
    ]
    if record["features"]:
        parts = [f"{whole(columns)} columns of {role}" for role, columns in record["features"].items()]
        lines.append(("features", ", ".join(parts)))
    if "steps" in record:
        lines.append(("steps", f"{record['steps']} after step 0; what follows is of the last"))
    lines.append(("max norm", f"{norm} (found)" if record["max_norm_found"] else norm))
    lines.append(("epochs", f"{record['epochs']} in {record['seconds']:.1f} s"))
    if record["validation"] is not None:
        held = f"{whole(record['validation_events'])} events held out"
        best = f"best after epoch {record['best_epoch']}"
        lines.append(("validation", f"{record['metric']} {decimal(record['validation'])} ({held}, {best})"))
    lines.append(("saved", f"{record['file']} ({record['bytes'] / 1e6:.1f} MB)"))
    if record["interrupted"]:
        lines.append(("interrupted", "the model holds what was learned so far"))
    return lines
