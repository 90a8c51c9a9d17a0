"""Commands run as a user runs them."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

COMMAND = (sys.executable, "-m", "topwise")
ENVIRONMENT = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "100"}


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


def run_topwise(*words: object, cwd: Path, stdin: str = "") -> Outcome:
    """Runs a command to its end."""
    done = subprocess.run(
        [*COMMAND, *map(str, words)],
        cwd=cwd,
        input=stdin,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def start(*words: object, cwd: Path) -> subprocess.Popen[str]:
    """A command in the background, which feels Ctrl-C also where the tests do not."""
    return subprocess.Popen(
        [*COMMAND, *map(str, words)],
        cwd=cwd,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler) and None,
    )


def write_log(path: Path, rows: list[tuple[str, str]], header: tuple[str, str] = ("user", "item")) -> None:
    """A csv file of events."""
    with path.open("w", encoding="utf8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
