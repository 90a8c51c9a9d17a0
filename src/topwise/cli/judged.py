"""What the commands do with judgments: rankers by name, their parameters, files of SVMlight's form."""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import os
import time
from typing import TYPE_CHECKING, Any

from topwise.cli.arguments import count
from topwise.cli.errors import UsageError
from topwise.cli.files import check_writable
from topwise.cli.model_options import typed_options
from topwise.cli.tables import decimal, print_record, whole

if TYPE_CHECKING:
    from topwise.data import Judgments
    from topwise.models import FeatureRanker

# By what --model calls them: where they live, and their classes.
RANKERS = {
    "lambdamart": ("topwise.baselines", "LambdaMART"),
    "gbrt": ("topwise.baselines", "GBRT"),
    "ranksvm": ("topwise.baselines", "RankSVM"),
    "listnet": ("topwise.baselines", "ListNet"),
    "gmml": ("topwise.models", "GMML"),
    "lgmml": ("topwise.models", "LGMML"),
    "mlr": ("topwise.baselines", "MLR"),
    "rmlr": ("topwise.baselines", "RMLR"),
}
CONVENTIONS = ("standard", "letor4", "mslr")


def add_reading(group: argparse._ArgumentGroup) -> None:
    """How files of judgments are read."""
    group.add_argument(
        "--groups", metavar="FILE", help="rows of each query, one number a line, for files without qid:"
    )
    group.add_argument("--features", metavar="N", type=count(), help="how many features a row has")
    group.add_argument("--zero-based", action="store_true", help="features count from 0, not from 1")
    group.add_argument("--regroup", action="store_true", help="bring the rows of a query together")


def add_fitting(parser: argparse.ArgumentParser) -> None:
    """Judgments to fit a ranker on."""
    group = parser.add_argument_group(
        "judgments",
        "In place of EVENTS: lines `label qid:… feature:value …`, for the models " + ", ".join(RANKERS),
    )
    group.add_argument("--judgments", metavar="FILE", help="rows to learn from; --validation has others")
    group.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a parameter of the ranker, such as trees=500; may be given several times",
    )
    add_reading(group)


def read_judgments(path: str, args: argparse.Namespace, width: int | None = None) -> Judgments:
    """A file as the options say."""
    from topwise.data import Judgments

    asked = args.features if args.features is not None else width
    return Judgments.read_svmlight(
        path,
        groups=args.groups,
        n_features=asked,
        zero_based=args.zero_based,
        regroup=args.regroup,
    )


def build_ranker(name: str, settings: list[str], options: dict[str, Any]) -> FeatureRanker:
    """An unfitted ranker; of the options of other models it takes those that it has."""
    module, class_name = RANKERS[name]
    cls = getattr(importlib.import_module(module), class_name)
    known = inspect.signature(cls.__init__).parameters
    params = {}
    for option, value in options.items():
        if option not in known:
            raise UsageError(f"--{option.replace('_', '-')} does not go with the model {name}")
        params[option] = value
    for setting in settings:
        key, sign, text = setting.partition("=")
        if not sign or key not in known or key == "self":
            names = (
                ", ".join(known.keys() - {"self"}) if not sign else ", ".join(p for p in known if p != "self")
            )
            raise UsageError(
                f"--set must be NAME=VALUE with a parameter of {name} ({names}), got {setting!r}"
            )
        params[key] = _value(text)
    model: FeatureRanker = cls(**params)
    try:
        model.check_params()
    except (TypeError, ValueError) as error:
        raise UsageError(str(error)) from None
    return model


def _value(text: str) -> Any:
    """A number, True, False or None as such; anything else is text."""
    try:
        return ast.literal_eval({"none": "None", "true": "True", "false": "False"}.get(text.lower(), text))
    except (ValueError, SyntaxError):
        return text


def fit_ranker(args: argparse.Namespace) -> int:
    """`topwise fit --judgments`."""
    name = args.model or "lambdamart"
    if name not in RANKERS:
        raise UsageError(f"--judgments is for the models {', '.join(RANKERS)}, got --model {name}")
    if args.validation_fraction is not None or args.checkpoint is not None:
        raise UsageError(
            "--judgments takes --validation FILE, and neither --validation-fraction nor --checkpoint"
        )
    model: Any = build_ranker(name, args.set, typed_options(args))
    check_writable(args.out)
    judged = read_judgments(args.judgments, args)
    validation = None
    if args.validation is not None:
        from topwise.data.joining import aligned

        judged, validation = aligned(judged, read_judgments(args.validation, args))
    started = time.perf_counter()
    model.fit(judged, validation)
    seconds = time.perf_counter() - started
    model.save(args.out)
    measured = {}
    if validation is not None:
        report = model.evaluate(validation, ["ndcg@10", "map"])
        measured = {name: report[name] for name in report}
    record = {
        "model": type(model).__name__,
        "rows": len(judged),
        "queries": judged.n_queries,
        "features": judged.n_features,
        "validation_queries": None if validation is None else validation.n_queries,
        "validation": measured,
        "seconds": round(seconds, 3),
        "file": args.out,
        "bytes": os.path.getsize(args.out),
    }
    print_record(record, args.format, _shown(record))
    return 0


def _shown(record: dict[str, Any]) -> list[tuple[str, str]]:
    sizes = f"{whole(record['queries'])} queries, {whole(record['features'])} features"
    lines = [("model", record["model"]), ("rows", f"{whole(record['rows'])} ({sizes})")]
    if record["validation"]:
        figures = ", ".join(f"{name} {decimal(value)}" for name, value in record["validation"].items())
        lines.append(("validation", f"{figures} ({whole(record['validation_queries'])} queries)"))
    lines.append(("seconds", f"{record['seconds']:.1f}"))
    return [*lines, ("saved", f"{record['file']} ({record['bytes'] / 1e6:.1f} MB)")]


def load_ranker(path: str) -> FeatureRanker:
    """The ranker in a file."""
    from topwise.models import FeatureRanker, load

    model = load(path)
    if not isinstance(model, FeatureRanker):
        raise UsageError(f"{path} holds a {type(model).__name__}, which does not rank judgments")
    return model
