"""Python in a process of its own, to be interrupted or killed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


class Child:
    """A running script. It speaks in lines."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def wait_for(self, word: str, seconds: float = 60) -> str:
        """The next line that begins with a word."""
        alarm = threading.Timer(seconds, self.process.kill)
        alarm.start()
        try:
            output: IO[str] | None = self.process.stdout
            assert output is not None
            seen = []
            for line in output:
                if line.startswith(word):
                    return line
                seen.append(line)
        finally:
            alarm.cancel()
        raise AssertionError(f"the child ended or hung without saying {word!r}, after {''.join(seen[-30:])}")


@contextmanager
def child(code: str, *arguments: object) -> Iterator[Child]:
    """Runs a script beside these tests; whatever happens, it does not outlive the block."""
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", code, *map(str, arguments)],
        cwd=Path(__file__).parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        yield Child(process)
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
