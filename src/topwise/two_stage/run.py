"""A run file in TREC's form as a first stage: candidates that another system found."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from topwise.data import Csr
from topwise.data.events import CONTEXTS
from topwise.data.vocabulary import Ids, factorise
from topwise.models.params import check_choice


class Run:
    """For each context the items that a system found, with their scores.

    `TwoStage(first=run)` takes its candidates from here. There is nothing to fit; contexts that are not in
    the run have no candidates.
    """

    def __init__(self, contexts: Any, items: Any, scores: Any, role: str = "query") -> None:
        check_choice("role", role, CONTEXTS)
        context, self.context_vocabulary = factorise(contexts, role)
        item, self.item_vocabulary = factorise(items, "item")
        numbers = np.asarray(scores, dtype=np.float64)
        if not len(context) == len(item) == len(numbers):
            raise ValueError(
                "a run must have a context, an item and a score a line, "
                f"got {len(context)}, {len(item)} and {len(numbers)}"
            )
        if len(numbers) == 0:
            raise ValueError("a run must have at least one line, got none")
        if not np.isfinite(numbers).all():
            row = int(np.argmax(~np.isfinite(numbers)))
            raise ValueError(f"the scores of a run must be finite, got {numbers[row]} in line {row + 1}")
        self.role = role
        order = np.lexsort((-numbers, context))
        counts = np.bincount(context, minlength=len(self.context_vocabulary))
        self._indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self._items, self._scores = item[order], numbers[order].astype(np.float32)

    @classmethod
    def read(cls, path: str | Path, role: str = "query") -> Run:
        """A file with lines `context Q0 item rank score tag`, parted by blanks; the rank is not looked at."""
        columns = _columns(Path(path))
        try:
            scores = np.array([float(score) for score in columns[4]])
        except ValueError:
            line = next(n for n, score in enumerate(columns[4], start=1) if not _is_number(score))
            raise ValueError(
                f"{path}, line {line}: the score must be a number, got {columns[4][line - 1]!r}"
            ) from None
        return cls(columns[0], columns[2], scores, role)

    @property
    def roles(self) -> tuple[str, ...]:
        """The role of the contexts."""
        return (self.role,)

    def search(
        self, contexts: Mapping[str, Ids], k: int, excluded: Csr
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """The k best items of contexts and their scores, without those that are excluded."""
        codes = self.context_vocabulary.codes(contexts[self.role])
        items = np.full((len(codes), k), -1, dtype=np.int32)
        scores = np.full((len(codes), k), -np.inf, dtype=np.float32)
        for row, code in enumerate(codes.tolist()):
            if code < 0:
                continue
            part = slice(self._indptr[code], self._indptr[code + 1])
            kept = np.flatnonzero(~np.isin(self._items[part], excluded.row(row)))[:k]
            items[row, : len(kept)] = self._items[part][kept]
            scores[row, : len(kept)] = self._scores[part][kept]
        return items, scores

    def clone(self) -> Run:
        """Itself, since there is nothing to fit."""
        return self

    def __repr__(self) -> str:
        return (
            f"Run({len(self._items):,} lines, {len(self.context_vocabulary):,} contexts, "
            f"{len(self.item_vocabulary):,} items)"
        )

    # --- files --------------------------------------------------------------------------------------------

    def to_parts(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        """Everything as tensors and plain data."""
        from topwise.models.files import put_vocabulary

        tensors: dict[str, npt.NDArray[Any]] = {
            "indptr": self._indptr,
            "items": self._items,
            "scores": self._scores,
        }
        header = {
            "class": "Run",
            "params": {},
            "role": self.role,
            "contexts": put_vocabulary(tensors, "contexts", self.context_vocabulary),
            "catalogue": put_vocabulary(tensors, "catalogue", self.item_vocabulary),
        }
        return tensors, header

    @classmethod
    def from_parts(cls, header: dict[str, Any], tensors: dict[str, npt.NDArray[Any]]) -> Run:
        """The way back."""
        from topwise.models.files import take_vocabulary

        run = cls.__new__(cls)
        run.role = header["role"]
        run.context_vocabulary = take_vocabulary(tensors, "contexts", header["contexts"])
        run.item_vocabulary = take_vocabulary(tensors, "catalogue", header["catalogue"])
        run._indptr, run._items, run._scores = tensors["indptr"], tensors["items"], tensors["scores"]
        return run


def _columns(path: Path) -> list[list[str]]:
    import gzip

    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    rows = []
    for number, line in enumerate(data.decode().splitlines(), start=1):
        parts = line.split()
        if parts and len(parts) != 6:
            raise ValueError(
                f"{path}, line {number}: a line of a run is `context Q0 item rank score tag`, "
                f"got {line[:60]!r}"
            )
        rows.append(parts)
    return [list(column) for column in zip(*filter(None, rows), strict=True)] or [[] for _ in range(6)]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
