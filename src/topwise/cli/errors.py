"""How the command line speaks when something is wrong: one line on stderr, in the words of its options."""

from __future__ import annotations

import argparse
import re
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, NoReturn, Self, TextIO

INTERRUPTED = 130

# "pass encoding='latin1'" is of no use to somebody who types options: --encoding latin1.
_KEYWORD = re.compile(
    r"\b(user|item|query|weight|time|separator|header|encoding|user_features|item_features|query_features"
    r"|interaction|zero_based|regroup|groups|n_features|validation|checkpoint|resume|exclude|metrics|users|queries)"
    r"=('[^']*'|True|False)?"
)


class UsageError(ValueError):
    """The command was typed wrongly: exit code 2."""


class Parser(argparse.ArgumentParser):
    """An argparse parser that raises what it has to complain about."""

    def error(self, message: str) -> NoReturn:
        message = re.sub(r"^argument (\S+): (?=must )", r"\1 ", message)
        message = message.removeprefix("argument ")
        raise UsageError(f"{message}; see {self.prog} --help")


def complain(text: str) -> None:
    """A line on stderr."""
    print(f"topwise: {text}", file=sys.stderr, flush=True)


def spoken(error: BaseException) -> str:
    """An error's message in one line, with options in place of Python's keywords."""
    expected = isinstance(error, ValueError | TypeError | OSError | ArithmeticError | ImportError)
    text = str(error) if expected and str(error) else f"{type(error).__name__}: {error} (--debug shows where)"
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        text = f"{error.filename}: {error.strerror}"
    return in_options(" ".join(text.split()))


def in_options(text: str) -> str:
    """`header=False` as --no-header, `encoding='latin1'` as --encoding latin1, and so on."""
    return _KEYWORD.sub(_option, text)


def _option(match: re.Match[str]) -> str:
    name, value = match[1].replace("_", "-"), (match[2] or "").strip("'")
    name = {"n-features": "features"}.get(name, name)
    if value == "False":
        return f"--no-{name}"
    return f"--{name}" if value in ("", "True") else f"--{name} {value}"


@contextmanager
def one_line_warnings() -> Iterator[None]:
    """Warnings of the library go to stderr like errors do, without file and line."""

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        complain(f"warning: {in_options(' '.join(str(message).split()))}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.showwarning = show
        yield


class Interrupts:
    """Remembers whether Ctrl-C was pressed within the block, also where the library made the best of it."""

    def __init__(self) -> None:
        self.hit = False
        self._before: Any = None

    def _handle(self, signum: int, frame: FrameType | None) -> None:
        self.hit = True
        self._before(signum, frame)

    def __enter__(self) -> Self:
        # A process started in the background ignores Ctrl-C, and should go on doing so: it has no handler.
        if threading.current_thread() is threading.main_thread() and callable(
            signal.getsignal(signal.SIGINT)
        ):
            self._before = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
