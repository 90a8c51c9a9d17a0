"""From a log to a fitted model: the norm found, epochs, validation, the best epoch kept."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from topwise.data import Events, Features
from topwise.models.base import Callback, Embedding
from topwise.models.params import check_count
from topwise.models.tables import Floats
from topwise.training.checkpoint import Checkpoint
from topwise.training.norm import find_max_norm
from topwise.training.positives import Positives, positives_of
from topwise.training.progress import Progress
from topwise.training.session import EpochRecord, Session

__all__ = ["EpochRecord", "FitOptions", "fit_model"]


@dataclass(frozen=True)
class FitOptions:
    """How a fit reports and what it writes on the way."""

    callback: Callback | None = None
    checkpoint: str | Path | None = None
    checkpoint_every: int = 1
    resume: bool = False
    progress: bool | None = None


@dataclass
class State:
    """Where a run stands, beside the rows themselves."""

    epoch: int = 0
    history: list[EpochRecord] | None = None
    best: float | None = None
    best_epoch: int = 0
    best_rows: dict[str, Floats] | None = None

    def __post_init__(self) -> None:
        self.history = self.history or []


def fit_model(
    model: Embedding,
    train: Events,
    validation: Events | None,
    features: dict[str, Features | None],
    options: FitOptions,
) -> None:
    """Fits a model in place."""
    check_inputs(train, validation, features)
    _check_options(options)
    role = model._context_role(train)
    _check_features(features, model._context_roles(train))
    metric = _checked_metric(model, validation)
    model.interrupted_ = False
    model._create_sides(train, role, features)
    positives = training_positives(model, train)
    if len(positives) == 0:
        _unfit(model)
        raise ValueError("train must have at least one event with a weight above 0, got none")
    model._forget_index()
    with Progress(model.epochs, options.progress, model._phase) as bar, forget_failed(model):
        run(model, train, validation, positives, features, metric, options, bar)


@contextmanager
def forget_failed(model: Embedding) -> Iterator[None]:
    """A model of which the fit fails is not fitted; what only training needs goes in any case."""
    try:
        yield
    except BaseException:
        _unfit(model)
        raise
    finally:
        _drop_squares(model)


def training_positives(model: Embedding, train: Events) -> Positives:
    """The log in the model's numbers. Items without events are no negatives where content can serve them."""
    positives = positives_of(model, train)
    counts = np.bincount(positives.items, minlength=len(model.item_vocabulary))
    _silence_cold_ids(model, positives, counts)
    if model.items_.content is None:
        return positives
    return replace(positives, drawable=np.flatnonzero(counts).astype(np.int32))


def _silence_cold_ids(model: Embedding, positives: Positives, counts: Any) -> None:
    """Ids without events have nothing but their content: their own random rows become zero."""
    for side in model._sides().values():
        if side.content is not None and side.ids:
            seen = counts if side.role == "item" else positives.events_of(side.role, len(side.vocabulary))
            side.silence(np.flatnonzero(seen == 0))


def run(
    model: Embedding,
    train: Events,
    validation: Events | None,
    positives: Positives,
    features: dict[str, Features | None],
    metric: str | None,
    options: FitOptions,
    bar: Progress,
) -> None:
    """The epochs, from the beginning or from a checkpoint."""
    state = State()
    checkpoint = None
    if options.checkpoint is not None:
        checkpoint = Checkpoint(Path(options.checkpoint), model, positives, validation)
    restored = checkpoint.restore() if checkpoint is not None and options.resume else None
    trial = None
    if restored is not None:
        state, model.max_norm_ = restored
    elif model.max_norm == "auto":
        found = find_max_norm(model, train, features, bar)
        model.max_norm_, trial = found.norm, found.rows
    else:
        model.max_norm_ = None if model.max_norm is None else float(model.max_norm)
    session = Session(model, positives, model.max_norm_)
    if trial is not None:
        put_trial(model, trial)
    else:
        try:
            _epochs(session, train, validation, metric, state, checkpoint, options, bar)
        except KeyboardInterrupt:
            model.interrupted_ = True
            _warn_of_interruption(f"after {len(state.history or [])} of {model.epochs} epochs")
    if state.best_rows is not None:
        _put_rows(model, state.best_rows)
        model._forget_index()
    session.update_mean_context()
    model.history_records_ = [record.to_dict() for record in state.history or []]
    model.best_epoch_ = state.best_epoch or len(state.history or [])


