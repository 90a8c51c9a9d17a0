"""`topwise fit`: its inputs, its summary, and runs that are broken off."""

from __future__ import annotations

import csv
import io
import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from commands import Run, start, write_log

import topwise as tw
from topwise.models.files import read_tensors

SMALL = ("--dim", 4, "--max-norm", 2, "--epochs", 2, "--threads", 1)


def test_a_summary_for_reading(run: Run, folder: Path, tmp_path: Path) -> None:
    told = run("fit", folder / "train.csv", *SMALL, "--out", "m.safetensors").out
    lines = dict(line.split(maxsplit=1) for line in told.splitlines())
    assert lines["model"] == "MatrixFactorization, WARP, dim 4"
    assert lines["events"] == "540 (60 users, 40 items)"
    assert lines["saved"].startswith("m.safetensors (")
    assert tw.load(tmp_path / "m.safetensors").item_vectors().shape == (40, 4)


def test_a_summary_in_json_and_csv(run: Run, folder: Path) -> None:
    words = ("fit", folder / "train.csv", *SMALL, "--validation", folder / "test.csv", "--metric", "recall@5")
    record = json.loads(run(*words, "--out", "m.st", "--format", "json").out)
    assert (record["events"], record["users"], record["items"]) == (540, 60, 40)
    assert record["validation_events"] == 180
    assert record["metric"] == "recall@5"
    assert record["validation"] == max(epoch["validation"] for epoch in record["history"])
    assert (record["epochs"], record["max_norm"], record["interrupted"]) == (2, 2.0, False)
    (row,) = csv.DictReader(io.StringIO(run(*words, "--out", "m.st", "--format", "csv").out))
    assert float(row["validation"]) == record["validation"]
    assert (row["file"], int(row["epochs"])) == ("m.st", 2)


def test_the_norm_is_found_unless_given(run: Run, folder: Path) -> None:
    words = ("fit", folder / "train.csv", "--dim", 4, "--epochs", 2, "--out", "m.st", "--format", "json")
    found = json.loads(run(*words).out)
    assert found["max_norm_found"]
    assert found["max_norm"] > 0
    assert json.loads(run(*words, "--max-norm", "none").out)["max_norm"] is None


def test_every_option_reaches_the_model(run: Run, folder: Path, tmp_path: Path) -> None:
    words = ("--schedule", "cosine", "--optimizer", "sgd", "--item-bias", "--init-scale", 0.1, "--seed", 3)
    loss = ("--loss", "kos", "--positives", 3, "--position", "1,2,1", "--alpha", "ndcg", "--margin", 0.5)
    run("fit", folder / "train.csv", *SMALL, *words, *loss, "--norm-exponent", 0, "--out", "m.st")
    params = tw.load(tmp_path / "m.st").get_params()
    assert params["loss"] == tw.KOS(
        k=3, position=[1.0, 2.0, 1.0], margin=0.5, base=tw.WARP(alpha="ndcg", margin=0.5)
    )
    told = {"schedule": "cosine", "optimizer": "sgd", "item_bias": True, "init_scale": 0.1, "seed": 3}
    assert told.items() <= params.items()
    assert params["norm_exponent"] == 0


def test_patience_stops_on_a_share_held_out(run: Run, folder: Path) -> None:
    words = ("--validation-fraction", 0.2, "--patience", 2, "--epochs", 200, "--dim", 4, "--max-norm", 2)
    record = json.loads(run("fit", folder / "train.csv", *words, "--out", "m.st", "--format", "json").out)
    assert (record["events"], record["validation_events"]) == (432, 108)
    assert record["epochs"] == record["best_epoch"] + 2 < 200


@pytest.mark.parametrize("kind", ["parquet", "positions", "gzip"])
def test_kinds_of_files_give_the_same_model(kind: str, run: Run, folder: Path, tmp_path: Path) -> None:
    frame = pl.read_csv(folder / "train.csv", infer_schema=False)
    columns: tuple[object, ...] = ("--user", "user")
    if kind == "parquet":
        frame.write_parquet(path := tmp_path / "log.parquet")
    elif kind == "gzip":
        import gzip

        path = tmp_path / "log.csv.gz"
        path.write_bytes(gzip.compress((folder / "train.csv").read_bytes()))
    else:
        path = tmp_path / "log.dat"
        path.write_text("\n".join("::".join(row) for row in frame.rows()))
        columns = ("--user", 0, "--item", 1, "--separator", "::", "--no-header")
    run("fit", path, *columns, *SMALL, "--out", "ours.st")
    run("fit", folder / "train.csv", *SMALL, "--out", "theirs.st")
    ours, theirs = (tw.load(tmp_path / f"{name}.st") for name in ("ours", "theirs"))
    assert ours.item_vocabulary.ids.tolist() == theirs.item_vocabulary.ids.tolist()
    np.testing.assert_array_equal(ours.item_vectors(), theirs.item_vectors())


