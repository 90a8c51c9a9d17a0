"""Rankers of judgments on the command line: fit, evaluate, rank; and two stages."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from commands import Run

import topwise as tw
from topwise.evaluation import evaluate


def write(path: Path, seed: int, with_qid: bool = True) -> tw.Judgments:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 9, 30)
    x = rng.random((sizes.sum(), 3))
    labels = np.digitize(x[:, 0], [0.5, 0.8])
    docids = [f"D{n}" for n in range(len(x))]
    judged = tw.Judgments.from_arrays(
        x, labels, [f"q{n}" for n in np.repeat(np.arange(30), sizes)], docids=docids
    )
    judged.write_svmlight(path)
    if not with_qid:
        lines = path.read_text().splitlines()
        path.write_text("\n".join(" ".join([line.split()[0], *line.split()[2:]]) for line in lines) + "\n")
    return judged


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """train.txt, vali.txt, test.txt of judgments."""
    root = tmp_path_factory.mktemp("judged")
    for seed, name in enumerate(("train", "vali", "test")):
        write(root / f"{name}.txt", seed)
    return root


@pytest.mark.parametrize(
    "words", [("--model", "ranksvm"), ("--set", "trees=15", "--set", "min_rows=2", "--threads", "1")]
)
def test_fit_evaluate_and_rank(run: Run, judged: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    out = run(
        *("fit", "--judgments", judged / "train.txt", "--validation", judged / "vali.txt"),
        *("--out", "ranker.safetensors", *words),
    ).out
    assert out.splitlines()[0].split()[0] == "model"
    assert "30 queries, 3 features" in out
    model = tw.load(tmp_path / "ranker.safetensors")
    test = tw.Judgments.read_svmlight(judged / "test.txt")
    shown = json.loads(
        run(
            *(
                "evaluate",
                "ranker.safetensors",
                "--judgments",
                judged / "test.txt",
                "--metrics",
                "ndcg@3,err",
            ),
            *("--convention", "letor4", "--format", "json"),
        ).out
    )
    report = evaluate(model, test, metrics=["ndcg@3", "err"], convention="letor4")
    assert shown == report.to_dict()
    assert report["ndcg@3"] > 0.5
    assert run("rank", "ranker.safetensors", judged / "test.txt", "--scores", "scores.txt").out == (
        f"scored {len(test)} rows of 30 queries\n"
    )
    scores = np.array([float(line) for line in (tmp_path / "scores.txt").read_text().split()])
    np.testing.assert_array_equal(scores, model.score(test))
    rows = json.loads(
        run("rank", "ranker.safetensors", judged / "test.txt", "--k", 1, "--format", "json").out
    )
    assert test.docids is not None
    best = [test.rows(q).start + int(np.argmax(scores[test.rows(q)])) for q in range(30)]
    assert [row["document"] for row in rows] == test.docids[best].tolist()
    run("rank", "ranker.safetensors", judged / "test.txt", "--run", "run.txt", "--k", 2)
    lines = [line.split() for line in (tmp_path / "run.txt").read_text().splitlines()]
    assert [line[2] for line in lines if line[3] == "1"] == test.docids[best].tolist()


def test_groups_and_every_query(run: Run, tmp_path: Path) -> None:
    judged = write(tmp_path / "train.txt", 0, with_qid=False)
    (tmp_path / "sizes").write_text("\n".join(map(str, judged.lengths())))
    fit = ("fit", "--judgments", "train.txt", "--model", "listnet", "--out", "m.safetensors")
    assert "pass --groups" in run(*fit, code=1).err
    run(*fit, "--groups", "sizes")
    run(
        "evaluate",
        "m.safetensors",
        "--judgments",
        "train.txt",
        "--groups",
        "sizes",
        "--per-context",
        "each.csv",
    )
    assert len((tmp_path / "each.csv").read_text().splitlines()) == 31


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--model", "wsabie"), "--judgments is for the models lambdamart, gbrt, ranksvm, listnet"),
        (("--dim", "8"), "--dim does not go with the model lambdamart"),
        (("--set", "tree=8"), "--set must be NAME=VALUE with a parameter of lambdamart"),
        (("--set", "trees=0"), "trees must be at least 1, got 0"),
        (("--set", "trees=many"), "trees must be a whole number, got 'many'"),
        (("--checkpoint", "x"), "neither --validation-fraction nor --checkpoint"),
    ],
)
def test_wrong_usage(run: Run, judged: Path, words: tuple[str, ...], message: str) -> None:
    outcome = run("fit", "--judgments", judged / "train.txt", "--out", "m.safetensors", *words, code=2)
    assert message in outcome.err
    assert outcome.err.count("\n") == 1


def test_models_do_not_mix(run: Run, judged: Path, folder: Path) -> None:
    err = run("evaluate", folder / "model.safetensors", "--judgments", judged / "test.txt", code=2).err
    assert "holds a MatrixFactorization, which does not rank judgments" in err
    err = run("fit", folder / "train.csv", "--model", "gbrt", "--out", "m.safetensors", code=2).err
    assert "the model gbrt learns from judgments: give --judgments FILE" in err


def test_two_stages(run: Run, folder: Path, tmp_path: Path) -> None:
    first = ("--dim", 8, "--max-norm", 2, "--epochs", 15, "--threads", 1)
    second = ("--second", "lambdamart", "--set", "trees=10", "--set", "min_rows=5", "--candidates", 20)
    out = run(
        *("fit", folder / "train.csv", "--model", "two-stage", "--also", "item-bag", *first, *second),
        *("--out", "two.safetensors"),
    ).out
    assert "MatrixFactorization, then LambdaMART on 20 candidates" in out
    model = tw.load(tmp_path / "two.safetensors")
    assert isinstance(model, tw.TwoStage)
    train, test = (tw.Events.read(folder / f"{name}.csv") for name in ("train", "test"))
    shown = json.loads(
        run(
            *("evaluate", "two.safetensors", folder / "test.csv", "--exclude", folder / "train.csv"),
            *("--format", "json"),
        ).out
    )
    assert shown == evaluate(model, test, exclude=train).to_dict()
    rows = json.loads(
        run("recommend", "two.safetensors", "--users", "u1,u2", "--k", 3, "--format", "json").out
    )
    ids, _ = model.recommend(users=["u1", "u2"], k=3)
    assert [row["item"] for row in rows] == ids.ravel().tolist()
    assert "holds a TwoStage" in run("neighbors", "two.safetensors", "--items", "001", code=2).err


def test_candidates_from_a_run(run: Run, folder: Path, tmp_path: Path) -> None:
    run(
        *(
            "evaluate",
            folder / "model.safetensors",
            folder / "train.csv",
            "--run",
            "run.txt",
            "--run-depth",
            40,
        ),
    )
    run(
        *(
            "fit",
            folder / "train.csv",
            "--model",
            "two-stage",
            "--first-run",
            "run.txt",
            "--second",
            "ranksvm",
        ),
        *("--out", "two.safetensors", "--candidates", 40),
    )
    assert repr(tw.load(tmp_path / "two.safetensors").first_).startswith("Run(")
