"""Parts of the users learned by the workers of a Ray cluster.

The item vectors are put into the object store once, and every process of a node looks at the same copy. A
part whose worker or node dies is learned again, somewhere else: Ray does that, and since a part gives the
same tastes wherever it is learned, nothing else is to be done.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from topwise.cluster.parts import Folder, Learned, Part, Recipe, bounds_of, fingerprint, learn, part_of
from topwise.data import Events, Features
from topwise.models.max_mf import MaxMF
from topwise.models.tables import Floats
from topwise.training.fit import forget_failed, put_trial, training_positives
from topwise.training.norm import find_max_norm
from topwise.training.positives import Positives
from topwise.training.progress import Progress
from topwise.training.session import EpochRecord, mean_context

# Parts for each processor: with several, one that dies or is late costs little.
_PARTS_A_CPU = 4
# How often a part is begun anew when its worker or node dies.
_RETRIES = 20


def check_available() -> None:
    """Refuses to begin where Ray is not installed."""
    try:
        import ray  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "training on a cluster needs Ray, which is not installed: pip install 'topwise[cluster]'"
        ) from error


def fit_tastes(
    model: MaxMF, train: Events, cluster: str, parts: str | Path | None, progress: bool | None
) -> None:
    """The second stage of a model, whose first is done, on the cluster at an address ("auto": the one that
    this machine belongs to). With `parts`, each part is written there by the worker that learned it. Ctrl-C
    ends the run, and the model is not fitted; the parts that are done stay, for the next one.
    """
    no_features: dict[str, Features | None] = {"user": None, "item": None, "query": None}
    model._create_sides(train, model._context_role(train), no_features)
    positives = training_positives(model, train)
    model._forget_index()
    with forget_failed(model), connected(cluster), Progress(0, progress) as bar:
        if len(positives) == 0:
            raise ValueError("train must have at least one event with a weight above 0, got none")
        found = None
        if model.max_norm == "auto":
            found = find_max_norm(model, train, no_features, bar)
            model.max_norm_ = found.norm
        else:
            model.max_norm_ = None if model.max_norm is None else float(model.max_norm)
        model.interrupted_ = False
        if found is not None and found.rows is not None:
            model.history_records_, model.best_epoch_ = [], 0
            put_trial(model, found.rows)
        else:
            _run(model, positives, None if parts is None else Folder(parts), bar)
    model.mean_context_ = mean_context(model, positives)


def _run(model: MaxMF, positives: Positives, folder: Folder | None, bar: Progress) -> None:
    side, items = model._tastes_side(), model.items_.rows
    recipe = Recipe.of(model)
    bounds = bounds_of(positives, _PARTS_A_CPU * _processors())
    if folder is not None:
        ids = side.vocabulary.ids
        bounds = folder.begin(fingerprint(recipe, positives, items[:, : model.columns], ids), bounds)
    todo = []
    for number, (begin, end) in enumerate(pairwise(bounds)):
        part = part_of(positives, side.indptr, number, begin, end)
        if folder is not None:
            part = replace(part, ids=side.vocabulary.ids[begin:end], file=str(folder.file(number).resolve()))
            if folder.rows(part, model.columns) is not None:
                continue
        todo.append(part)
    bar.expect(len(todo), "part")
    done: list[Learned] = []
    for learned in _learned(recipe, todo, items):
        if learned.rows is not None:
            begin, end = bounds[learned.number], bounds[learned.number + 1]
            side.rows[side.indptr[begin] : side.indptr[end], : model.columns] = learned.rows
        done.append(learned)
        bar.one_more()
    if folder is not None:
        _gather(model, positives, folder, bounds)
    model.history_records_ = [record.to_dict() for record in _together(done)]
    model.best_epoch_ = model.epochs


def _learned(recipe: Recipe, parts: list[Part], items: Floats) -> Iterator[Learned]:
    """The parts as they are done; a few more than there are processors are on their way at a time."""
    import ray

    task = ray.remote(num_cpus=1, max_retries=_RETRIES)(learn)
    vectors = ray.put(items)
    window = 2 * _processors()
    waiting = list(reversed(parts))
    running: list[Any] = []
    try:
        while waiting or running:
            while waiting and len(running) < window:
                running.append(task.remote(recipe, waiting.pop(), vectors))
            (ready, *_), running = ray.wait(running, num_returns=1)
            yield ray.get(ready)
    except (
        ray.exceptions.WorkerCrashedError,
        ray.exceptions.NodeDiedError,
        ray.exceptions.ObjectLostError,
    ) as error:
        raise RuntimeError(
            f"the workers of a part died {_RETRIES + 1} times, perhaps for want of memory: "
            "look at the cluster's logs; with parts= the same call goes on with what is missing"
        ) from error
    finally:
        for reference in running:
            ray.cancel(reference, force=True)


def _processors() -> int:
    """Of the whole cluster."""
    import ray

    resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
    return max(1, int(resources.get("CPU", 1)))


def _gather(model: MaxMF, positives: Positives, folder: Folder, bounds: list[int]) -> None:
    """The tastes out of the files of all parts."""
    side = model._tastes_side()
    for number, (begin, end) in enumerate(pairwise(bounds)):
        part = part_of(positives, side.indptr, number, begin, end)
        rows = folder.rows(part, model.columns)
        if rows is None:
            raise RuntimeError(
                f"{folder.file(number)} is not there or not whole, though its part is done: "
                "parts= must be a folder that this machine and all nodes share"
            )
        side.rows[side.indptr[begin] : side.indptr[end], : model.columns] = rows


def _together(done: list[Learned]) -> list[EpochRecord]:
    """The epochs of all parts as one: means by the number of events, and the seconds of all."""
    parts = [learned for learned in done if learned.records]
    if not parts:
        return []
    weights = np.array([learned.events for learned in parts], dtype=float)

    def mean(epoch: int, name: str) -> float:
        return float(np.average([getattr(p.records[epoch], name) for p in parts], weights=weights))

    return [
        replace(
            record,
            loss=mean(epoch, "loss"),
            trials=mean(epoch, "trials"),
            violators=mean(epoch, "violators"),
            seconds=float(sum(p.records[epoch].seconds for p in parts)),
        )
        for epoch, record in enumerate(parts[0].records)
    ]


@contextmanager
def connected(address: str) -> Iterator[None]:
    """A connection to a cluster; one that is there already is used and left as it is."""
    import ray

    if ray.is_initialized():
        yield
        return
    try:
        _knock(address)
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        ray.init(address=address, **options)
    except (OSError, ValueError, RuntimeError) as error:
        raise ConnectionError(
            f"there is no Ray cluster at cluster={address!r} ({error}): start one by `ray start --head`, "
            'give its address, or cluster="local" for one on this machine alone'
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def _knock(address: str) -> None:
    """Ray would try for ten minutes to reach a host and port where nobody answers."""
    host, _, port = address.rpartition(":")
    if host and port.isdecimal() and "/" not in host:
        socket.create_connection((host, int(port)), timeout=10).close()
