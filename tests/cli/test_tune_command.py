"""`topwise tune`: what it searches, and what can be done with what it finds."""

from __future__ import annotations

import csv
import io
import json
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import ENVIRONMENT, Run, start

import topwise as tw

QUICK = ("--dim", 4, "--epochs", 3, "--threads", 1)


@pytest.fixture
def tuned(folder: Path) -> tuple[object, ...]:
    """The words of a short search."""
    return ("tune", folder / "train.csv", *QUICK, "--metric", "recall@5", "--trials", 4)


def test_the_best_settings_can_be_typed(
    run: Run, tuned: tuple[object, ...], folder: Path, tmp_path: Path
) -> None:
    told = run(*tuned, "--out", "best.json", "--fit-out", "best.st").out
    best = json.loads((tmp_path / "best.json").read_text())
    assert best["metric"] == "recall@5"
    complete = [trial["value"] for trial in best["trials"] if trial["state"] == "complete"]
    assert best["value"] == max(complete)
    assert len(best["trials"]) == 4
    # What was given stays, all else is searched, and the first trial has the defaults.
    assert (best["settings"]["dim"], best["settings"]["epochs"]) == (4, 3)
    assert best["trials"][0]["settings"] == {
        "loss": "warp",
        "alpha": "1/i",
        "max_norm": 2.0,
        "learning_rate": tw.MatrixFactorization().learning_rate,
    }

    program, *words = shlex.split(best["command"])
    assert program == "topwise"
    assert best["command"] in told
    run(*words)
    typed, fitted = (tw.load(tmp_path / "best.st").get_params(), best["settings"])
    assert typed["learning_rate"] == fitted["learning_rate"]
    in_python: Any = eval(best["python"], {"tw": tw})
    assert in_python.get_params() == typed


def test_trials_are_shown_as_they_come(run: Run, tuned: tuple[object, ...]) -> None:
    lines = run(*tuned).out.splitlines()
    assert lines[0] == "4 trials, judged by recall@5 on 54 events held out"
    assert lines[2].split() == ["trial", "recall@5", "seconds", "settings"]
    assert [int(line.split()[0]) for line in lines[3:7]] == [1, 2, 3, 4]
    assert lines[3].endswith(" *")
    assert lines[8].startswith("best: recall@5 ")


def test_json_and_csv_are_clean(run: Run, tuned: tuple[object, ...]) -> None:
    best = json.loads(run(*tuned, "--losses", "auc", "--format", "json").out)
    assert best["settings"]["loss"] == "auc"
    assert "alpha" not in best["settings"]
    rows = list(csv.DictReader(io.StringIO(run(*tuned, "--losses", "auc", "--format", "csv").out)))
    assert [int(row["trial"]) for row in rows] == [1, 2, 3, 4]
    assert {row["loss"] for row in rows} == {"auc"}
    # The same seed searches the same places.
    assert [float(row["max_norm"]) for row in rows] == [
        trial["settings"]["max_norm"] for trial in best["trials"]
    ]


def test_a_study_goes_on_where_it_was_broken_off(run: Run, tuned: tuple[object, ...]) -> None:
    words = (*tuned, "--study", "search.sqlite", "--format", "json")
    first = json.loads(run(*words[:-6], "--trials", 2, *words[-4:]).out)["trials"]
    assert len(first) == 2
    both = json.loads(run(*words).out)["trials"]
    assert len(both) == 4
    assert both[:2] == [{**trial, "is_best": both[n]["is_best"]} for n, trial in enumerate(first)]
    assert json.loads(run(*words).out)["trials"] == both
    refused = run(*words, "--metric", "ndcg@5", code=1).err
    assert "search.sqlite has a search with other events, model, metric or options" in refused


def test_time_runs_out_within_a_trial(run: Run, folder: Path) -> None:
    words = ("--dim", 4, "--epochs", 1_000_000, "--threads", 1, "--trials", 5, "--timeout", 0.5)
    (trial,) = json.loads(run("tune", folder / "train.csv", *words, "--format", "json").out)["trials"]
    assert trial["state"] == "complete"
    assert trial["seconds"] < 20


@pytest.mark.parametrize("finished", [0, 1])
def test_ctrl_c_ends_the_search_with_the_best_so_far(finished: int, folder: Path, tmp_path: Path) -> None:
    # A trial's length is its own, so the one that is interrupted must be long: of a million epochs.
    epochs = ("--epochs", 1_000_000) if finished == 0 else ("--epochs", 3)
    words = ("tune", folder / "train.csv", "--dim", 4, *epochs, "--threads", 1, "--trials", 1_000_000)
    child = start(*words, "--out", "best.json", cwd=tmp_path)
    assert child.stdout is not None
    for _ in range(3 + finished):
        child.stdout.readline()
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 130, err
    assert "topwise: interrupted" in err
    assert "Traceback" not in err
    assert (tmp_path / "best.json").exists() == bool(finished)


def test_a_metric_that_is_better_when_lower(run: Run, folder: Path) -> None:
    words = ("tune", folder / "train.csv", *QUICK, "--metric", "mean_rank", "--trials", 4, "--format", "json")
    best = json.loads(run(*words).out)
    assert best["value"] == min(trial["value"] for trial in best["trials"] if trial["state"] == "complete")


def test_without_optuna_it_says_what_to_install(folder: Path) -> None:
    code = (
        "import sys; sys.modules['optuna'] = None; from topwise.cli import main;"
        f"sys.exit(main(['tune', {str(folder / 'train.csv')!r}]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=ENVIRONMENT, check=False
    )
    assert done.returncode == 1
    assert done.stderr == "topwise: error: topwise tune needs Optuna: pip install 'topwise[tune]'\n"
