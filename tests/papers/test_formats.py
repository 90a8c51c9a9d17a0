"""The papers' own data, in small files of the published formats, go through the same tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from topwise.papers import find, studies
from topwise.papers.cache import Cache
from topwise.papers.run import Runner


def run(table: str, root: Path) -> dict[str, Any]:
    if table not in {study.id for study in studies()}:
        pytest.skip(f"this version has not the models of {table}")
    return Runner(find(table), root, Cache(root / "cache"), 1, True, False).run()


def write_plays(folder: Path) -> None:
    """userid, time, artist id, artist, track id, track: thirty users, each within one half of the artists."""
    rng = np.random.default_rng(0)
    folder.mkdir()
    lines = []
    for user in range(30):
        for day in range(20):
            artist = int(rng.integers(0, 20))
            for minute in range(0, 40, 5):
                artist = (artist + int(rng.integers(1, 3))) % 20
                name = f"Artist {artist + 20 * (user % 2)}"
                lines.append(
                    f"user_{user:06d}\t2009-05-{day + 1:02d}T10:{minute:02d}:00Z\t\t{name}\t\tTrack {minute}"
                )
    name = "userid-timestamp-artid-artname-traid-traname.tsv"
    (folder / name).write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("table", ["lcr-2", "lasr-3"])
def test_lastfm_1k(table: str, tmp_path: Path) -> None:
    write_plays(tmp_path / "lastfm-dataset-1K")
    result = run(table, tmp_path)
    (only,) = result["tables"]
    assert only["data"] == "lastfm-1k"
    assert only["original"]
    assert only["size"]["test"] > 500
    assert all(row["missing"] is None for row in only["rows"])


def write_judgments(path: Path, seed: int) -> None:
    """label qid:q feature:value …, twenty queries of fifteen documents; the first feature tells the label."""
    rng = np.random.default_rng(seed)
    lines = []
    for query in range(20):
        for label in rng.integers(0, 5, 15):
            values = [label + rng.normal(0, 0.5), *rng.normal(size=5)]
            features = " ".join(f"{place + 1}:{value:.4f}" for place, value in enumerate(values))
            lines.append(f"{label} qid:{100 * seed + query} {features}")
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("name", ["MSLR-WEB10K", "MSLR-WEB30K"])
def test_mslr(name: str, tmp_path: Path) -> None:
    for place, part in enumerate(("train", "vali", "test")):
        (tmp_path / name / "Fold1").mkdir(parents=True, exist_ok=True)
        write_judgments(tmp_path / name / "Fold1" / f"{part}.txt", place)
    (only,) = run("lgmml-4", tmp_path)["tables"]
    assert (only["data"], only["original"]) == (name, True)
    assert all(row["missing"] is None for row in only["rows"])


def test_both_sets_of_yahoo(tmp_path: Path) -> None:
    (tmp_path / "yahoo-ltr").mkdir()
    for number in (1, 2):
        for place, part in enumerate(("train", "valid", "test")):
            write_judgments(tmp_path / "yahoo-ltr" / f"set{number}.{part}.txt", place + 3 * number)
    tables = run("lgmml-4", tmp_path)["tables"]
    assert [table["data"] for table in tables] == ["Yahoo! Set I", "Yahoo! Set II"]
    best = {row["method"]: row["cells"]["NDCG@5"]["mean"] for row in tables[0]["rows"]}
    assert best["λ-MART"] > 0.7  # one feature tells the label