def test_features_of_items(run: Run, folder: Path, tmp_path: Path) -> None:
    half = ["left|all" if item < 20 else "right|all" for item in range(45)]
    (tmp_path / "films.csv").write_text(
        "\n".join(
            ["id,length,kinds,note", *(f"{i:03d},{90 + i},{kinds},n{i}" for i, kinds in enumerate(half))]
        )
    )
    words: tuple[object, ...] = (
        "--item-features",
        "films.csv",
        "--list-separator",
        "|",
        "--item-features-columns",
        "length,kinds",
    )
    missing = run("fit", folder / "train.csv", *SMALL, *words, "--out", "m.st", code=1).err
    assert "films.csv has no column 'item' for the ids" in missing
    words += ("--item-features-id", "id")
    record = json.loads(
        run("fit", folder / "train.csv", *SMALL, *words, "--out", "m.st", "--format", "json").out
    )
    assert record["features"] == {"item": 4}
    model = tw.load(tmp_path / "m.st")
    assert model.items_.feature_names == ["length", "kinds=all", "kinds=left", "kinds=right"]
    # An id with leading zeros is found, and items without events are served from their content.
    assert len(model.item_vocabulary) == 45
    assert np.linalg.norm(model.item_vectors()[model.item_vocabulary.codes("044")]) > 0


# --- runs that are broken off ---------------------------------------------------------------------------


def write_random_log(path: Path, users: int, items: int, each: int) -> Path:
    """Events without any order in them, in a file large enough that a fit takes a while."""
    rng = np.random.default_rng(1)
    write_log(path, [(f"u{u}", f"i{i}") for u in range(users) for i in rng.permutation(items)[:each]])
    return path


@pytest.fixture
def long_log(tmp_path: Path) -> Path:
    """A log whose epochs take some milliseconds."""
    return write_random_log(tmp_path / "long.csv", users=300, items=200, each=20)


def wait_for(path: Path, child: subprocess.Popen[str]) -> None:
    """Waits until a file is there, and the child still running."""
    for _ in range(6000):
        if path.exists():
            return
        assert child.poll() is None, child.communicate()
        time.sleep(0.01)
    raise AssertionError(f"{path} was never written")


@pytest.mark.parametrize("epochs", ["short", "long"])
def test_ctrl_c_saves_what_was_learned(epochs: str, tmp_path: Path, run: Run) -> None:
    # Ctrl-C strikes between short epochs, and within a long one.
    size = {"short": (300, 200, 20), "long": (2500, 2500, 30)}[epochs]
    long_log = write_random_log(tmp_path / "log.csv", *size)
    words: tuple[object, ...] = ("--dim", 32, "--max-norm", 2, "--epochs", 100_000)
    words += ("--checkpoint", "c.st", "--out", "m.st")
    words += ("--loss", "owpc", "--refresh", 4, "--dim", 256) if epochs == "long" else ()
    child = start("fit", long_log, *words, "--format", "json", cwd=tmp_path)
    wait_for(tmp_path / "c.st", child)
    time.sleep(0.2)
    sent = time.perf_counter()
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 130, err
    assert time.perf_counter() - sent < 5
    assert err.startswith("topwise: warning: interrupted after ")
    assert err.count("\n") == 1
    record = json.loads(out)
    assert record["interrupted"]
    assert 0 < record["epochs"] < 100_000
    assert run("recommend", "m.st", "--users", "u1", "--k", 3, "--format", "csv").out.count("\n") == 4


def test_resume_after_a_kill_gives_what_an_unbroken_run_gives(
    long_log: Path, tmp_path: Path, run: Run
) -> None:
    words: tuple[Any, ...] = ("fit", long_log, "--dim", 16, "--max-norm", 2, "--epochs", 120, "--threads", 1)
    words += ("--validation-fraction", 0.1)
    run(*words, "--out", "unbroken.st")
    words += ("--checkpoint", "c.st", "--out", "resumed.st")
    child = start(*words, cwd=tmp_path)
    wait_for(tmp_path / "c.st", child)
    child.kill()
    child.communicate()
    assert child.returncode == -signal.SIGKILL
    assert not (tmp_path / "resumed.st").exists()
    epoch = read_tensors(tmp_path / "c.st")[0]["checkpoint"]["epoch"]
    assert 0 < epoch < 120
    run(*words, "--resume")

    (header, tensors), (unbroken_header, unbroken) = (
        read_tensors(tmp_path / f"{name}.st") for name in ("resumed", "unbroken")
    )
    assert tensors.keys() == unbroken.keys()
    for name, values in unbroken.items():
        np.testing.assert_array_equal(tensors[name], values, err_msg=name)
    for both in (header, unbroken_header):
        for record in both["history"]:
            del record["seconds"]
    assert header == unbroken_header


def test_another_seed_cannot_resume(long_log: Path, run: Run) -> None:
    words = ("fit", long_log, *SMALL, "--checkpoint", "c.st", "--out", "m.st")
    run(*words)
    err = run(*words, "--resume", "--seed", 1, code=1).err
    assert "was written with seed=0, and this model has seed=1" in err
