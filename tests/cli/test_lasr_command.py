"""LaSR from the command line: fitted, evaluated, asked; and what does not go together."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from commands import Run

import topwise as tw

FIT = ("--model", "lasr", "--dim", 4, "--max-norm", 1.5, "--epochs", 3, "--threads", 1)


@pytest.fixture
def fitted(run: Run, folder: Path, tmp_path: Path) -> tw.LaSR:
    words = (
        "--steps",
        2,
        "--list-size",
        7,
        "--inference",
        "beam",
        "--beam",
        3,
        "--candidates",
        30,
        "--list-norm",
        0.5,
    )
    told = run("fit", folder / "train.csv", *FIT, *words, "--warm", "--out", "m.st").out
    assert "LaSR, WARP, dim 4" in told
    assert "2 after step 0" in told
    model = tw.load(tmp_path / "m.st")
    assert isinstance(model, tw.LaSR)
    return model


def test_every_option_reaches_the_model(fitted: tw.LaSR) -> None:
    params = fitted.get_params()
    wanted = {"steps": 2, "list_size": 7, "inference": "beam", "beam": 3, "candidates": 30, "list_norm": 0.5}
    assert {name: params[name] for name in wanted} == wanted
    assert params["warm"] is True
    assert fitted.steps_ == 2


def test_it_is_evaluated_and_asked(fitted: tw.LaSR, run: Run, folder: Path) -> None:
    asked = ("--exclude", folder / "train.csv", "--format", "json")
    report = json.loads(run("evaluate", "m.st", folder / "test.csv", "--metrics", "auc", *asked).out)
    assert report["metrics"]["auc"]["mean"] > 0.6
    for inference in ("iterative", "greedy", "beam"):
        words = (
            "--users",
            "u0,u1",
            "--k",
            4,
            "--inference",
            inference,
            "--candidates",
            10,
            "--format",
            "csv",
        )
        rows = list(csv.DictReader(io.StringIO(run("recommend", "m.st", *words).out)))
        ids, _ = fitted.recommend(users=["u0", "u1"], k=4, inference=inference, candidates=10)
        assert [row["item"] for row in rows] == ids.ravel().tolist()


def test_what_does_not_go_together(run: Run, folder: Path) -> None:
    run("fit", folder / "train.csv", "--dim", 4, "--max-norm", 1, "--epochs", 1, "--out", "plain.st")
    told = run("recommend", "plain.st", "--users", "u0", "--inference", "beam", code=2)
    assert "--inference is for the model lasr, and this is a MatrixFactorization" in told.err
    told = run("fit", folder / "train.csv", "--steps", 2, "--out", "m.st", code=2)
    assert "--steps does not go with the model matrix-factorization" in told.err
    told = run("fit", folder / "train.csv", *FIT, "--list-size", 41, "--out", "m.st", code=1)
    assert "list_size must be at most the 40 items of the catalogue, got 41" in told.err


def test_examples_with_labels(run: Run, tmp_path: Path) -> None:
    rows = ["12 4 3", *["0,1 0:1 1:0.5", "2 2:1 3:0.5", "1 1:1", "2 3:1"] * 3]
    (tmp_path / "examples.txt").write_text("\n".join(rows) + "\n")
    words = ("--list-size", 2, "--dim", 4, "--max-norm", 1.5, "--epochs", 20, "--threads", 1)
    run("fit", "--multilabel", "examples.txt", "--model", "lasr", *words, "--out", "m.st")
    told = run("evaluate", "m.st", "--multilabel", "examples.txt", "--metrics", "auc", "--format", "json").out
    assert json.loads(told)["metrics"]["auc"]["mean"] > 0.9
    asked = ("--features", "examples.txt", "--k", 1, "--inference", "greedy", "--format", "csv")
    found = [row["item"] for row in csv.DictReader(io.StringIO(run("recommend", "m.st", *asked).out))]
    assert [item == "2" for item in found] == [False, True] * 6