def put_trial(model: Embedding, rows: dict[str, Floats]) -> None:
    """Ctrl-C has ended the search for max_norm: its best run is the model."""
    _put_rows(model, rows)
    model.interrupted_ = True
    _warn_of_interruption("while searching for max_norm")


def _warn_of_interruption(when: str) -> None:
    warnings.warn(f"interrupted {when}: the model holds what was learned so far", stacklevel=5)


def _epochs(
    session: Session,
    train: Events,
    validation: Events | None,
    metric: str | None,
    state: State,
    checkpoint: Checkpoint | None,
    options: FitOptions,
    bar: Progress,
) -> None:
    model = session.model
    assert state.history is not None
    for record in state.history:
        bar.show(record)
    while state.epoch < model.epochs and not _out_of_patience(model, state):
        record = session.run_epoch(state.epoch, model.epochs, model.learning_rate)
        if validation is not None and metric is not None:
            session.update_mean_context()
            value = _validate(model, validation, train, metric)
            record = replace(record, validation=value, metric=metric)
            if state.best is None or _better(metric, value, state.best):
                state.best, state.best_epoch, state.best_rows = value, record.epoch, _copy_rows(model)
        state.epoch += 1
        state.history.append(record)
        bar.show(record)
        if checkpoint is not None and (
            state.epoch % options.checkpoint_every == 0 or state.epoch == model.epochs
        ):
            checkpoint.write(state, session.max_norm)
        if options.callback is not None and options.callback(record) is False:
            break


def _out_of_patience(model: Embedding, state: State) -> bool:
    return (
        model.patience is not None
        and state.best is not None
        and state.epoch - state.best_epoch >= model.patience
    )


def _validate(model: Embedding, validation: Events, train: Events, metric: str) -> float:
    from topwise.evaluation import evaluate

    return float(
        evaluate(
            model,
            validation,
            metrics=[metric],
            exclude=model._judged_without(train),
            threads=model._threads(),
        )[metric]
    )


def _better(metric: str, value: float, best: float) -> bool:
    from topwise.evaluation import Metric

    return value < best if Metric.parse(metric).lower_is_better else value > best


def _copy_rows(model: Embedding) -> dict[str, Floats]:
    return {name: side.rows.copy() for name, side in model._sides().items()}


def _put_rows(model: Embedding, rows: dict[str, Floats]) -> None:
    for name, side in model._sides().items():
        side.rows[:] = rows[name]


def _drop_squares(model: Embedding) -> None:
    if hasattr(model, "items_"):
        for side in model._sides().values():
            side.squares = None


def _unfit(model: Embedding) -> None:
    for name in ("items_", "context_"):
        model.__dict__.pop(name, None)


def check_inputs(train: Events, validation: Events | None, features: dict[str, Features | None]) -> None:
    """Refuses what is no log, or has nothing in it; and what are no features."""
    if not isinstance(train, Events):
        raise TypeError(f"train must be a log of events (tw.Events), got {type(train).__name__}")
    if len(train) == 0:
        raise ValueError("train must have at least one event, got an empty log")
    if validation is not None and not isinstance(validation, Events):
        raise TypeError(f"validation must be a log of events (tw.Events), got {type(validation).__name__}")
    if validation is not None and len(validation) == 0:
        raise ValueError("validation must have at least one event, got an empty log")
    for role, given in features.items():
        if given is not None and not isinstance(given, Features):
            raise TypeError(f"{role}_features must be tw.Features, got {type(given).__name__}")


def _check_options(options: FitOptions) -> None:
    check_count("checkpoint_every", options.checkpoint_every)
    if options.resume and options.checkpoint is None:
        raise ValueError("resume=True needs the file to go on from: pass checkpoint=")


def _check_features(features: dict[str, Features | None], roles: tuple[str, ...]) -> None:
    for of, given in features.items():
        if given is not None and of not in (*roles, "item"):
            raise ValueError(
                f"{of}_features were given, but the contexts of this model are of role {roles[0]!r}"
            )


def _checked_metric(model: Embedding, validation: Events | None) -> str | None:
    if validation is None:
        if model.patience is not None:
            raise ValueError("patience needs a validation log: pass validation=")
        return None
    from topwise.evaluation import check_metric

    return check_metric(model.metric)
