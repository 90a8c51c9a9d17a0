"""Parts of the users, without a cluster: any way of parting them gives the same tastes."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import topwise as tw
from topwise.cluster.parts import Folder, Recipe, borrowed, bounds_of, learn, part_of
from topwise.models.tables import empty_rows
from topwise.training.fit import training_positives

SETTINGS: dict[str, Any] = {"dim": 8, "tastes": 2, "stages": 2, "max_norm": 1.5, "threads": 1, "epochs": 3}


@pytest.fixture(scope="module")
def log() -> tw.Events:
    rng = np.random.default_rng(0)
    users = np.concatenate([rng.integers(0, 40, 600), [41]])
    return tw.Events.from_arrays(user=users, item=rng.integers(0, 50, 601))


@pytest.mark.parametrize("loss", [tw.WARP(), tw.AUC(), tw.OWPC(), tw.KOS()], ids=repr)
def test_any_parts_give_the_same_tastes(log: tw.Events, loss: Any) -> None:
    model = tw.MaxMF(**{**SETTINGS, "loss": loss}).fit(log, progress=False)
    positives, side = training_positives(model, log), model.context_
    recipe = Recipe.of(model)
    for bounds in ([0, 41], [0, 1, 2, 20, 41], bounds_of(positives, 7)):
        rows = []
        for number, (begin, end) in enumerate(pairwise(bounds)):
            part = part_of(positives, side.indptr, number, begin, end)
            rows.append(learn(recipe, part, model.items_.rows).rows)
        np.testing.assert_array_equal(np.concatenate(rows), side.rows[:, : model.columns])


def test_bounds_of_parts(log: tw.Events) -> None:
    model = tw.MaxMF(**SETTINGS).fit(log, progress=False)
    positives = training_positives(model, log)
    for count in (1, 3, 1000):
        bounds = bounds_of(positives, count)
        assert bounds[0] == 0
        assert bounds[-1] == 41
        assert bounds == sorted(set(bounds))
        assert len(bounds) - 1 <= min(count, 41)
    sizes = np.diff(positives.indptr[bounds_of(positives, 3)])
    assert sizes.max() < 2 * sizes.min()


def test_items_are_looked_at_and_not_copied() -> None:
    rows = empty_rows(100, 20)
    rows.flags.writeable = False
    view = borrowed(rows, 20)
    assert np.shares_memory(view, rows)
    assert view.flags.writeable
    unaligned = np.zeros(33 * 32, dtype=np.float32)[1:-31].reshape(32, 32)
    assert borrowed(unaligned, 20).ctypes.data % 64 == 0


def test_without_ray(log: tw.Events, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(
        ImportError, match=r"needs Ray, which is not installed: pip install 'topwise\[cluster\]'"
    ):
        tw.MaxMF(**SETTINGS).fit(log, cluster="auto")


@pytest.mark.parametrize("address", ["auto", "127.0.0.1:9"])
def test_without_a_cluster(log: tw.Events, address: str) -> None:
    with pytest.raises(
        ConnectionError, match=f"there is no Ray cluster at cluster='{address}' .*ray start --head"
    ):
        tw.MaxMF(**SETTINGS).fit(log, cluster=address, progress=False)


def test_a_folder_keeps_its_first_bounds(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "run")
    assert folder.begin("one", [0, 3, 9]) == [0, 3, 9]
    assert folder.begin("one", [0, 5, 9]) == [0, 3, 9]
    with pytest.raises(ValueError, match="parts of a run with other events"):
        folder.begin("two", [0, 9])
