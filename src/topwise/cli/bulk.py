"""Recommendations block by block, and files of them for very many contexts."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from topwise.cli.errors import UsageError
from topwise.cli.files import replacing
from topwise.cli.titles import Titles

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Block:
    """The best items of some contexts, one row each, best first; −∞ where fewer remain. `contexts` has their
    ids by role.
    """

    contexts: Mapping[str, Any]
    items: Any
    scores: Any
    titles: Titles | None = None
    tastes: Any = None

    def columns(self) -> dict[str, list[Any]]:
        """One entry for each pair of a context and an item."""
        there = np.isfinite(self.scores)
        row, place = np.nonzero(there)
        items = self.items[there].tolist()
        return {
            **{role: np.asarray(ids)[row].tolist() for role, ids in self.contexts.items()},
            "rank": (place + 1).tolist(),
            "item": items,
            **({} if self.titles is None else {"title": [self.titles.of(item) for item in items]}),
            **({} if self.tastes is None else {"taste": self.tastes[there].tolist()}),
            # By way of text, so that 0.1 in float32 is 0.1 and not 0.10000000149.
            "score": self.scores[there].astype("U").astype(np.float64).tolist(),
        }

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The same, row by row."""
        return zip(*self.columns().values(), strict=True)

    def frame(self) -> pl.DataFrame:
        """The same as a frame."""
        import polars as pl

        types: dict[str, Any] = {"rank": pl.Int32, "taste": pl.Int32, "title": pl.String, "score": pl.Float32}
        columns = self.columns()
        ids = {name: pl.Int64 if self._is_int(name) else pl.String for name in (*self.contexts, "item")}
        return pl.DataFrame(columns, schema={name: {**types, **ids}[name] for name in columns})

    def _is_int(self, name: str) -> bool:
        return bool(np.asarray(self.items if name == "item" else self.contexts[name]).dtype.kind == "i")


Write: TypeAlias = Callable[[Block], None]


def writing(path: str) -> AbstractContextManager[Write]:
    """A function that takes blocks into a file, which is there once all went well."""
    return _kind(path)(path)


def check_ending(path: str) -> None:
    """Refuses a file of another kind."""
    _kind(path)


def _kind(path: str) -> Callable[[str], AbstractContextManager[Write]]:
    kinds = {".csv": _csv, ".parquet": _parquet}
    ending = Path(path).suffix.lower()
    if ending not in kinds:
        raise UsageError(f"--out must end in .csv or .parquet, got {path}")
    return kinds[ending]


@contextmanager
def _csv(path: str) -> Iterator[Write]:
    with replacing(path) as beside, beside.open("w", encoding="utf8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")

        def write(block: Block) -> None:
            columns = block.columns()
            if file.tell() == 0:
                writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))

        yield write


@contextmanager
def _parquet(path: str) -> Iterator[Write]:
    # A file a block, put together at the end without ever being in memory as a whole.
    with (
        replacing(path) as beside,
        tempfile.TemporaryDirectory(dir=beside.parent, prefix=".parts-") as folder,
    ):
        import polars as pl

        parts: list[Path] = []

        def write(block: Block) -> None:
            parts.append(Path(folder) / f"{len(parts)}.parquet")
            block.frame().write_parquet(parts[-1])

        yield write
        pl.scan_parquet(parts, glob=False).sink_parquet(beside)
