"""LaSR's Algorithm 1: step 0, then each step on the lists of the one before."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from topwise.data import Events, Features
from topwise.models.base import Callback, Embedding
from topwise.models.files import read_tensors, rebuild
from topwise.models.item_bag import ItemBag
from topwise.models.lasr import LaSR
from topwise.models.matrix_factorization import MatrixFactorization
from topwise.models.wsabie import Wsabie
from topwise.training.fit import _drop_squares, training_positives
from topwise.training.session import EpochRecord, Session


def fit_steps(
    model: LaSR,
    train: Events,
    validation: Events | None,
    features: dict[str, Features | None],
    callback: Callback | None,
    checkpoint: str | Path | None,
    checkpoint_every: int,
    resume: bool,
    progress: bool | None,
) -> None:
    """Fits all steps of a model, from the beginning or from a checkpoint."""
    _check_size(model, train, features)
    given: dict[str, Any] = {f"{role}_features": of for role, of in features.items()}
    options: dict[str, Any] = {
        "checkpoint": checkpoint,
        "checkpoint_every": checkpoint_every,
        "progress": progress,
    }
    saved = _saved(checkpoint) if resume else None
    goes_on = (
        saved is not None and saved[0].get("class") == "LaSR" and saved[0]["params"]["steps"] == model.steps
    )
    fitted_base = model.steps == 1 and model.base is not None and hasattr(model.base, "items_")
    if fitted_base:
        assert model.base is not None
        model.base._check_fitted()
        before = copy.copy(model.base)  # shares its rows; a fit of the base makes new ones
    elif goes_on:
        assert saved is not None
        before = _before_in(saved)
    else:
        before = _step_before(model, features)
        before.fit(
            train,
            validation,
            **(given if not isinstance(before, ItemBag) else {}),
            callback=_numbered(callback, 0) if not isinstance(before, LaSR) else callback,
            resume=resume,
            **options,
        )
        if before.interrupted_:
            _end_with(model, before, train, features)
            return
    model._before = before
    model._base_items = model.base.items_ if hasattr(model.base, "items_") else None  # type: ignore[union-attr]
    model._phase, model._show = f"step {model.steps_}", progress
    try:
        model._fit_step(
            train,
            validation,
            **given,
            callback=_numbered(callback, model.steps_),
            resume=resume and (goes_on or fitted_base),
            **options,
        )
    except KeyboardInterrupt:  # before the first epoch of this step
        _end_with(model, before, train, features)
    finally:
        del model._show
        model.__dict__.pop("_before", None)


def _check_size(model: LaSR, train: Events, features: dict[str, Features | None]) -> None:
    """Refuses lists longer than the catalogue before anything is trained."""
    if isinstance(train, Events) and features["item"] is None and model.list_size > train.n("item"):
        raise ValueError(
            f"list_size must be at most the {train.n('item')} items of the catalogue, got {model.list_size}"
        )


def _numbered(callback: Callback | None, step: int) -> Callback | None:
    if callback is None:
        return None
    told: Callable[[EpochRecord], bool | None] = callback
    return lambda record: told(replace(record, step=step))


def _step_before(model: LaSR, features: dict[str, Features | None]) -> Embedding:
    """The step before, unfitted."""
    if model.steps > 1:
        return model.clone().set_params(steps=model.steps - 1)
    if model.base is not None:
        base = model.base.clone()
    else:
        shared = {name: getattr(model, name) for name in MatrixFactorization().get_params()}
        by_content = any(features[role] is not None for role in ("user", "query"))
        base = Wsabie(**shared) if by_content else MatrixFactorization(**shared)
    base._phase = "step 0"
    return base


def refitted(model: Embedding, train: Events, features: dict[str, Features | None]) -> Embedding:
    """A step fitted again as it was, on less. Vectors that were made elsewhere stay as they are."""
    if not model.history_records_:
        return model
    given: dict[str, Any] = {
        f"{side.role}_features": features[side.role]
        for side in model._sides().values()
        if side.content is not None and features.get(side.role) is not None
    }
    again = model.clone().set_params(max_norm=model.max_norm_, patience=None)
    if isinstance(model, LaSR):
        again._before = refitted(model.before_, train, features)  # type: ignore[attr-defined]
        again._fit_step(train, **given, progress=False)  # type: ignore[attr-defined]
    else:
        again.fit(train, **given, progress=False)
    return again


# --- where a run was broken off -----------------------------------------------------------------------------


def _saved(checkpoint: str | Path | None) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The checkpoint that there is."""
    if checkpoint is None or not Path(checkpoint).exists():
        return None
    header, tensors = read_tensors(checkpoint)
    return (header, tensors) if "checkpoint" in header else None


def _before_in(saved: tuple[dict[str, Any], dict[str, Any]]) -> Embedding:
    header, tensors = saved
    prefix = "before."
    own = {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}
    before: Embedding = rebuild("the checkpoint", header["before"], own)
    return before


def _end_with(model: LaSR, before: Embedding, train: Events, features: dict[str, Features | None]) -> None:
    """Makes a model of the steps learned so far: a usable one, though of fewer steps."""
    if isinstance(before, LaSR):
        learned = {name: value for name, value in vars(before).items() if name.endswith("_")}
        vars(model).update(learned, interrupted_=True, _base_items=before._base_items)
        return
    # A step that adds nothing: U and V of step 0, and S = 0.
    model._before, model._show = before, False
    model._create_sides(train, model._context_role(train), features)
    try:
        model._start_from(before)
    except ValueError:
        raise KeyboardInterrupt from None
    finally:
        model.__dict__.pop("_before", None)
    model.similar_.rows[:] = 0
    model.max_norm_, model.best_epoch_ = before.max_norm_, before.best_epoch_
    model.history_records_ = before.history_records_
    model._base_items, model.interrupted_ = None, True
    Session(model, training_positives(model, train), model.max_norm_).update_mean_context()
    _drop_squares(model)
    model._forget_index()
