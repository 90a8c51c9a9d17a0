"""`topwise doctor`: what it finds, and what it says when something is wrong."""

from __future__ import annotations

import csv
import io
import json
import os

import pytest
from commands import Run

import topwise
from topwise.cli import machine, main


def test_the_report_is_complete(run: Run) -> None:
    report = json.loads(run("doctor", "--format", "json").out)
    assert report["problems"] == []
    assert report["versions"]["topwise"] == topwise.__version__
    assert set(report["versions"]) == {"topwise", "python", *machine.REQUIRED, *machine.OPTIONAL}
    assert report["machine"]["instructions"] in ("x86-64-v4", "x86-64-v3", "default")
    assert report["machine"]["threads"] == len(os.sched_getaffinity(0))
    assert report["temporary_files"]["error"] is None
    measured = report["benchmark"]
    assert measured["threads"] == report["machine"]["threads"]
    assert all(measured[name] > 1000 for name in measured if name != "threads")


def test_a_page_for_reading_and_csv(run: Run) -> None:
    told = run("doctor", "--no-benchmark").out
    assert "Benchmark" not in told
    assert told.endswith("\nAll is well.\n")
    (row,) = csv.DictReader(io.StringIO(run("doctor", "--no-benchmark", "--format", "csv").out))
    assert row["versions.topwise"] == topwise.__version__
    assert int(row["machine.cores"]) == os.cpu_count()


def test_the_variant_follows_from_the_flags() -> None:
    assert machine.instructions(set(machine.V4) | {"sse2"}) == "x86-64-v4"
    assert machine.instructions(set(machine.V4) - {"avx512vl"}) == "x86-64-v3"
    assert machine.instructions(set(machine.V3) - {"fma"}) == "default"
    assert machine.instructions(set()) == "default"


def test_problems_are_told_with_their_remedy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(machine, "kernels", lambda: {"file": None, "error": "no such symbol"})
    monkeypatch.setattr(
        machine, "temporary_files", lambda: {"folder": "/full", "error": "No space left on device"}
    )
    assert main(["doctor"]) == 1
    told = capsys.readouterr().out
    assert "problem: the compiled kernels cannot be loaded (no such symbol): install topwise again" in told
    assert "problem: no file can be written in /full: set TMPDIR" in told
    assert "Benchmark" not in told


def test_memory_and_processor_are_read_from_the_system() -> None:
    assert machine.memory("MemTotal:  8 kB\nMemAvailable:  2 kB\n") == (2048, 8192)
    assert machine.memory("") == (None, None)
    info = machine._cpu_info("model name\t: Fast\nflags\t\t: avx fma\n\nmodel name\t: Slow\n")
    assert info == {"model name": "Fast", "flags": "avx fma"}
