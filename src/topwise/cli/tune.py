"""Search for the settings that suit a log best, by Optuna, on events held out.

Searched are dim, max_norm, learning_rate, epochs and the loss with its weights of ranks; what is given as an
option stays as it is given. Poor trials are cut off early. With --study, the same command goes on where it
was broken off. Ctrl-C ends the search with the best so far.
"""

from __future__ import annotations

import argparse
import importlib
import json
import shlex
import sys
from typing import Any

from topwise.cli.arguments import count, listed, number
from topwise.cli.errors import INTERRUPTED, complain
from topwise.cli.files import check_writable, replacing
from topwise.cli.inputs import add_inputs, input_words, model_kind, read_inputs
from topwise.cli.model_options import (
    LOSSES,
    add_model_options,
    build_model,
    option_words,
    python_expression,
    typed_options,
)
from topwise.cli.search import Search, Trial
from topwise.cli.tables import add_format, clean, decimal, print_record, write_csv

EXAMPLES = (
    "topwise tune ratings.csv --user userId --item movieId --trials 30 --out best.json",
    "topwise tune plays.parquet --timeout 600 --study search.sqlite --fit-out model.safetensors",
)

HELD_OUT = 0.1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `topwise tune`."""
    add_inputs(parser)
    group = parser.add_argument_group("search")
    group.add_argument("--trials", metavar="N", type=count(), default=30, help="trials in all (default: 30)")
    group.add_argument(
        "--timeout", metavar="SECONDS", type=number(above=0), help="end the search after so long"
    )
    group.add_argument(
        "--losses",
        metavar="LIST",
        type=_losses,
        default=["warp", "kos", "auc"],
        help=f"the losses to try, of {', '.join(LOSSES)} (default: warp,kos,auc)",
    )
    group.add_argument(
        "--study", metavar="FILE", help="keep the trials in this sqlite file, and go on from it"
    )
    group.add_argument("--out", metavar="FILE", help="write the best settings as JSON")
    group.add_argument("--fit-out", metavar="MODEL", help="train the best on all events, and write the model")
    add_model_options(parser)
    add_format(parser)


def _losses(text: str) -> list[str]:
    names = listed(text)
    for name in names:
        if name not in LOSSES:
            raise argparse.ArgumentTypeError(f"must be of {', '.join(LOSSES)}, got {name!r}")
    return names


def run(args: argparse.Namespace) -> int:
    """Searches, prints the best settings, and trains with them if asked to."""
    try:
        importlib.import_module("optuna")
    except ModuleNotFoundError:
        raise ImportError("topwise tune needs Optuna: pip install 'topwise[tune]'") from None
    for path in filter(None, (args.study, args.out, args.fit_out)):
        check_writable(path)
    fixed = typed_options(args)
    kind = model_kind(args)
    seed = build_model(kind, fixed).seed
    search = Search(kind, fixed, args.losses, read_inputs(args, seed, HELD_OUT), seed, args.study)
    talk = args.format == "table"
    code = 0
    try:
        search.run(args.trials, args.timeout, _tell_header if talk else _nothing, _tell if talk else _nothing)
    except KeyboardInterrupt:
        complain("interrupted")
        code = INTERRUPTED
    if search.best() is None:
        complain("error: no trial was finished, so there is nothing to report")
        return code or 1
    _report(args, search)
    if args.fit_out is not None and code == 0:
        _fit_best(args, search)
    return code


# --- what is shown --------------------------------------------------------------------------------------


def _nothing(*_: Any) -> None:
    """Programs that read the result do not want to hear of its making."""


def _tell_header(search: Search, missing: int) -> None:
    held_out = len(search.inputs.validation or ())
    print(f"{missing} trials, judged by {search.metric.name} on {held_out:,} events held out\n")
    print(f"{'trial':>5}  {search.metric.name:>9}  {'seconds':>7}  settings", flush=True)


def _tell(search: Search, trial: Trial) -> None:
    value = decimal(trial.value) if trial.value is not None else trial.state
    best = " *" if trial.is_best else ""
    settings = "  ".join(f"{name} {value}" for name, value in trial.settings.items())
    print(f"{trial.number + 1:>5}  {value:>9}  {trial.seconds:>7.1f}  {settings}{best}", flush=True)


def _report(args: argparse.Namespace, search: Search) -> None:
    """The best settings, and how to use them."""
    best = search.best()
    assert best is not None
    settings = {**search.fixed, **best.settings}
    command = ["topwise", "fit", *input_words(args)]
    if search.kind != "wsabie" or args.multilabel is None:
        command += ["--model", search.kind]
    command += [*option_words(settings), "--out", args.fit_out or "model.safetensors"]
    record = {
        "metric": search.metric.name,
        "value": best.value,
        "trial": best.number + 1,
        "settings": settings,
        "command": shlex.join(command),
        "python": python_expression(build_model(search.kind, settings)),
        "trials": [trial.to_dict() for trial in search.trials()],
    }
    if args.out is not None:
        with replacing(args.out) as path:
            path.write_text(json.dumps(clean(record), indent=2, allow_nan=False) + "\n", encoding="utf8")
    if args.format == "table":
        print(f"\nbest: {search.metric.name} {decimal(best.value)}, trial {best.number + 1}\n")
        print(f"  {record['command']}\n\n  {record['python']}")
    elif args.format == "json":
        print_record(record, "json")
    else:
        trials = search.trials()
        names = list(dict.fromkeys(name for trial in trials for name in trial.settings))
        rows = [[t.number + 1, t.state, t.value, t.seconds, *map(t.settings.get, names)] for t in trials]
        write_csv(sys.stdout, ["trial", "state", search.metric.name, "seconds", *names], rows)


def _fit_best(args: argparse.Namespace, search: Search) -> None:
    """The best settings once more, on all events and those held out as well."""
    best = search.best()
    assert best is not None
    model = build_model(search.kind, {**search.fixed, **best.settings}).set_params(patience=None)
    model.fit(search.inputs.everything, **search.inputs.feature_arguments())
    model.save(args.fit_out)
    complain(f"trained on all {len(search.inputs.everything):,} events and wrote {args.fit_out}")
