"""Threads: the same result where no row is shared, as good a one where rows are, forked children unharmed."""

from __future__ import annotations

import multiprocessing
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest
from logs import parts, tastes

import topwise as tw

SETTINGS = {"dim": 8, "epochs": 10, "learning_rate": 0.3, "max_norm": 1.2}


def large_log() -> tw.Events:
    """Enough items that each thread gets a block of its own."""
    return tastes(n_users=400, n_items=600, each=20)


@pytest.mark.parametrize("loss", [tw.WARP(), tw.AUC(), tw.WARP(violators=2, corrected=True)], ids=repr)
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_runs_on_ids_alone_repeat_themselves(loss: tw.losses.Loss, threads: int) -> None:
    log = large_log()
    models = [tw.MatrixFactorization(**SETTINGS, loss=loss, threads=threads).fit(log) for _ in range(2)]
    np.testing.assert_array_equal(models[0].item_vectors(), models[1].item_vectors())
    users = log.vocabulary("user").ids
    np.testing.assert_array_equal(*(model.context_vectors(users=users) for model in models))


@pytest.mark.parametrize("loss", [tw.WARP(), tw.OWPC(), tw.KOS(base=tw.WARP())], ids=repr)
@pytest.mark.parametrize("kind", [tw.MatrixFactorization, tw.ItemBag])
def test_more_threads_learn_as_well(kind: type[Any], loss: tw.losses.Loss) -> None:
    train, test = tw.split.by_fraction(large_log(), test=0.2, seed=3)
    found = [
        tw.evaluate(
            kind(**SETTINGS, loss=loss, threads=threads).fit(train), test, metrics=["auc"], exclude=train
        )["auc"]
        for threads in (1, 4)
    ]
    assert found[0] > 0.75
    assert found[1] > 0.93 * found[0]


def test_more_threads_than_contexts_or_items() -> None:
    log = tw.Events.from_arrays(item=["a", "b", "c"], user=["u", "u", "v"])
    model = tw.MatrixFactorization(**SETTINGS, threads=16).fit(log)
    assert np.isfinite(model.item_vectors()).all()


def test_fits_in_several_python_threads_do_not_disturb_each_other() -> None:
    train, _, _ = parts()
    models = [tw.MatrixFactorization(**SETTINGS, threads=1) for _ in range(4)]
    workers = [threading.Thread(target=model.fit, args=(train,)) for model in models]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for model in models[1:]:
        np.testing.assert_array_equal(model.item_vectors(), models[0].item_vectors())


def test_other_python_threads_run_meanwhile() -> None:
    """The kernel lets go of the interpreter's lock."""
    log, ticks, done = large_log(), [], threading.Event()

    def tick() -> None:
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.005)

    clock = threading.Thread(target=tick)
    clock.start()
    model = tw.MatrixFactorization(**{**SETTINGS, "dim": 64, "epochs": 1}, threads=1)
    started = time.perf_counter()
    model.set_params(loss=tw.OWPC(refresh=1)).fit(log)
    ended = time.perf_counter()
    done.set()
    clock.join()
    within = [t for t in ticks if started < t < ended]
    assert len(within) > (ended - started) / 0.1


def _train_in_child(queue: Any, log: tw.Events) -> None:
    model = tw.MatrixFactorization(**SETTINGS, threads=2).fit(log)
    queue.put((model.item_vectors(), model.recommend(users="u0", k=3)[0].tolist()))


@pytest.mark.skipif(sys.platform != "linux", reason="fork is the default on Linux alone")
def test_a_forked_child_trains_as_its_parent_did() -> None:
    log = large_log()
    ours = tw.MatrixFactorization(**SETTINGS, threads=2).fit(log)
    recommended = ours.recommend(users="u0", k=3)[0].tolist()
    context = multiprocessing.get_context("fork")
    queue: Any = context.Queue()
    child = context.Process(target=_train_in_child, args=(queue, log))
    child.start()
    try:
        vectors, ids = queue.get(timeout=30)
    finally:
        child.join(5)
        child.kill()
    assert child.exitcode == 0
    np.testing.assert_array_equal(vectors, ours.item_vectors())
    assert ids == recommended


@pytest.mark.parametrize("threads", [2, 3])
def test_a_catalogue_dealt_by_pages_repeats_itself_too(threads: int) -> None:
    log = tastes(n_users=300, n_items=4000, each=30)
    models = [tw.MatrixFactorization(64, max_norm=1.5, epochs=2, threads=threads).fit(log) for _ in range(2)]
    np.testing.assert_array_equal(models[0].item_vectors(), models[1].item_vectors())
    alone = tw.MatrixFactorization(64, max_norm=1.5, epochs=2, threads=1).fit(log)
    assert models[0].history_records_[-1]["loss"] == pytest.approx(
        alone.history_records_[-1]["loss"], rel=0.1
    )


@pytest.mark.parametrize("kind", [tw.MatrixFactorization, tw.ItemBag])
def test_rows_that_threads_share_end_in_their_ball(kind: type[Any]) -> None:
    model = kind(**SETTINGS | {"max_norm": 0.7}, loss=tw.OWPC(), threads=4, norm_exponent=0).fit(large_log())
    for side in model._sides().values():
        assert np.linalg.norm(side.rows, axis=1).max() <= 0.7 * (1 + 1e-5)
