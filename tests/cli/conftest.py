"""Small logs of two tastes, and models of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from commands import Outcome, Run, run_topwise, write_log

N_USERS, N_ITEMS, EVENTS_OF_USER = 60, 40, 12


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs a command that must succeed, in a folder of its own."""

    def run(*words: object, code: int = 0, stdin: str = "") -> Outcome:
        outcome = run_topwise(*words, cwd=tmp_path, stdin=stdin)
        assert outcome.code == code, outcome.err or outcome.out
        return outcome

    return run


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """train.csv and test.csv, where users take items of their own half; titles.csv; and fitted models."""
    root = tmp_path_factory.mktemp("cli")
    rng = np.random.default_rng(0)
    train, test = [], []
    for user in range(N_USERS):
        half = rng.permutation(N_ITEMS // 2)[:EVENTS_OF_USER] + (user % 2) * (N_ITEMS // 2)
        # Ids are text: "007" stays "007".
        rows = [(f"u{user}", f"{item:03d}") for item in half]
        train += rows[:-3]
        test += rows[-3:]
    write_log(root / "train.csv", train)
    write_log(root / "test.csv", test)
    titles = [(f"{item:03d}", f"Film, the {item}th é") for item in range(N_ITEMS)]
    write_log(root / "titles.csv", titles, ("id", "title"))
    for name, words in (("model", ()), ("bag", ("--model", "item-bag"))):
        outcome = run_topwise(
            *("fit", "train.csv", "--dim", 8, "--max-norm", 2, "--epochs", 15, "--threads", 1, *words),
            *("--out", f"{name}.safetensors"),
            cwd=root,
        )
        assert outcome.code == 0, outcome.err
    return root
