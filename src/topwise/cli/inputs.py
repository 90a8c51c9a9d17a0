"""What a model learns from: events, a validation slice of them, and features."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topwise.cli.arguments import add_columns, column_words, fraction, listed, read_events
from topwise.cli.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

    from topwise.data import Csr, Events, Features

FEATURE_ROLES = ("user", "item", "query")


@dataclass
class Inputs:
    """The arguments of `fit`, and all events as they were before some were held out."""

    train: Events
    everything: Events
    validation: Events | None = None
    features: dict[str, Features] = field(default_factory=dict)

    def feature_arguments(self) -> dict[str, Any]:
        """The features as `fit` takes them."""
        return {f"{role}_features": features for role, features in self.features.items()}


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """The event file, validation and features."""
    parser.add_argument("events", metavar="EVENTS", nargs="?", help="a csv, tsv or parquet file (.gz too)")
    parser.add_argument(
        "--multilabel",
        metavar="FILE",
        help="in place of EVENTS: examples with labels and features, l1,l2 f:v f:v a line (for wsabie)",
    )
    group = parser.add_argument_group("validation")
    either = group.add_mutually_exclusive_group()
    either.add_argument("--validation", metavar="FILE", help="events to validate on after every epoch")
    either.add_argument(
        "--validation-fraction", metavar="SHARE", type=fraction, help="hold out this share of EVENTS instead"
    )
    add_columns(parser)
    add_features(parser, FEATURE_ROLES)


def add_features(parser: argparse.ArgumentParser, roles: tuple[str, ...]) -> None:
    """Files of features, one a role."""
    group = parser.add_argument_group(
        "features", "Files with a row for each id: numbers are standardised, texts are categories."
    )
    for role in roles:
        group.add_argument(
            f"--{role}-features", metavar="FILE", help=f"csv, tsv or parquet, for the {role} side"
        )
        group.add_argument(
            f"--{role}-features-id",
            metavar="COLUMN",
            help=f"the id column in it (default: as given by --{role})",
        )
        group.add_argument(
            f"--{role}-features-columns",
            metavar="LIST",
            type=listed,
            help="the columns to use (default: all)",
        )
    group.add_argument(
        "--list-separator", metavar="TEXT", help="texts with this in them are lists: '|' for Action|Comedy"
    )


def read_inputs(args: argparse.Namespace, seed: int, fraction: float | None = None) -> Inputs:
    """All that the options name. `fraction` is held out where no option says what to validate on."""
    if (args.events is None) == (args.multilabel is None):
        raise UsageError("give a file of EVENTS, or --multilabel FILE in place of it, and not both")
    inputs = _labelled(args) if args.multilabel is not None else _logged(args)
    if args.validation is not None:
        inputs.validation = (
            _labelled(args, args.validation).train if args.multilabel else read_events(args.validation, args)
        )
        return inputs
    share = fraction if args.validation_fraction is None else args.validation_fraction
    if share is not None:
        from topwise.data import split

        inputs.train, inputs.validation = split.by_fraction(inputs.train, share, seed)
    return inputs


def input_words(args: argparse.Namespace) -> list[str]:
    """The events and features as they would be typed again, without validation."""
    words = ["--multilabel", args.multilabel] if args.multilabel else [args.events, *column_words(args)]
    names = [f"{role}_features{end}" for role in FEATURE_ROLES for end in ("", "_id", "_columns")]
    for name in (*names, "list_separator"):
        value = getattr(args, name)
        if value is not None:
            words += ["--" + name.replace("_", "-"), ",".join(value) if isinstance(value, list) else value]
    return words


def model_kind(args: argparse.Namespace) -> str:
    """The model that was asked for, or the one that goes with the input."""
    if args.multilabel is not None:
        if args.model not in (None, "wsabie", "lasr"):
            raise UsageError(f"--multilabel is for the models wsabie and lasr, got --model {args.model}")
        return args.model or "wsabie"
    return args.model or "matrix-factorization"


# --- reading --------------------------------------------------------------------------------------------


def _logged(args: argparse.Namespace) -> Inputs:
    log = read_events(args.events, args)
    inputs = Inputs(log, log)
    for role in FEATURE_ROLES:
        path = getattr(args, f"{role}_features")
        if path is not None:
            id_column = getattr(args, f"{role}_features_id") or getattr(args, role) or role
            columns = getattr(args, f"{role}_features_columns")
            inputs.features[role] = read_features(path, id_column, columns, args.list_separator, role)
    return inputs


def _labelled(args: argparse.Namespace, path: str | None = None) -> Inputs:
    features, log = read_multilabel(path or args.multilabel)
    return Inputs(log, log, features={"query": features})


def read_multilabel(path: str) -> tuple[Features, Events]:
    """Examples as queries, numbered from 0, and their labels as items."""
    from topwise.data import Events, Features
    from topwise.datasets import multilabel

    x, y = multilabel(path)
    log = Events.from_arrays(query=y.row_of_entries(), item=y.indices)
    return Features.from_matrix(range(len(x)), x, identity=False), log


def read_features(
    path: str, id_column: str, columns: list[str] | None, separator: str | None, role: str
) -> Features:
    """Features from a file with a column of ids."""
    from topwise.data import Features

    frame = read_frame(path, id_column, separator, f"--{role}-features-id")
    return Features.from_frame(frame, id=id_column, columns=columns)


def read_frame(path: str, id_column: str, separator: str | None, option: str) -> pl.DataFrame:
    """A file as a frame. Its ids stay as they are written; of other columns, numbers become numbers."""
    import polars as pl

    from topwise.data.readers import Source

    source = Source(path)
    names = source.names() or []
    if id_column not in names:
        raise ValueError(
            f"{path} has no column {id_column!r} for the ids; it has {', '.join(map(repr, names))}: "
            f"give {option} COLUMN"
        )
    frame = pl.DataFrame(source.read({name: name for name in names}))
    others = [name for name in names if name != id_column and frame[name].dtype == pl.String]
    return frame.with_columns(_typed(frame[name], separator) for name in others)


def _typed(column: pl.Series, separator: str | None) -> pl.Series:
    """Text as numbers where all of it is, or as lists where some of it is."""
    import polars as pl

    if separator is not None and column.str.contains(separator, literal=True).any():
        return column.str.split(separator)
    stripped = column.str.strip_chars().replace("", None)
    numbers = stripped.cast(pl.Float64, strict=False)
    return stripped if numbers.null_count() > stripped.null_count() else numbers


# --- raw rows for a fitted model --------------------------------------------------------------------------


@dataclass(frozen=True)
class RawRows:
    """Rows of raw features with the ids that they go by in a result."""

    ids: Any
    rows: pl.DataFrame | Csr

    def __len__(self) -> int:
        return len(self.ids)

    def some(self, start: int, stop: int) -> Any:
        """Consecutive rows."""
        import numpy as np
        import polars as pl

        if isinstance(self.rows, pl.DataFrame):
            return self.rows.slice(start, stop - start)
        return self.rows.take(np.arange(start, min(stop, len(self))))

    @classmethod
    def read(cls, path: str, id_column: str | None, separator: str | None) -> RawRows:
        """From a file of examples (its labels do not matter), or a frame with a column of ids."""
        import numpy as np

        if not _is_frame(path):
            from topwise.datasets import multilabel

            x, _ = multilabel(path)
            return cls(np.arange(len(x)), x)
        if id_column is None:
            raise UsageError(f"{path} is a table: give --features-id COLUMN, the column of its ids")
        frame = read_frame(path, id_column, separator, "--features-id")
        return cls(frame[id_column].to_numpy(), frame)


def _is_frame(path: str) -> bool:
    endings = Path(path.lower().removesuffix(".gz")).suffix
    return endings in (".csv", ".tsv", ".tab", ".parquet", ".pq")
