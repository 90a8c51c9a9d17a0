"""What `topwise doctor` finds out about the machine and the installation."""

from __future__ import annotations

import os
import platform
import tempfile
import time
from collections.abc import Callable
from importlib import metadata
from typing import Any

from topwise.memory import _text, memory

REQUIRED = ("numpy", "polars", "safetensors", "tqdm")
OPTIONAL = ("optuna", "pandas", "pyarrow", "scipy", "scikit-learn", "ir-measures")

# What the processor must have for each of the compiled variants of a kernel, in the names of /proc/cpuinfo.
V3 = frozenset({"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"})
V4 = V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
_TOLD = ("avx2", "fma", "avx512f", "avx512bw", "avx512vl")

_SECONDS = 0.5  # of each of the four measurements
_EVENTS, _USERS, _ITEMS = 100_000, 1_000, 5_000
_CATALOGUE, _QUERIES = 20_000, 2_048


def versions() -> dict[str, str | None]:
    """Of topwise, Python and libraries; None for one that is not installed."""
    from topwise import __version__

    found: dict[str, str | None] = {"topwise": __version__, "python": platform.python_version()}
    return found | {name: _version(name) for name in REQUIRED + OPTIONAL}


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def hardware() -> dict[str, Any]:
    """The processor, and which variant of the kernels it runs."""
    info = _cpu_info(_text("/proc/cpuinfo"))
    flags = set(info.get("flags", "").split())
    free, total = memory(_text("/proc/meminfo"))
    return {
        "system": platform.platform(),
        "processor": info.get("model name") or platform.processor() or platform.machine(),
        "instructions": instructions(flags),
        "features": [name for name in _TOLD if name in flags],
        "cores": os.cpu_count(),
        "threads": usable_threads(),
        "memory": total,
        "memory_free": free,
    }


def instructions(flags: set[str]) -> str:
    """The variant of the kernels that the loader picks for a processor with these flags."""
    if flags >= V4:
        return "x86-64-v4"
    return "x86-64-v3" if flags >= V3 else "default"


def usable_threads() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _cpu_info(text: str) -> dict[str, str]:
    """The entries of the first core."""
    first = text.partition("\n\n")[0]
    pairs = (line.partition(":") for line in first.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


def temporary_files() -> dict[str, str | None]:
    """Where temporary files go, and what stands in the way of writing there."""
    folder = None
    try:
        folder = tempfile.gettempdir()
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"topwise")
            file.flush()
    except OSError as error:
        return {"folder": folder or os.environ.get("TMPDIR", "any folder"), "error": str(error)}
    return {"folder": folder, "error": None}


def kernels() -> dict[str, str | None]:
    """Whether the compiled part can be loaded, and from where."""
    try:
        from topwise import _core
    except ImportError as error:
        return {"file": None, "error": str(error)}
    return {"file": _core.__file__, "error": None}


# --- the benchmark --------------------------------------------------------------------------------------


def benchmark() -> dict[str, int]:
    """Events trained and queries answered in a second, with one thread and with all."""
    threads = usable_threads()
    train, top = _training(), _retrieval()
    return {
        "threads": threads,
        "training_one_thread": train(1),
        "training_all_threads": train(threads),
        "top_10_one_thread": top(1),
        "top_10_all_threads": top(threads),
    }


def _training() -> Callable[[int], int]:
    from topwise.datasets import lastfm_like
    from topwise.models import MatrixFactorization
    from topwise.training import EpochRecord

    log = lastfm_like(_ITEMS, _EVENTS, _USERS).log

    def measure(threads: int) -> int:
        seconds = epochs = 0.0

        def watch(record: EpochRecord) -> bool:
            nonlocal seconds, epochs
            seconds, epochs = seconds + record.seconds, epochs + 1
            return seconds < _SECONDS

        MatrixFactorization(epochs=1000, max_norm=2.0, threads=threads).fit(
            log, callback=watch, progress=False
        )
        return round(len(log) * epochs / seconds)

    return measure


def _retrieval() -> Callable[[int], int]:
    import numpy as np

    from topwise.retrieval import Retriever

    rng = np.random.default_rng(0)
    retriever = Retriever(rng.standard_normal((_CATALOGUE, 64), dtype=np.float32))
    queries = rng.standard_normal((_QUERIES, 64), dtype=np.float32)

    def measure(threads: int) -> int:
        answered, started = 0, time.perf_counter()
        while (elapsed := time.perf_counter() - started) < _SECONDS:
            retriever.search(queries, 10, None, None, threads)
            answered += len(queries)
        return round(answered / elapsed)

    return measure
