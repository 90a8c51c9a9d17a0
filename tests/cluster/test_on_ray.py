"""The second stage on a Ray cluster of two nodes: the local result to the bit, whatever dies."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import topwise as tw
from topwise.cluster import on_ray
from topwise.cluster.parts import borrowed
from topwise.models.tables import empty_rows

NODE = {"num_cpus": 1, "object_store_memory": 80_000_000, "node_ip_address": "127.0.0.1"}
# Long enough for a part to be killed in its midst.
SETTINGS: dict[str, Any] = {"dim": 16, "tastes": 3, "stages": 2, "max_norm": 1.5, "threads": 1, "epochs": 60}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes of one processor each, on the loopback, without a dashboard."""
    from ray.cluster_utils import Cluster

    found = Cluster(initialize_head=True, head_node_args={**NODE, "include_dashboard": False})
    found.add_node(**NODE)
    yield found
    import ray

    ray.shutdown()
    found.shutdown()


@pytest.fixture(scope="module")
def log() -> tw.Events:
    return tw.datasets.movielens_small().log


@pytest.fixture(scope="module")
def bag(log: tw.Events) -> tw.ItemBag:
    shared = {name: SETTINGS[name] for name in ("dim", "max_norm", "threads")}
    return tw.ItemBag(**shared, epochs=5).fit(log, progress=False)


@pytest.fixture(scope="module")
def local(log: tw.Events, bag: tw.ItemBag) -> tw.MaxMF:
    return tw.MaxMF(**SETTINGS).fit(log, items_from=bag, progress=False)


