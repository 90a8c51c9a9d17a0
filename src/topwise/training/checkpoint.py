"""A run that goes on where it was broken off, to the same result."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from topwise.data import Events
from topwise.models.base import Embedding
from topwise.models.files import ModelFileError, Tensors, describe, read_tensors, save_model
from topwise.training.positives import Positives
from topwise.training.session import EpochRecord

if TYPE_CHECKING:
    from topwise.training.fit import State


class Checkpoint:
    """The state of a run in one file: rows, accumulators, epochs done, the best rows so far.

    Whatever is random in an epoch follows from the seed and the epoch's number, so this is all there is.
    """

    def __init__(self, path: Path, model: Embedding, positives: Positives, validation: Events | None) -> None:
        self.path = path
        self.model = model
        self.data = _fingerprint(model, positives, validation)

    def write(self, state: State, max_norm: float | None) -> None:
        """Writes the state; a crash while writing leaves the one before whole."""
        assert state.history is not None
        extra: Tensors = {
            f"{name}.squares": side.squares
            for name, side in self.model._sides().items()
            if side.squares is not None
        }
        for name, rows in (state.best_rows or {}).items():
            extra[f"{name}.best"] = np.ascontiguousarray(rows[:, : self.model.columns])
        save_model(
            self.model,
            self.path,
            extra,
            checkpoint={
                "epoch": state.epoch,
                "best": state.best,
                "best_epoch": state.best_epoch,
                "history": [record.to_dict() for record in state.history],
                "max_norm": max_norm,
                "data": self.data,
            },
        )

    def restore(self) -> tuple[State, float | None] | None:
        """The state in the file, put into the model; None when there is no file yet."""
        from topwise.training.fit import State

        if not self.path.exists():
            return None
        header, tensors = read_tensors(self.path)
        saved = header.get("checkpoint")
        if saved is None:
            raise ModelFileError(
                f"{self.path} is a finished model and not a checkpoint: train on without resume"
            )
        self._check_same(header, saved)
        best: dict[str, Any] = {}
        for name, side in self.model._sides().items():
            side.rows[:, : self.model.columns] = tensors[f"{name}.rows"]
            side.squares = tensors.get(f"{name}.squares")
            if f"{name}.best" in tensors:
                best[name] = np.zeros_like(side.rows)
                best[name][:, : self.model.columns] = tensors[f"{name}.best"]
        history = [EpochRecord(**record) for record in saved["history"]]
        state = State(saved["epoch"], history, saved["best"], saved["best_epoch"], best or None)
        return state, saved["max_norm"]

    def _check_same(self, header: dict[str, Any], saved: dict[str, Any]) -> None:
        _, ours = describe(self.model)
        if header["class"] != ours["class"]:
            raise ValueError(f"{self.path} is of a {header['class']}, and this is a {ours['class']}")
        for name, value in ours["params"].items():
            before = header["params"].get(name)
            if name != "threads" and before != value:
                raise ValueError(
                    f"{self.path} was written with {name}={before!r}, and this model has {name}={value!r}: "
                    "resume with the same parameters, or without resume"
                )
        if saved["data"] != self.data:
            raise ValueError(
                f"{self.path} was written while training on other data: "
                "resume with the same events, features and validation"
            )


def _fingerprint(model: Embedding, positives: Positives, validation: Events | None) -> str:
    """Tells the data of one run from another's: what is learned, what is known, content, validation, ids."""
    digest = hashlib.blake2b(digest_size=16)

    def add(*arrays: npt.NDArray[Any] | None) -> None:
        for array in arrays:
            # Ids may be any objects, which have no bytes but those of their text.
            plain = None if array is None or array.dtype == object else np.ascontiguousarray(array).tobytes()
            part = repr(array if array is None else array.tolist()).encode() if plain is None else plain
            digest.update(f"{len(part)} ".encode() + part)

    add(positives.indptr, positives.items, positives.weights, positives.known.indptr, positives.known.indices)
    add(
        *(model._vocabulary(role).ids for role in model.roles),
        model.item_vocabulary.ids,
        *model._learned_from(),
    )
    if positives.pairs is not None:
        add(positives.pairs.users, positives.pairs.queries)
    for side in model._sides().values():
        if side.content is not None:
            add(side.content.indptr, side.content.indices, side.content.values)
    if validation is not None:
        for role in (*model.roles, "item"):
            add(validation.codes(role), validation.vocabulary(role).ids)
    return digest.hexdigest()
