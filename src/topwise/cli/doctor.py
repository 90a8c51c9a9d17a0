"""Versions, processor, threads, memory, and a benchmark of two seconds.

The exit code is 1 when something would keep topwise from working.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from topwise.cli import machine
from topwise.cli.tables import add_format, print_record, whole

EXAMPLES = (
    "topwise doctor",
    "topwise doctor --format json",
)

_BENCHMARKS = {
    "training_one_thread": "training, 1 thread",
    "training_all_threads": "training, {threads} threads",
    "top_10_one_thread": "top 10, 1 thread",
    "top_10_all_threads": "top 10, {threads} threads",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `topwise doctor`."""
    parser.add_argument("--no-benchmark", action="store_true", help="leave out the benchmark")
    add_format(parser)


def run(args: argparse.Namespace) -> int:
    """Looks, measures and prints."""
    report: dict[str, Any] = {
        "versions": machine.versions(),
        "machine": machine.hardware(),
        "temporary_files": machine.temporary_files(),
        "kernels": machine.kernels(),
    }
    report["problems"] = problems(report)
    sound = report["kernels"]["error"] is None
    report["benchmark"] = machine.benchmark() if sound and not args.no_benchmark else None
    if args.format == "json":
        print_record(report, "json")
    elif args.format == "csv":
        print_record(_flat(report), "csv")
    else:
        _print(report)
    return 1 if report["problems"] else 0


def problems(report: Mapping[str, Any]) -> list[str]:
    """What would keep topwise from working, with the remedy."""
    found = [
        f"{name} is missing: pip install {name}"
        for name in machine.REQUIRED
        if report["versions"].get(name) is None
    ]
    if report["kernels"]["error"] is not None:
        found.append(
            f"the compiled kernels cannot be loaded ({report['kernels']['error']}): install topwise again"
        )
    if report["temporary_files"]["error"] is not None:
        folder = report["temporary_files"]["folder"]
        found.append(f"no file can be written in {folder}: set TMPDIR to a folder where that is possible")
    return found


def _flat(report: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested names joined by dots."""
    flat: dict[str, Any] = {}
    for name, value in report.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = "; ".join(value) if isinstance(value, list) else value
    return flat


def _print(report: Mapping[str, Any]) -> None:
    hardware = report["machine"]
    installed = [(name, version) for name, version in report["versions"].items() if version is not None]
    missing = [name for name, version in report["versions"].items() if version is None]
    shown = [(f"  {name}", version) for name, version in installed]
    if missing:
        shown.append(("  not installed", ", ".join(missing)))
    print("Versions")
    print_record({}, "table", shown)
    print("\nMachine")
    threads = whole(hardware["threads"])
    if hardware["threads"] != hardware["cores"]:
        threads += f" of {hardware['cores']}"
    lines = [
        ("  system", hardware["system"]),
        ("  processor", hardware["processor"]),
        ("  instructions", f"{hardware['instructions']} ({_why(hardware)})"),
        ("  threads", threads),
        ("  memory", f"{_gigabytes(hardware['memory_free'])} free of {_gigabytes(hardware['memory'])}"),
        (
            "  temporary files",
            report["temporary_files"]["error"] or f"{report['temporary_files']['folder']}, writable",
        ),
    ]
    print_record({}, "table", lines)
    if report["benchmark"] is not None:
        print("\nBenchmark")
        _print_benchmark(report["benchmark"])
    for problem in report["problems"]:
        print(f"\nproblem: {problem}")
    if not report["problems"]:
        print("\nAll is well.")


def _print_benchmark(measured: Mapping[str, Any]) -> None:
    shown = []
    for name, label in _BENCHMARKS.items():
        unit = "events/s" if name.startswith("training") else "queries/s"
        shown.append(
            (f"  {label.format(threads=measured['threads'])}", f"{whole(measured[name]):>11} {unit}")
        )
    print_record({}, "table", shown)


def _why(hardware: Mapping[str, Any]) -> str:
    return ", ".join(hardware["features"]) if hardware["features"] else "no wider ones found"


def _gigabytes(size: int | None) -> str:
    return "unknown" if size is None else f"{size / 2**30:.1f} GB"
