"""The users of a log in parts, each of which is learned anywhere, at any time, to the same tastes."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from topwise.data import Csr, Vocabulary
from topwise.losses import Loss
from topwise.models.max_mf import MaxMF
from topwise.models.side import Side
from topwise.models.tables import Floats, aligned
from topwise.models.taste_side import Integers, TasteSide, seeded_rows
from topwise.training.positives import Positives
from topwise.training.session import EpochRecord, Session

if TYPE_CHECKING:
    import polars as pl

FORMAT = 1


@dataclass(frozen=True)
class Recipe:
    """What all parts have in common, beside the item vectors."""

    params: dict[str, Any]
    max_norm: float | None

    @classmethod
    def of(cls, model: MaxMF) -> Recipe:
        return cls({**model.get_params(), "threads": 1}, model.max_norm_)

    def describe(self) -> str:
        """The same as text, which tells one run from another."""
        plain = {k: v.to_dict() if isinstance(v, Loss) else v for k, v in self.params.items()}
        return json.dumps([FORMAT, plain, self.max_norm], sort_keys=True, default=str)


@dataclass(frozen=True)
class Part:
    """Users that follow each other: the number of the first, their tastes and their events.

    `ids` are theirs where they write a file of their own.
    """

    number: int
    first: int
    taste_indptr: Integers
    positives: Positives
    ids: npt.NDArray[Any] | None = None
    file: str | None = None


@dataclass(frozen=True)
class Learned:
    """What comes back of a part: the tastes, unless they were written; its events; its epochs."""

    number: int
    rows: Floats | None
    events: int
    records: list[EpochRecord]


def bounds_of(positives: Positives, parts: int) -> list[int]:
    """Where parts of about as many events begin, and the end: never more parts than users."""
    users = len(positives.indptr) - 1
    ends = np.searchsorted(positives.indptr, np.arange(1, parts) * (len(positives) / parts))
    return sorted({0, *np.clip(ends, 0, users).tolist(), users})


def part_of(positives: Positives, taste_indptr: Integers, number: int, begin: int, end: int) -> Part:
    """The users from `begin` to `end`."""
    first, last = int(positives.indptr[begin]), int(positives.indptr[end])
    weights, known = positives.weights, positives.known
    ends = known.indptr[begin : end + 1]
    own = Positives(
        positives.indptr[begin : end + 1] - first,
        positives.items[first:last],
        None if weights is None else weights[first:last],
        Csr(ends - ends[0], known.indices[ends[0] : ends[-1]], known.n_cols),
    )
    return Part(number, begin, taste_indptr[begin : end + 1] - taste_indptr[begin], own)


def learn(recipe: Recipe, part: Part, items: Floats) -> Learned:
    """The tastes of a part's users, with these item vectors: as one machine would learn them."""
    model = MaxMF(**recipe.params)
    columns = model.columns
    rows = seeded_rows(model.seed, part.first, part.taste_indptr, model.dim, columns, model._scale())
    if model.item_bias:
        rows[:, model.dim] = 1
    model.role_ = "user"
    model.context_ = TasteSide(
        "user", Vocabulary(np.arange(len(part.taste_indptr) - 1)), rows, indptr=part.taste_indptr
    )
    model.items_ = Side("item", Vocabulary(np.arange(len(items))), borrowed(items, columns))
    records = []
    if len(part.positives):
        session = Session(model, part.positives, recipe.max_norm, first_context=part.first)
        for epoch in range(model.epochs):
            records.append(session.run_epoch(epoch, model.epochs, model.learning_rate))
    learned = np.ascontiguousarray(model.context_.rows[:, :columns])
    if part.file is not None:
        write_part(part, learned)
        return Learned(part.number, None, len(part.positives), records)
    return Learned(part.number, learned, len(part.positives), records)


def borrowed(items: Floats, columns: int) -> Floats:
    """Padded rows as the kernel takes them, without a copy where they are shared by the processes of a node.

    The kernel asks for rows that it may write to, though it never writes to the items' here.
    """
    if items.ctypes.data % 64 or not items.flags.c_contiguous:
        return aligned(items[:, :columns], columns)
    if items.flags.writeable:
        return items
    memory = (ctypes.c_float * items.size).from_address(items.ctypes.data)
    view = np.ctypeslib.as_array(memory).reshape(items.shape).view(_Holding)
    view.held = items
    return view


class _Holding(np.ndarray[Any, Any]):
    """An array that keeps alive what it looks at."""

    held: Any = None


# --- files ----------------------------------------------------------------------------------------------


def write_part(part: Part, rows: Floats) -> None:
    """A row a taste: the user, the taste from 1, the vector. The file is there whole or not at all."""
    import polars as pl

    assert part.file is not None
    assert part.ids is not None
    counts = np.diff(part.taste_indptr)
    taste = np.arange(len(rows)) - np.repeat(part.taste_indptr[:-1], counts) + 1
    frame = pl.DataFrame(
        {
            "user": pl.Series(np.repeat(part.ids, counts).tolist()),
            "taste": pl.Series(taste, dtype=pl.Int32),
            "vector": pl.Series(rows, dtype=pl.Array(pl.Float32, rows.shape[1])),
        }
    )
    path = Path(part.file)
    beside = path.with_name(f"{path.name}.{uuid.uuid4().hex}.tmp")  # a part may be learned twice at a time
    try:
        frame.write_parquet(beside)
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


class Folder:
    """Where a run keeps its parts: run.json, which says of what it is, and a parquet file for each part."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def begin(self, fingerprint: str, bounds: list[int]) -> list[int]:
        """The bounds of the run that is there already, or else these, written down."""
        self.path.mkdir(parents=True, exist_ok=True)
        told = self.path / "run.json"
        if told.exists():
            run = json.loads(told.read_text())
            if run.get("fingerprint") != fingerprint:
                raise ValueError(
                    f"{self.path} has parts of a run with other events, item vectors or parameters: "
                    "go on with the same ones, or give another folder"
                )
            kept: list[int] = run["bounds"]
            return kept
        beside = told.with_suffix(".tmp")
        beside.write_text(json.dumps({"fingerprint": fingerprint, "bounds": bounds}))
        os.replace(beside, told)
        return bounds

    def file(self, number: int) -> Path:
        return self.path / f"part-{number:05d}.parquet"

    def rows(self, part: Part, columns: int) -> Floats | None:
        """The tastes of a finished part; None of one that is not, or not whole."""
        import polars as pl

        path = self.file(part.number)
        if not path.exists():
            return None
        try:
            frame: pl.DataFrame = pl.read_parquet(path, columns=["vector"])
            rows = frame["vector"].to_numpy()
        except (pl.exceptions.PolarsError, OSError):
            return None
        if rows.shape != (int(part.taste_indptr[-1]), columns) or not np.isfinite(rows).all():
            return None
        return np.asarray(rows, dtype=np.float32)


def fingerprint(recipe: Recipe, positives: Positives, items: Floats, ids: npt.NDArray[Any]) -> str:
    """Tells one run from another: parameters, events, item vectors, users."""
    digest = hashlib.blake2b(recipe.describe().encode(), digest_size=16)
    for array in (positives.indptr, positives.items, positives.weights, items):
        digest.update(b"none" if array is None else np.ascontiguousarray(array).data)
    digest.update(repr(ids.tolist()).encode())
    return digest.hexdigest()
