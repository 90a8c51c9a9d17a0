"""The commands of docs/command-line.md run one after the other, and print what the page shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from topwise.cli import COMMANDS, main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "command-line.md"
FENCE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands(text: str) -> list[tuple[str, list[str]]]:
    """The lines that begin with "$ topwise", and what stands below each of them."""
    found: list[tuple[str, list[str]]] = []
    for block in FENCE.findall(text):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line.removeprefix("$ "), []))
            else:
                found[-1][1].append(line)
    return found


def shape(line: str) -> list[str]:
    """A line without its numbers, which are not the same on every machine."""
    return re.sub(r"[\d.,]+", "0", line).split()


def test_the_commands_of_the_page_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    typed = commands(PAGE.read_text(encoding="utf8"))
    for line, shown in typed:
        program, *words = shlex.split(line)
        assert program == "topwise"
        code = main(words)
        told = capsys.readouterr()
        assert code == 0, f"{line}\n{told.err}"
        if shown:
            assert shape(told.out.splitlines()[0]) == shape(shown[0]), line
    assert {line.split()[1] for line, _ in typed} == set(COMMANDS)
