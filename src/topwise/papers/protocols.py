"""The papers' protocols in one place: how data are parted, and how a fitted model is measured.

Nothing here samples candidates: whatever is ranked is ranked among the whole catalogue.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from topwise.data import Csr, Events, Features, split
from topwise.papers.study import Task, Values, joined

Judge = Callable[[Any, Task, Any], Values]


# --- parts ----------------------------------------------------------------------------------------------


def eighty_ten_ten(log: Events, seed: int) -> tuple[Events, Events, Events]:
    """80 % to train on, 10 % for all choices, 10 % to judge by, at random."""
    rest, test = split.by_fraction(log, test=0.1, seed=seed)
    train, validation = split.by_fraction(rest, test=1 / 9, seed=seed)
    return train, validation, test


def leave_five_out(log: Events, seed: int) -> tuple[Events, Events, Events]:
    """Five random items of each user to judge by, and five more of the rest for all choices."""
    rest, test = split.leave_out(log, 5, seed)
    train, validation = split.leave_out(rest, 5, seed)
    return train, validation, test


def one_day_in_five(log: Events, seed: int) -> tuple[Events, Events, Events]:
    """One day in five to judge by; a tenth of the rest, at random, for all choices."""
    rest, test = split.every_nth_day(log, 5)
    train, validation = split.by_fraction(rest, test=0.1, seed=seed)
    return train, validation, test


def head_and_tail(log: Events, seed: int, least: int = 10, most: int = 1) -> tuple[Events, Events, Events]:
    """Cold start: events among items with at least `least` of them to train on; those whose item has at most
    `most` to judge by. Items of the tail have nothing but their content. A tenth of the head's items is held
    back for choices, so that these are made on cold items as well."""
    counts = np.bincount(log.item, minlength=log.n("item"))
    of_event = counts[log.item]
    held = np.random.default_rng(seed).random(log.n("item")) < 0.1
    head = of_event >= least
    return log.take(head & ~held[log.item]), log.take(head & held[log.item]), log.take(of_event <= most)


def examples(x: Csr, y: Csr) -> tuple[Features, Events]:
    """Rows of features as queries, numbered from 0, and their labels as items."""
    log = Events.from_arrays(query=y.row_of_entries(), item=y.indices)
    return Features.from_matrix(range(len(x)), x, identity=False), log


def some_contexts(log: Events, count: int, seed: int = 0) -> Events:
    """The events of so many of the contexts, for a small cut."""
    codes = log.codes(log.context_role)
    present = np.unique(codes)
    chosen = np.random.default_rng(seed).permutation(present)[:count]
    return compact(log.take(np.isin(codes, chosen)))


def compact(log: Events) -> Events:
    """The same events, with no more ids than they have."""
    columns = {role: log.ids(role) for role in log.roles}
    times = None if log.time is None else log.time.astype("datetime64[ns]")
    return Events.from_arrays(**columns, weight=log.weight, time=times)


# --- measures -------------------------------------------------------------------------------------------


def lists(*metrics: str, exclude: bool = True) -> Judge:
    """Means over contexts by `evaluate`. With `exclude`, what a context has in training is left out of its
    list: ranks are among unrated items."""

    def judge(model: Any, task: Task, part: Events) -> Values:
        from topwise.evaluation import evaluate

        known = None
        if exclude:
            known = task.train if part is task.validation else joined(task.train, task.validation)
        report = evaluate(model, part, list(metrics), exclude=known)
        return {name: report[name] for name in report}

    return judge


def pairs(*cutoffs: int) -> Judge:
    """Every test event by itself: the rank of its item among the whole catalogue, nothing left out.

    recall@k is the share of events with a rank up to k (the papers' measure, where precision@k is
    recall@k / k), mrr and mean_rank are means over events; an event that occurs n times counts n times.
    """

    def judge(model: Any, task: Task, part: Events) -> Values:
        ranks = event_ranks(model, part)
        found = {f"recall@{k}": float((ranks <= k).mean()) for k in cutoffs}
        return {**found, "mrr": float((1 / ranks).mean()), "mean_rank": float(ranks.mean())}

    return judge


def event_ranks(model: Any, log: Events) -> npt.NDArray[np.float64]:
    """The rank of the item of each event in the list of its context. Ties count with their mean rank; an
    item that the model does not know stands behind its catalogue."""
    from topwise.evaluation.cases import Cases
    from topwise.evaluation.ranking import rank, use_threads

    catalogue = model.item_vocabulary
    columns = np.stack([log.codes(role) for role in (*model.roles, "item")])
    distinct, place = np.unique(columns, axis=1, return_inverse=True)
    item = catalogue.codes(log.vocabulary("item").ids)[distinct[-1]]
    known = np.flatnonzero(item >= 0)
    ids = {role: log.vocabulary(role).ids[distinct[i, known]] for i, role in enumerate(model.roles)}
    rows = len(known)
    cases = Cases(
        contexts=ids,
        targets=Csr(np.arange(rows + 1), item[known].astype(np.int32), len(catalogue)),
        excluded=Csr(np.zeros(rows + 1, dtype=np.int64), np.empty(0, dtype=np.int32), len(catalogue)),
        relevant=np.ones(rows, dtype=np.int64),
        unseen_items=0,
        excluded_events=0,
        repeated_events=0,
    )
    ranks = np.full(distinct.shape[1], len(catalogue) + 1.0)
    if rows:
        ranking = rank(model, cases, use_threads(None))
        ranks[known] = (ranking.best.rank + ranking.worst.rank) / 2
    return ranks[place.ravel()]


def seconds_only(model: Any, task: Task, part: Any) -> Values:
    """Nothing but the time that fitting took, which is measured anyway."""
    return {}


def chain(*judges: Judge) -> Judge:
    """The measures of several judges together."""

    def judge(model: Any, task: Task, part: Any) -> Values:
        return {name: value for one in judges for name, value in one(model, task, part).items()}

    return judge
