"""Annotation from files to lists of labels, by the command alone, on questions about cooking."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest
from commands import Run

METRICS = ("precision@1", "precision@3", "precision@5")


def write_parts(source: Path, folder: Path, rows: int = 4000) -> tuple[list[list[str]], list[list[str]]]:
    """The first of the questions as train.txt and test.txt, with their labels."""
    head, *lines = gzip.decompress(source.read_bytes()).decode("utf8").splitlines()[: rows + 1]
    _, features, labels = head.split()
    parts = {"train": [line for i, line in enumerate(lines) if i % 5], "test": lines[::5]}
    for name, part in parts.items():
        (folder / f"{name}.txt").write_text("\n".join([f"{len(part)} {features} {labels}", *part]) + "\n")
    return tuple(  # type: ignore[return-value]
        [line.partition(" ")[0].split(",") for line in part if not line.startswith(" ")]
        for part in parts.values()
    )


def test_questions_get_their_tags(run: Run, data_root: Path, tmp_path: Path) -> None:
    source = data_root / "stackexchange-cooking" / "data.txt.gz"
    if not source.is_file():
        pytest.skip(f"no {source.name} in {source.parent}")
    taught, asked = write_parts(source, tmp_path)
    fit = (
        "--multilabel",
        "train.txt",
        "--epochs",
        8,
        "--max-norm",
        2.5,
        "--threads",
        1,
        "--out",
        "tagger.st",
    )
    run("fit", *fit)
    report = json.loads(
        run(
            *("evaluate", "tagger.st", "--multilabel", "test.txt", "--metrics", ",".join(METRICS)),
            *("--format", "json"),
        ).out
    )["metrics"]
    found = [report[name]["mean"] for name in METRICS]
    assert found[0] > found[1] > found[2]
    common = Counter(label for labels in taught for label in labels).most_common(1)[0][0]
    by_popularity = sum(common in labels for labels in asked) / len(asked)
    assert found[0] > 4 * by_popularity
    lists = json.loads(
        run("recommend", "tagger.st", "--features", "test.txt", "--k", 3, "--format", "json").out
    )
    assert len({row["query"] if "query" in row else row["id"] for row in lists}) == 800
    near = json.loads(run("neighbors", "tagger.st", "--items", common, "--k", 4, "--format", "json").out)
    assert len(near) == 4
