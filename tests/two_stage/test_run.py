"""Runs of other systems as a first stage."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from worlds import first, make_log, second

import topwise as tw

LOG = make_log(role="query")
TRAIN, TEST = tw.split.by_fraction(LOG, 0.3, seed=1)


@pytest.fixture(scope="module")
def run_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run") / "run.txt"
    model = first().fit(TRAIN, progress=False)
    tw.evaluation.write_run(model, path, k=60)
    return path


def test_candidates_come_from_the_run(run_file: Path) -> None:
    run = tw.Run.read(run_file)
    model = tw.TwoStage(run, second(), candidates=20, threads=1).fit(TRAIN, progress=False)
    rows = model.features_of(queries=["u0"])
    lines = [line.split() for line in run_file.read_text().splitlines()]
    assert rows.docids is not None
    assert rows.docids.tolist() == [line[2] for line in lines if line[0] == "u0"][:20]
    known = TRAIN.ids("item")[TRAIN.ids("query") == "u0"]
    ids, _ = model.recommend(queries="u0", exclude=TRAIN)
    assert not set(known.tolist()) & set(ids.tolist())
    assert "near_mean" not in model.feature_names_
    assert tw.evaluate(model, TEST, metrics=["ndcg@10"], exclude=TRAIN)["ndcg@10"] > 0.1


def test_it_is_saved_with_the_model(run_file: Path, tmp_path: Path) -> None:
    model = tw.TwoStage(tw.Run.read(run_file), second(), candidates=20, threads=1).fit(TRAIN, progress=False)
    model.save(tmp_path / "model.safetensors")
    loaded = tw.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded.recommend(queries="u1")[0], model.recommend(queries="u1")[0])


def test_order_and_ends() -> None:
    run = tw.Run(["q", "q", "p"], ["x", "y", "x"], [1.0, 2.0, 3.0])
    nothing = tw.data.Csr(np.zeros(4, np.int64), np.empty(0, np.int32), 2)
    items, scores = run.search({"query": np.array(["q", "p", "new"], dtype=object)}, 2, nothing)
    assert run.item_vocabulary.ids.tolist() == ["x", "y"]
    assert items.tolist() == [[1, 0], [0, -1], [-1, -1]]
    assert scores[0].tolist() == [2, 1]
    assert repr(run) == "Run(3 lines, 2 contexts, 2 items)"


def test_bad_runs(tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    path.write_text("q Q0 x 1 0.5 tag\nq Q0 y 2\n")
    with pytest.raises(ValueError, match=r"line 2: a line of a run is `context Q0 item rank score tag`"):
        tw.Run.read(path)
    path.write_text("q Q0 x 1 0.5 tag\nq Q0 y 2 much tag\n")
    with pytest.raises(ValueError, match="line 2: the score must be a number, got 'much'"):
        tw.Run.read(path)
    path.write_text("")
    with pytest.raises(ValueError, match="at least one line, got none"):
        tw.Run.read(path)
    zipped = tmp_path / "run.gz"
    zipped.write_bytes(gzip.compress(b"q Q0 x 1 nan tag\n"))
    with pytest.raises(ValueError, match="the scores of a run must be finite, got nan in line 1"):
        tw.Run.read(zipped)
    with pytest.raises(ValueError, match="role must be one of 'user', 'query', got 'item'"):
        tw.Run(["q"], ["x"], [1.0], role="item")
    run = tw.Run(["q"], ["x"], [1.0])
    with pytest.raises(ValueError, match="'neighbors' needs item vectors"):
        tw.TwoStage(run, second(), features=["neighbors"]).fit(LOG, progress=False)
