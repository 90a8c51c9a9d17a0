"""`topwise demo` on the data that ships with the package."""

from __future__ import annotations

import re
import time
from pathlib import Path

import polars as pl
from commands import Run

import topwise as tw


def test_the_demo_is_quick_and_beats_popularity(run: Run, tmp_path: Path) -> None:
    started = time.perf_counter()
    told = run("demo", "--out", "model.safetensors").out
    assert time.perf_counter() - started < 30
    for metric in ("recall@10", "ndcg@10", "map"):
        popularity, ours = map(float, re.findall(rf"{re.escape(metric)} +(\S+) +(\S+)", told)[0])
        assert ours > 1.5 * popularity > 0
    recommended = re.findall(r"  +(\d+) \S.* \(\d{4}\)|  +(\d+) \S.*…", told)
    assert [int(first or second) for first, second in recommended] == list(range(1, 11))
    assert "Films nearest to Toy Story (1995)" in told
    assert tw.load(tmp_path / "model.safetensors").get_params()["max_norm"] == "auto"


def test_another_user_and_film(run: Run) -> None:
    refused = run("demo", "--user", "nobody", code=1).err
    assert "there is no user 'nobody' in MovieLens" in refused


def test_the_exported_files_hold_the_same_events(run: Run, tmp_path: Path) -> None:
    told = run("demo", "--export", "data").out
    assert re.findall(r"data/\w+\.\w+", told) == [
        f"data/{name}"
        for name in (
            *("likes.csv", "train.csv", "test.csv", "movies.csv", "README.txt"),
            *(f"judged_{part}.txt" for part in ("train", "vali", "test")),
        )
    ]
    assert tw.Judgments.read_svmlight(tmp_path / "data" / "judged_vali.txt").n_queries == 200
    data = tw.datasets.movielens_small()
    logs = {
        name: tw.Events.read(tmp_path / "data" / f"{name}.csv", time="time")
        for name in ("likes", "train", "test")
    }
    for column in ("user", "item"):
        assert logs["likes"].ids(column).tolist() == data.log.ids(column).tolist()
    assert logs["likes"].time is not None
    assert data.log.time is not None
    assert logs["likes"].time.tolist() == data.log.time.tolist()
    assert len(logs["train"]) + len(logs["test"]) == len(data.log)
    movies = pl.read_csv(tmp_path / "data" / "movies.csv", infer_schema=False)
    assert movies.row(0) == ("1", "Toy Story (1995)", "Adventure|Animation|Children|Comedy|Fantasy")
    assert "GroupLens" in (tmp_path / "data" / "README.txt").read_text()