def assert_same(first: tw.MaxMF, second: tw.MaxMF) -> None:
    users = first.context_vocabulary.ids
    for ours, theirs in zip(first.taste_vectors(users=users), second.taste_vectors(users=users), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(first.item_vectors(), second.item_vectors())
    np.testing.assert_array_equal(first.mean_context_, second.mean_context_)


# --- what runs ----------------------------------------------------------------------------------------------


def learners(nodes: list[Any]) -> list[int]:
    """The processes that learn a part, of these nodes alone."""
    raylets = {process.process.pid for node in nodes for process in node.all_processes["raylet"]}
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if not entry.name.isdigit() or not (entry / "cmdline").read_bytes().startswith(b"ray::learn"):
                continue
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:  # gone meanwhile
            continue
        if parent in raylets:
            found.append(int(entry.name))
    return found


def meanwhile(act: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=act)
    thread.start()
    return thread


def wait_for_learners(nodes: list[Any]) -> list[int]:
    for _ in range(3000):
        if found := learners(nodes):
            return found
        time.sleep(0.01)
    raise AssertionError("nothing was learned on these nodes within 30 s")


def test_the_result_is_the_local_one_to_the_bit(
    cluster: Any, log: tw.Events, bag: tw.ItemBag, local: tw.MaxMF
) -> None:
    model = tw.MaxMF(**SETTINGS).fit(log, items_from=bag, cluster=cluster.address, progress=False)
    assert_same(model, local)
    assert len(model.history_records_) == SETTINGS["epochs"]
    for ours, theirs in zip(model.history_records_, local.history_records_, strict=True):
        assert ours["loss"] == pytest.approx(theirs["loss"], rel=1e-6)
    assert_same(model.fit(log, items_from=bag, progress=False), local)


def test_both_stages_and_weights_and_biases(cluster: Any) -> None:
    log = tw.datasets.movielens_small(min_rating=None).log
    settings = {**SETTINGS, "tastes": "auto", "item_bias": True, "epochs": 2, "loss": tw.KOS(), "smooth": 0.3}
    here, there = tw.MaxMF(**settings), tw.MaxMF(**settings)
    assert_same(here.fit(log, progress=False), there.fit(log, cluster=cluster.address, progress=False))


def test_a_killed_worker_loses_nothing(
    cluster: Any, log: tw.Events, bag: tw.ItemBag, local: tw.MaxMF, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes, killed = list(cluster.list_all_nodes()), []

    def kill(count: int) -> None:
        while len(killed) < count:
            pid = wait_for_learners(nodes)[0]
            if pid not in killed:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

    killer = meanwhile(lambda: kill(3))
    model = tw.MaxMF(**SETTINGS).fit(log, items_from=bag, cluster=cluster.address, progress=False)
    killer.join()
    assert len(killed) == 3
    assert_same(model, local)
    # Without another try the same death is told: so the tries are what saved the run above.
    monkeypatch.setattr(on_ray, "_RETRIES", 0)
    killer = meanwhile(lambda: kill(4))
    with pytest.raises(RuntimeError, match="the workers of a part died 1 times"):
        model.fit(log, items_from=bag, cluster=cluster.address, progress=False)
    killer.join()
    with pytest.raises(ValueError, match="is not fitted yet"):
        model.recommend(users="1")


def test_a_lost_node_loses_nothing(cluster: Any, log: tw.Events, bag: tw.ItemBag, local: tw.MaxMF) -> None:
    third = cluster.add_node(**NODE)
    removed = []

    def remove() -> None:
        wait_for_learners([third])
        cluster.remove_node(third, allow_graceful=False)
        removed.append(third)

    remover = meanwhile(remove)
    model = tw.MaxMF(**{**SETTINGS, "epochs": SETTINGS["epochs"]}).fit(
        log, items_from=bag, cluster=cluster.address, progress=False
    )
    remover.join()
    assert removed
    assert_same(model, local)


def test_finished_parts_are_kept(
    cluster: Any,
    log: tw.Events,
    bag: tw.ItemBag,
    local: tw.MaxMF,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import polars as pl

    whole = on_ray._learned

    def broken(*given: Any) -> Iterator[Any]:
        for count, learned in enumerate(whole(*given)):
            yield learned
            if count == 2:
                raise KeyboardInterrupt

    model, where = tw.MaxMF(**SETTINGS), tmp_path / "run"
    arguments: dict[str, Any] = {
        "items_from": bag,
        "cluster": cluster.address,
        "parts": where,
        "progress": False,
    }
    monkeypatch.setattr(on_ray, "_learned", broken)
    with pytest.raises(KeyboardInterrupt):
        model.fit(log, **arguments)
    monkeypatch.undo()
    before = {path: path.stat().st_mtime_ns for path in where.glob("part-*.parquet")}
    assert 3 <= len(before) < 8
    damaged = min(before)
    damaged.write_bytes(damaged.read_bytes()[:-40])
    assert_same(model.fit(log, **arguments), local)
    for path, written in before.items():
        assert (path.stat().st_mtime_ns == written) == (path != damaged)

    # The parts are a table of all tastes.
    table = pl.concat(pl.read_parquet(path) for path in sorted(where.glob("part-*.parquet")))
    vectors, starts = local.taste_vectors(users=local.context_vocabulary.ids)
    np.testing.assert_array_equal(table["vector"].to_numpy(), vectors)
    assert table["user"].to_list() == np.repeat(local.context_vocabulary.ids, np.diff(starts)).tolist()
    assert table["taste"].to_list() == [1, 2, 3] * len(local.context_vocabulary)

    for other in ({"seed": 1}, {"tastes": 2}):
        with pytest.raises(
            ValueError, match="has parts of a run with other events, item vectors or parameters"
        ):
            tw.MaxMF(**{**SETTINGS, **other}).fit(log, **arguments)


def test_the_first_stage_is_kept_as_well(cluster: Any, log: tw.Events, tmp_path: Path) -> None:
    settings = {**SETTINGS, "epochs": 2}
    model = tw.MaxMF(**settings).fit(log, cluster=cluster.address, parts=tmp_path, progress=False)
    kept = tmp_path / "items.safetensors"
    written = kept.stat().st_mtime_ns
    again = tw.MaxMF(**settings).fit(log, cluster=cluster.address, parts=tmp_path, progress=False)
    assert kept.stat().st_mtime_ns == written
    assert_same(model, again)
    np.testing.assert_array_equal(tw.load(kept).item_vectors(), model.item_vectors())


def test_processes_look_at_one_copy_of_the_item_vectors(cluster: Any) -> None:
    import ray

    def looks(items: Any) -> bool:
        return bool(np.shares_memory(borrowed(items, 16), items)) and not items.flags.writeable

    with on_ray.connected(cluster.address):
        assert ray.get(ray.remote(looks).remote(ray.put(empty_rows(5000, 16))))


def test_what_a_cluster_cannot_do(cluster: Any, log: tw.Events, tmp_path: Path) -> None:
    model = tw.MaxMF(**SETTINGS)
    with pytest.raises(
        ValueError, match="validation goes by epochs of all users, which a cluster does not have"
    ):
        model.fit(log, validation=log, cluster=cluster.address)
    with pytest.raises(ValueError, match="checkpoint goes by epochs of all users"):
        model.fit(log, checkpoint=tmp_path / "file", cluster=cluster.address)
