"""New users and items after training: rows of their own, with everything else as it is."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from topwise.data import Events
from topwise.models.base import Embedding
from topwise.models.side import Side
from topwise.models.tables import Floats, random_rows
from topwise.training.positives import positives_of
from topwise.training.progress import Progress
from topwise.training.session import Session


def fold_in(
    model: Embedding,
    log: Events,
    known: Events | None,
    epochs: int,
    learning_rate: float,
    progress: bool | None,
) -> None:
    """First the new contexts with all items fixed, then the new items with all contexts fixed."""
    model._check_fitted()
    if not isinstance(log, Events):
        raise TypeError(f"fold_in takes a log of events (tw.Events), got {type(log).__name__}")
    for role in model.roles:
        if role not in log.roles:
            raise ValueError(f"the log must have the role {role!r}, it has {', '.join(log.roles)}")
    new_items = _unknown(log, "item", model.item_vocabulary)
    unknown = {role: _unknown(log, role, model._vocabulary(role)) for role in model.roles}
    new_contexts = {role: ids for role, ids in unknown.items() if len(ids)}
    before = dict(vars(model))
    with Progress(epochs * ((len(new_items) > 0) + (len(new_contexts) > 0)), progress) as bar:
        try:
            if len(new_contexts):
                _fold_contexts(model, log, known, new_contexts, epochs, learning_rate, bar)
            if len(new_items):
                _fold_items(model, log, known, new_items, epochs, learning_rate, bar)
        except BaseException:
            # New rows are made beside the old ones, so the model as it was is still there.
            vars(model).clear()
            vars(model).update(before)
            raise
        finally:
            _drop_squares(model)
            model._forget_index()


def _drop_squares(model: Embedding) -> None:
    for side in model._sides().values():
        side.squares = None


def _unknown(log: Events, role: str, vocabulary: object) -> npt.NDArray[np.object_]:
    codes = np.unique(log.codes(role))
    ids = log.vocabulary(role).ids[codes[codes >= 0]]
    unknown = vocabulary.codes(ids) < 0  # type: ignore[attr-defined]
    found: npt.NDArray[np.object_] = ids[unknown]
    return found


def _fold_contexts(
    model: Embedding,
    log: Events,
    known: Events | None,
    new: dict[str, npt.NDArray[np.object_]],
    epochs: int,
    rate: float,
    bar: Progress,
) -> None:
    if model.context_ is None:
        (ids,) = new.values()
        model._add_histories(log, ids)  # type: ignore[attr-defined]
        return
    frozen = _lengths(model)
    events = np.zeros(len(log), dtype=bool)
    for role, ids in new.items():
        model._extend(role, ids, log, lambda side, count: _fresh(model, side, count))
        events |= np.isin(log.ids(role), ids)
    _train(model, log.take(events), known, epochs, rate, bar, frozen)


def _lengths(model: Embedding) -> dict[str, int]:
    """The rows of each side as they are: what may not move."""
    return {name: side.tables for name, side in model._sides().items()}


def _fold_items(
    model: Embedding,
    log: Events,
    known: Events | None,
    ids: npt.NDArray[np.object_],
    epochs: int,
    rate: float,
    bar: Progress,
) -> None:
    side = model.items_
    if not side.ids:
        raise ValueError(f"items of this {type(model).__name__} are their content alone: fit it with them")
    if model.context_ is None:
        raise ValueError(
            "ItemBag has one table for both sides, so an item cannot be learned alone: fit again"
        )
    frozen = _lengths(model)
    model._extend_items(ids, lambda of, count: _fresh(model, of, count))
    events = log.take(np.isin(log.ids("item"), ids))
    _train(
        model,
        events,
        known if known is not None else log,
        epochs,
        rate,
        bar,
        frozen,
    )


def _train(
    model: Embedding,
    events: Events,
    known: Events | None,
    epochs: int,
    rate: float,
    bar: Progress,
    frozen: dict[str, int],
) -> None:
    positives = positives_of(model, events, known)
    if len(positives) == 0:
        return
    session = Session(model, positives, model.max_norm_, frozen)
    for epoch in range(epochs):
        bar.show(session.run_epoch(epoch, epochs, rate))


def _fresh(model: Embedding, side: Side, count: int) -> Floats:
    scale = 0.3 / model.dim if model.init_scale is None else float(model.init_scale)
    rng = np.random.default_rng([model.seed, len(side.rows)])
    rows = random_rows(count, model.dim, model.columns, scale, rng)
    if side is model.context_ and model.item_bias and side.content is None:
        rows[:, model.dim] = 1
    return rows
