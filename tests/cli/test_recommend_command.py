"""`topwise recommend` and `topwise neighbors` give what the library gives, to readers and to files."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from commands import Run

import topwise as tw
from topwise.cli import main, recommend


def rows_of(text: str) -> list[dict[str, str]]:
    """The rows of a CSV text."""
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture(scope="module")
def train(folder: Path) -> tw.Events:
    """The events that the models were fitted on."""
    return tw.Events.read(folder / "train.csv")


@pytest.fixture(scope="module")
def model(folder: Path) -> Any:
    """The model of the fixture folder."""
    return tw.load(folder / "model.safetensors")


def test_formats_say_the_same(run: Run, folder: Path, model: Any, train: tw.Events) -> None:
    words = ["recommend", folder / "model.safetensors", "--users", "u4,u7", "--k", 3]
    words += ["--exclude", folder / "train.csv", "--titles", folder / "titles.csv"]
    items, scores = model.recommend(users=["u4", "u7"], k=3, exclude=train)
    expected = [
        {"user": user, "rank": place + 1, "item": item, "title": f"Film, the {int(item)}th é"}
        for user, best in zip(["u4", "u7"], items, strict=True)
        for place, item in enumerate(best)
    ]
    as_json = json.loads(run(*words, "--format", "json").out)
    assert [{name: row[name] for name in expected[0]} for row in as_json] == expected
    assert [row["score"] for row in as_json] == pytest.approx(scores.ravel().tolist(), rel=1e-6)
    as_csv = rows_of(run(*words, "--format", "csv").out)
    assert as_csv == [{name: str(value) for name, value in row.items()} for row in as_json]
    head, _, *lines = run(*words).out.splitlines()
    assert head.split() == ["user", "rank", "item", "title", "score"]
    # A user is named once, and users are set apart by an empty line.
    assert [line[:2] for line in lines] == ["u4", "  ", "  ", "", "u7", "  ", "  "]


def test_an_unknown_user_gets_what_suits_the_mean(run: Run, folder: Path, model: Any) -> None:
    outcome = run(
        "recommend", folder / "model.safetensors", "--users", "u4,nobody", "--k", 2, "--format", "csv"
    )
    assert outcome.err == (
        "topwise: warning: the model does not know the user 'nobody', "
        "and recommends what suits the mean of all users\n"
    )
    items, _ = model.recommend(users=["u4", "nobody"], k=2)
    rows = rows_of(outcome.out)
    assert [row["user"] for row in rows] == ["u4", "u4", "nobody", "nobody"]
    assert [row["item"] for row in rows] == items.ravel().tolist()


def test_fewer_items_than_k(run: Run, folder: Path, tmp_path: Path, train: tw.Events) -> None:
    seen = train.ids("item")[train.ids("user") == "u4"].tolist()
    (tmp_path / "some.txt").write_text(f"{seen[0]}\n\n 021 \n022\n")
    words = ("--items-file", "some.txt", "--exclude", folder / "train.csv", "--format", "csv")
    rows = rows_of(run("recommend", folder / "model.safetensors", "--users", "u4", *words).out)
    assert sorted(row["item"] for row in rows) == ["021", "022"]


def test_two_logs_to_exclude(run: Run, folder: Path) -> None:
    words = (
        "--exclude",
        folder / "train.csv",
        "--exclude",
        folder / "test.csv",
        "--k",
        40,
        "--format",
        "csv",
    )
    rows = rows_of(run("recommend", folder / "model.safetensors", "--users", "u4", *words).out)
    assert len(rows) == 40 - 12


def test_ids_from_the_standard_input(run: Run, folder: Path) -> None:
    words = ("recommend", folder / "model.safetensors", "--users-file", "-", "--k", 1, "--format", "csv")
    rows = rows_of(run(*words, stdin="u4\nu7\n").out)
    assert [row["user"] for row in rows] == ["u4", "u7"]


def test_files_for_all_users(
    folder: Path, tmp_path: Path, model: Any, train: tw.Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Blocks that do not divide the users, so that the last one is shorter.
    monkeypatch.setattr(recommend, "CHUNK", 7)
    words = ["recommend", str(folder / "model.safetensors"), "--all", "--k", "4"]
    words += ["--exclude", str(folder / "train.csv"), "--titles", str(folder / "titles.csv")]
    for ending in ("csv", "parquet"):
        assert main([*words, "--out", str(tmp_path / f"recs.{ending}")]) == 0
    users = model.context_vocabulary.ids
    items, scores = model.recommend(users=users, k=4, exclude=train)
    frame = pl.read_parquet(tmp_path / "recs.parquet")
    assert dict(frame.schema) == {
        "user": pl.String,
        "rank": pl.Int32,
        "item": pl.String,
        "title": pl.String,
        "score": pl.Float32,
    }
    assert frame["user"].to_list() == users.repeat(4).tolist()
    assert frame["item"].to_list() == items.ravel().tolist()
    assert frame["score"].to_list() == scores.ravel().tolist()
    from_csv = pl.read_csv(tmp_path / "recs.csv", schema=frame.schema)
    assert from_csv.equals(frame)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["recs.csv", "recs.parquet"]


def test_a_failure_leaves_the_old_file(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "recs.parquet"
    old.write_text("old")

    def fail(*_: Any) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(pl.LazyFrame, "sink_parquet", fail)
    assert main(["recommend", str(folder / "model.safetensors"), "--all", "--out", str(old)]) == 1
    assert old.read_text() == "old"
    assert list(tmp_path.iterdir()) == [old]


def test_ids_that_are_numbers_stay_numbers(run: Run, tmp_path: Path) -> None:
    frame = pl.DataFrame({"user": [1, 1, 2, 2, 3], "item": [10, 11, 11, 12, 10]})
    frame.write_parquet(tmp_path / "log.parquet")
    run("fit", "log.parquet", "--dim", 2, "--max-norm", 1, "--epochs", 1, "--out", "m.st")
    (first, *_) = json.loads(run("recommend", "m.st", "--users", "2", "--format", "json").out)
    assert first["user"] == 2
    assert first["item"] in (10, 11, 12)
    run("recommend", "m.st", "--all", "--out", "recs.parquet")
    assert pl.read_parquet(tmp_path / "recs.parquet").schema["item"] == pl.Int64


def test_somebody_of_whom_only_items_are_known(run: Run, folder: Path) -> None:
    bag: Any = tw.load(folder / "bag.safetensors")
    words = (
        "recommend",
        folder / "bag.safetensors",
        "--history",
        "001,003,none",
        "--k",
        5,
        "--format",
        "csv",
    )
    outcome = run(*words)
    assert "does not know the item 'none', which does not count" in outcome.err
    items, _ = bag.recommend(history=["001", "003"], k=5)
    assert [row["item"] for row in rows_of(outcome.out)] == items.tolist()
    refused = run(*words, "--exclude", folder / "train.csv", code=2)
    assert "--exclude goes with ids" in refused.err


def test_rows_of_a_table_with_features(run: Run, folder: Path, tmp_path: Path) -> None:
    sides = [f"u{user},{'left' if user % 2 == 0 else 'right'}" for user in range(60)]
    (tmp_path / "people.csv").write_text("\n".join(["user,side", *sides]))
    (tmp_path / "new.csv").write_text("name,side\nann,left\nbob,right\n")
    words = (
        "--user-features",
        "people.csv",
        "--model",
        "wsabie",
        "--dim",
        4,
        "--max-norm",
        4,
        "--epochs",
        20,
    )
    run("fit", folder / "train.csv", *words, "--threads", 1, "--out", "m.st")
    asked = ("recommend", "m.st", "--features", "new.csv", "--k", 5, "--format", "csv")
    assert "give --features-id COLUMN" in run(*asked, code=2).err
    rows = rows_of(run(*asked, "--features-id", "name").out)
    assert [row["user"] for row in rows] == ["ann"] * 5 + ["bob"] * 5
    # Even users take items below 20, odd ones the others.
    assert [int(row["item"]) < 20 for row in rows] == [True] * 5 + [False] * 5


def test_neighbors_in_every_format(run: Run, folder: Path, model: Any) -> None:
    words = ("neighbors", folder / "model.safetensors", "--items", "001,025", "--k", 3, "--metric", "dot")
    found, values = model.neighbors(items=["001", "025"], k=3, metric="dot")
    as_json = json.loads(run(*words, "--format", "json").out)
    assert [row["neighbor"] for row in as_json] == found.ravel().tolist()
    assert [row["dot"] for row in as_json] == pytest.approx(values.ravel().tolist(), rel=1e-6)
    assert rows_of(run(*words, "--format", "csv").out) == [
        {name: str(value) for name, value in row.items()} for row in as_json
    ]
    table = run(*words, "--titles", folder / "titles.csv").out.splitlines()
    assert table[0].split() == ["item", "title", "rank", "neighbor", "neighbor", "title", "dot"]
    assert table[2].startswith("001   Film, the 1th é ")
    assert table[3].startswith("      ")


def test_neighbors_of_users(run: Run, folder: Path, model: Any) -> None:
    told = run("neighbors", folder / "model.safetensors", "--users", "u4", "--k", 2, "--format", "json").out
    found, _ = model.neighbors(users="u4", k=2)
    assert [row["neighbor"] for row in json.loads(told)] == found.tolist()
