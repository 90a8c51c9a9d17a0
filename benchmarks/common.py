"""What all benchmarks share: where results go, tables, the machine they ran on."""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

RESULTS = Path(__file__).parent / "results"
DATA = Path(os.environ.get("TOPWISE_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


def arguments(description: str | None) -> argparse.ArgumentParser:
    """A parser with the options that every benchmark has."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA, help="folder with a folder for each log")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="a small cut, to see that it runs")
    return parser


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Aligned columns; numbers to the right."""
    cells = [[cell(value) for value in row] for row in rows]
    widths = [max(len(row[i]) for row in [list(head), *cells]) for i in range(len(head))]
    numeric = [all(_is_number(row[i]) for row in rows) for i in range(len(head))]
    lines = [
        "  ".join(c.rjust(w) if n else c.ljust(w) for c, w, n in zip(row, widths, numeric, strict=True))
        for row in [list(head), ["-" * w for w in widths], *cells]
    ]
    return "\n".join(line.rstrip() for line in lines)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def cell(value: Any) -> str:
    """A number or a text, short."""
    if isinstance(value, float | np.floating):
        return f"{value:.4f}" if abs(value) < 1 else f"{value:,.2f}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:,}" if _is_number(value) else str(value)


def bar(name: str, measured: float, wanted: float, larger: bool = True) -> dict[str, Any]:
    """Prints whether a bar is met, and gives it as a row for the results."""
    met = measured >= wanted if larger else measured <= wanted
    sign = "≥" if larger else "≤"
    print(f"  {'met   ' if met else 'MISSED'}  {name}: {measured:.3g} (bar {sign} {wanted:.3g})")
    return {"bar": name, "measured": measured, "wanted": wanted, "met": bool(met)}


def save(name: str, **content: Any) -> None:
    """Writes results/NAME.json with the machine beside the figures."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(
        json.dumps({"benchmark": name, "machine": machine(), **content}, indent=1, default=float) + "\n"
    )


def saved(name: str) -> dict[str, Any]:
    """What a benchmark has saved, if anything."""
    path = RESULTS / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found


def save_part(name: str, bars: list[dict[str, Any]], **content: Any) -> None:
    """The same for one part of a benchmark: what other parts have written stays."""
    before = saved(name)
    judged = {b["bar"]: b for b in [*before.get("bars", []), *bars]}
    tables = before.get("tables", {}) | content.pop("tables", {})
    kept = {key: value for key, value in before.items() if key not in ("benchmark", "machine")}
    save(name, **(kept | content | {"tables": tables, "bars": list(judged.values())}))


def machine() -> dict[str, Any]:
    """The processor and the versions of what was measured."""
    from importlib.metadata import PackageNotFoundError, version

    versions = {}
    for package in (
        "topwise",
        "numpy",
        "lightfm-next",
        "implicit",
        "faiss-cpu",
        "scipy",
        "scikit-learn",
        "lightgbm",
    ):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    model = platform.processor()
    info = Path("/proc/cpuinfo")
    if info.exists():
        model = next(
            (line.split(":")[1].strip() for line in info.open() if line.startswith("model name")), model
        )
    return {"processor": model, "cores": os.cpu_count(), "python": platform.python_version(), **versions}


def best_seconds(work: Callable[[], Any], repeats: int) -> float:
    """The shortest of some runs: other programs can only add to the time."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The mean of a few runs, and the half width of its 95 % interval by Student's t."""
    array: NDArray[np.float64] = np.asarray(values, dtype=np.float64)
    if len(array) < 2:
        return float(array.mean()), float("nan")
    t = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78}.get(len(array), 1.96)
    return float(array.mean()), float(t * array.std(ddof=1) / np.sqrt(len(array)))
