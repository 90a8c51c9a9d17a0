"""Options that several commands share: input files, lists of ids, and checked numbers."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from topwise.cli.errors import UsageError

if TYPE_CHECKING:
    import numpy as np

    from topwise.data import Events
    from topwise.models import Embedding

PLURAL = {"user": "users", "query": "queries"}
COLUMN_ROLES = ("user", "item", "query", "weight", "time")


# --- values ---------------------------------------------------------------------------------------------


def count(least: int = 1) -> Callable[[str], int]:
    """A whole number of at least so much."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be a whole number, got {text!r}") from None
        if value < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}, got {value}")
        return value

    return parse


def number(
    least: float = -math.inf, most: float = math.inf, above: float = -math.inf
) -> Callable[[str], float]:
    """A finite number within bounds; `above` is a bound that is itself too small."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be a number, got {text!r}") from None
        if not math.isfinite(value):
            raise argparse.ArgumentTypeError(f"must be finite, got {text}")
        if value <= above:
            raise argparse.ArgumentTypeError(f"must be above {above:g}, got {text}")
        if not least <= value <= most:
            bounds = f"at least {least:g}" if most == math.inf else f"between {least:g} and {most:g}"
            raise argparse.ArgumentTypeError(f"must be {bounds}, got {text}")
        return value

    return parse


def fraction(text: str) -> float:
    """A share of the events, between 0 and 1 and neither."""
    value = number()(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"must be between 0 and 1, such as 0.1, got {text}")
    return value


def metric(text: str) -> str:
    """The name of a metric, in its usual spelling."""
    from topwise.evaluation import Metric

    try:
        return Metric.parse(text).name
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def metrics(text: str) -> list[str]:
    """Names of metrics, separated by commas."""
    return [metric(name) for name in listed(text)]


def listed(text: str) -> list[str]:
    """What commas separate."""
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise argparse.ArgumentTypeError(f"must be a list such as 42,7, got {text!r}")
    return parts


# --- files of events ------------------------------------------------------------------------------------


def add_columns(parser: argparse.ArgumentParser) -> None:
    """How the events stand in their files."""
    group = parser.add_argument_group(
        "columns", "Which columns of the event files are what, by name, or by position from 0."
    )
    for role in COLUMN_ROLES:
        default = "item" if role == "item" else None
        assumed = {"user": " (default: user)", "query": " (default: query)", "item": " (default: item)"}.get(
            role, ""
        )
        group.add_argument(f"--{role}", metavar="COLUMN", default=default, help=f"the {role} column{assumed}")
    group.add_argument(
        "--separator", metavar="TEXT", help="what separates columns; else the file's ending tells"
    )
    group.add_argument(
        "--no-header", action="store_true", help="the files have no line with names of columns"
    )
    group.add_argument(
        "--sessions",
        metavar="GAP",
        help="learn what follows what: of each user's events, the item before, at most so long ago (1h, "
        "30min, 7d, or any), becomes the query",
    )
    group.add_argument("--encoding", choices=("utf8", "latin1"), default="utf8", help="of text files")


def read_events(path: str, args: argparse.Namespace) -> Events:
    """A file of events in the columns that the options name."""
    from topwise.data import Events

    keys = {role: _column_key(getattr(args, role)) for role in COLUMN_ROLES}
    separator = {"\\t": "\t", "tab": "\t"}.get(args.separator, args.separator)
    log = Events.read(path, separator=separator, header=not args.no_header, encoding=args.encoding, **keys)
    if args.sessions is None:
        return log
    from topwise.data import sessions

    if log.time is None and args.sessions != "any":
        raise UsageError(
            f"--sessions {args.sessions} needs times: give --time COLUMN, or --sessions any if the events "
            "stand in the order in which they happened"
        )
    return sessions.consecutive(log, None if args.sessions == "any" else args.sessions)


def _column_key(text: str | None) -> Any:
    return int(text) if text is not None and text.isdecimal() else text


def column_words(args: argparse.Namespace) -> list[str]:
    """The same options as they would be typed again."""
    words = []
    for role in COLUMN_ROLES:
        value = getattr(args, role)
        if value is not None and (role, value) != ("item", "item"):
            words += [f"--{role}", value]
    if args.separator is not None:
        words += ["--separator", args.separator]
    if args.sessions is not None:
        words += ["--sessions", args.sessions]
    return (
        words + ["--no-header"] * args.no_header + ["--encoding", args.encoding] * (args.encoding != "utf8")
    )


def add_exclude(parser: argparse._ActionsContainer) -> None:
    """Logs whose items are left out of the lists of those who have them."""
    parser.add_argument(
        "--exclude",
        metavar="TRAIN",
        action="append",
        default=[],
        help="leave out the items that a user has in this log; may be given several times",
    )


def read_excluded(args: argparse.Namespace, roles: tuple[str, ...]) -> Events | None:
    """The events of all `--exclude` files in one log."""
    import numpy as np

    from topwise.data import Events

    logs = [read_events(path, args) for path in args.exclude]
    if len(logs) < 2:
        return logs[0] if logs else None
    columns: dict[str, np.ndarray[Any, Any]] = {
        name: np.concatenate([log.ids(name) for log in logs])
        for name in (*roles, "item")
        if all(name in log.roles for log in logs)
    }
    return Events.from_arrays(**columns)


# --- ids ------------------------------------------------------------------------------------------------


def read_ids(path: str) -> list[str]:
    """Ids from a file, one a line; "-" is the standard input."""
    text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf8")
    ids = [line.strip() for line in text.splitlines() if line.strip()]
    if not ids:
        raise ValueError(f"{path} has no ids: write one a line")
    return ids


def load_model(path: str, two_stage: bool = False) -> Embedding:
    """The embedding model in a file; or, where the command can do with it, one of two stages."""
    from topwise.models import Embedding, load
    from topwise.two_stage import TwoStage

    model: Any = load(path)
    if not isinstance(model, (Embedding, TwoStage) if two_stage else Embedding):
        raise UsageError(f"{path} holds a {type(model).__name__}, which this command has no use for")
    return cast("Embedding", model)


def check_role(model: Embedding, role: str) -> None:
    """Refuses ids of a role that the model does not recommend for."""
    if role not in model.roles:
        ours = PLURAL[model.roles[0]]
        plural = PLURAL
        raise UsageError(f"this model recommends for {ours}, not for {plural[role]}: give --{ours}")


def check_tastes(model: Embedding, option: str) -> None:
    """Refuses an option that is for models of several tastes alone."""
    from topwise.models import MaxMF

    if not isinstance(model, MaxMF):
        raise UsageError(f"{option} is for the model maxmf, and this is a {type(model).__name__}")
