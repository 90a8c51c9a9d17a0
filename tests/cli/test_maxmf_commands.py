"""MaxMF from the command line: fitted, evaluated, its recommendations with their tastes, its tastes shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import Run, run_topwise

import topwise as tw


@pytest.fixture(scope="module")
def fitted(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("maxmf") / "model.safetensors"
    words = ("--model", "maxmf", "--tastes", 3, "--dim", 8, "--max-norm", 2, "--epochs", 15, "--threads", 1)
    outcome = run_topwise("fit", folder / "train.csv", *words, "--out", path, cwd=folder)
    assert outcome.code == 0, outcome.err
    assert "MaxMF, WARP, dim 8" in outcome.out
    return path


def test_fit_and_evaluate(run: Run, folder: Path, fitted: Path) -> None:
    model = tw.load(fitted)
    assert isinstance(model, tw.MaxMF)
    assert model.get_params()["tastes"] == 3
    report = json.loads(
        run(
            "evaluate", fitted, folder / "test.csv", "--exclude", folder / "train.csv", "--format", "json"
        ).out
    )
    train, test = (tw.Events.read(folder / name) for name in ("train.csv", "test.csv"))
    assert report["metrics"]["recall@10"]["mean"] == pytest.approx(
        tw.evaluate(model, test, metrics=["recall@10"], exclude=train)["recall@10"]
    )


def test_recommend_shows_the_taste(run: Run, folder: Path, fitted: Path, tmp_path: Path) -> None:
    import polars as pl

    asked = ("recommend", fitted, "--users", "u1,u2", "--k", 4, "--show-taste")
    rows = json.loads(run(*asked, "--format", "json").out)
    ids, _, taste = tw.load(fitted).recommend(users=["u1", "u2"], k=4, return_taste=True)
    assert [row["item"] for row in rows] == ids.ravel().tolist()
    assert [row["taste"] for row in rows] == taste.ravel().tolist()
    assert list(rows[0]) == ["user", "rank", "item", "taste", "score"]
    run(*asked, "--out", tmp_path / "recs.parquet")
    assert pl.read_parquet(tmp_path / "recs.parquet")["taste"].to_list() == taste.ravel().tolist()
    assert "taste" in run(*asked).out
    outcome = run("recommend", folder / "model.safetensors", "--users", "u1", "--show-taste", code=2)
    assert "--show-taste is for the model maxmf, and this is a MatrixFactorization" in outcome.err


def test_neighbors_show_tastes(run: Run, folder: Path, fitted: Path) -> None:
    shown = run(
        "neighbors", fitted, "--users", "u1,u3", "--tastes", "--k", 2, "--titles", folder / "titles.csv"
    ).out
    model = tw.load(fitted)
    for user in ("u1", "u3"):
        for taste in model.tastes(user, k=2):
            assert all(item in shown for item in taste.items)
    assert "Film, the" in shown
    rows = json.loads(run("neighbors", fitted, "--users", "u1", "--tastes", "--k", 2, "--format", "json").out)
    assert [(row["taste"], row["rank"]) for row in rows] == [(t, r) for t in (1, 2, 3) for r in (1, 2)]
    assert "give --users or --queries" in run("neighbors", fitted, "--items", "000", "--tastes", code=2).err
    assert (
        "does not know the user 'nobody'"
        in run("neighbors", fitted, "--users", "nobody", "--tastes", code=1).err
    )
    assert (
        "is for the model maxmf"
        in run("neighbors", folder / "model.safetensors", "--users", "u1", "--tastes", code=2).err
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--model", "maxmf", "--tastes", "0"), "must be at least 1, got 0"),
        (("--model", "maxmf", "--tastes", "many"), "must be a whole number, got 'many'"),
        (("--model", "maxmf", "--smooth", "2"), "must be between 0 and 1, got 2"),
        (("--model", "maxmf", "--stages", "3"), "stages must be 1 or 2, got 3"),
        (("--tastes", "3"), "--tastes does not go with the model matrix-factorization"),
        (("--model", "maxmf", "--cluster", "auto"), "--cluster and --parts are for --model maxmf --stages 2"),
    ],
)
def test_wrong_usage(run: Run, folder: Path, words: tuple[str, ...], message: str) -> None:
    assert message in run("fit", folder / "train.csv", *words, "--out", "m.safetensors", code=2).err


def test_two_stages_by_positives(run: Run, folder: Path, tmp_path: Path) -> None:
    words = (
        "--model",
        "maxmf",
        "--tastes",
        "auto",
        "--stages",
        2,
        "--dim",
        4,
        "--max-norm",
        1.5,
        "--epochs",
        3,
    )
    run("fit", folder / "train.csv", *words, "--out", "two.safetensors")
    model = tw.load(tmp_path / "two.safetensors")
    assert (model.get_params()["tastes"], model.get_params()["stages"]) == ("auto", 2)
    outcome = run(
        "fit", folder / "train.csv", *words, "--cluster", "127.0.0.1:9", "--out", "no.safetensors", code=1
    )
    assert "there is no Ray cluster at" in outcome.err
