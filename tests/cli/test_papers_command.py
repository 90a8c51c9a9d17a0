"""topwise papers list, run and report, by their real processes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import Run

TABLE = "slides-rank-approximation"


def test_list_has_every_table(run: Run) -> None:
    from topwise.papers import studies

    listed = json.loads(run("papers", "list", "--format", "json").out)
    assert [row["id"] for row in listed] == [study.id for study in studies()]
    assert all(row["data"] for row in listed)


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["run"], 2, "say which table"),
        (["run", "lcr-11", "--data", "."], 1, "did you mean 'lcr-1'"),
        (["run", TABLE], 2, "give --data DIR"),
        (["run", TABLE, "--data", "."], 1, "needs one of eurlex-4k, delicious, each a folder in"),
        (["run", TABLE, "--data", "nowhere"], 1, "there is no folder nowhere"),
        (["run", TABLE, "--seeds", "0"], 2, "must be at least 1"),
        (["report", TABLE, "--written"], 1, "run some first"),
        (["report", TABLE, "--data", "."], 1, "needs one of"),
    ],
)
def test_wrong_use_is_told(
    run: Run, monkeypatch: pytest.MonkeyPatch, words: list[str], code: int, told: str
) -> None:
    from commands import ENVIRONMENT

    monkeypatch.delitem(ENVIRONMENT, "TOPWISE_DATA", raising=False)
    outcome = run("papers", *words, code=code)
    assert told in outcome.err


def test_a_table_is_run_once_and_reported(run: Run, data_root: Path, tmp_path: Path) -> None:
    words = ("papers", "run", TABLE, "--data", data_root, "--quick", "--out", "out")
    first = run(*words)
    assert first.out.startswith(f"# {TABLE}:")
    kept = sorted((tmp_path / "out" / "cache").iterdir())
    again = run(*words)
    assert sorted((tmp_path / "out" / "cache").iterdir()) == kept
    assert again.out == first.out
    assert json.loads((tmp_path / "out" / f"{TABLE}.json").read_text())["quick"]
    told = run("papers", "report", TABLE, "--written", "--out", "out", "--page", "docs/results.md")
    assert "with 1 tables" in told.out
    page = (tmp_path / "docs" / "results.md").read_text()
    assert "## Claims" in page
    assert (tmp_path / "docs" / "images" / f"results-{TABLE}.png").is_file()
