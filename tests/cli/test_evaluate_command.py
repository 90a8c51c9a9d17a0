"""`topwise evaluate` says what the library says, in every format and file."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import ir_measures
import polars as pl
import pytest
from commands import Run

import topwise as tw
from topwise.evaluation import Report, evaluate

METRICS = ("recall@5", "ndcg@10", "mean_rank")


@pytest.fixture(scope="module")
def report(folder: Path) -> Report:
    """The library's own evaluation."""
    train, test = (tw.Events.read(folder / f"{name}.csv") for name in ("train", "test"))
    return evaluate(tw.load(folder / "model.safetensors"), test, metrics=METRICS, exclude=train)


@pytest.fixture
def evaluated(folder: Path) -> list[object]:
    """The words of the same evaluation."""
    words = ["evaluate", folder / "model.safetensors", folder / "test.csv", "--exclude", folder / "train.csv"]
    return [*words, "--metrics", ",".join(METRICS)]


def test_a_table(run: Run, evaluated: list[object], report: Report) -> None:
    head, rule, *lines = run(*evaluated).out.splitlines()
    assert head.split() == ["metric", "mean", "95", "%", "interval"]
    assert set(rule) == {"─", " "}
    low, high = report.interval("recall@5")
    assert lines[0].split() == ["recall@5", f"{report['recall@5']:.4f}", f"{low:.4f}", "to", f"{high:.4f}"]
    assert lines[-1] == "60 users, 180 items to find"


def test_json_and_csv(run: Run, evaluated: list[object], report: Report) -> None:
    assert json.loads(run(*evaluated, "--format", "json").out) == report.to_dict()
    rows = csv.DictReader(io.StringIO(run(*evaluated, "--format", "csv").out))
    for row, name in zip(rows, METRICS, strict=True):
        assert row["metric"] == name
        values = tuple(float(row[column]) for column in ("mean", "low", "high"))
        assert values == (report[name], *report.interval(name))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_metrics_of_every_user(
    ending: str, run: Run, evaluated: list[object], report: Report, tmp_path: Path
) -> None:
    run(*evaluated, "--per-context", f"users.{ending}")
    path = tmp_path / f"users.{ending}"
    frame = pl.read_csv(path) if ending == "csv" else pl.read_parquet(path)
    assert frame.columns == ["user", *METRICS]
    assert frame["user"].to_list() == report.contexts.tolist()
    for name in METRICS:
        assert frame[name].to_list() == report.per_context(name).tolist()


def test_trec_files_agree_with_ir_measures(
    run: Run, evaluated: list[object], report: Report, tmp_path: Path
) -> None:
    run(*evaluated, "--run", "run.txt", "--run-depth", 40, "--qrels", "qrels.txt")
    ranked = list(ir_measures.read_trec_run(str(tmp_path / "run.txt")))
    judged = list(ir_measures.read_trec_qrels(str(tmp_path / "qrels.txt")))
    measured = ir_measures.calc_aggregate([ir_measures.nDCG @ 10, ir_measures.R @ 5], judged, ranked)
    assert measured[ir_measures.nDCG @ 10] == pytest.approx(report["ndcg@10"], abs=1e-9)
    assert measured[ir_measures.R @ 5] == pytest.approx(report["recall@5"], abs=1e-9)
    assert len(ranked) == 60 * (40 - 9)


def test_what_the_model_does_not_know_is_told(run: Run, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "strange.csv").write_text("user,item\nu1,001\nu1,001\nu2,mystery\nstranger,002\n")
    told = run("evaluate", folder / "model.safetensors", "strange.csv").out.splitlines()[-3:]
    assert [line.rpartition(": ")[::2] for line in told] == [
        ("contexts unknown to the model, and ranked as the mean of all others", "1"),
        ("items unknown to the model, and so never found", "1"),
        ("test events that repeat another", "1"),
    ]


def test_examples_with_labels(run: Run, tmp_path: Path) -> None:
    # A label is the number of the feature that is set.
    lines = [f"{n % 6} {n % 6}:1 6:0.5" for n in range(60)]
    (tmp_path / "train.txt").write_text("\n".join(["60 7 6", *lines]))
    (tmp_path / "test.txt").write_text("\n".join(["12 7 6", *lines[:12]]))
    words: tuple[object, ...] = (
        "--dim",
        8,
        "--max-norm",
        4,
        "--epochs",
        40,
        "--threads",
        1,
        "--out",
        "tagger.st",
    )
    summary = run("fit", "--multilabel", "train.txt", *words, "--format", "json").out
    assert json.loads(summary)["model"] == "Wsabie"
    words = (
        "evaluate",
        "tagger.st",
        "--multilabel",
        "test.txt",
        "--metrics",
        "precision@1",
        "--format",
        "json",
    )
    measured = json.loads(run(*words).out)
    assert measured["metrics"]["precision@1"]["mean"] == 1
    assert (measured["n_contexts"], measured["unseen_contexts"]) == (12, 0)
    told = run("recommend", "tagger.st", "--features", "test.txt", "--k", 1, "--format", "json").out
    assert [(row["query"], row["item"]) for row in json.loads(told)] == [(n, n % 6) for n in range(12)]


def test_examples_need_a_model_of_features(run: Run, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "test.txt").write_text("1 7 6\n0 0:1\n")
    err = run("evaluate", folder / "model.safetensors", "--multilabel", "test.txt", code=1).err
    assert "--multilabel needs a model with features, and this is a MatrixFactorization" in err
