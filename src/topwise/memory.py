"""Whether what is about to be made has room."""

from __future__ import annotations

from pathlib import Path


class NotEnoughMemoryError(MemoryError, ValueError):
    """The machine has not the memory that the model's parameters take."""


def check_memory(what: str, wanted: int, remedy: str) -> None:
    """Refuses what does not fit, before it is tried."""
    free = available_memory()
    if free is not None and wanted > free:
        raise NotEnoughMemoryError(
            f"{what} take {shown_bytes(wanted)}, and {shown_bytes(free)} are available: {remedy}"
        )


def available_memory() -> int | None:
    """The bytes that this process can still get, so far as the system tells."""
    free = [memory(_text("/proc/meminfo"))[0]]
    most, used = (_text(f"/sys/fs/cgroup/memory.{name}").strip() for name in ("max", "current"))
    if most.isdecimal() and used.isdecimal():
        stat = dict(line.split() for line in _text("/sys/fs/cgroup/memory.stat").splitlines())
        free.append(max(0, int(most) - int(used) + int(stat.get("inactive_file", 0))))
    return min((size for size in free if size is not None), default=None)


def memory(text: str) -> tuple[int | None, int | None]:
    """Bytes that are available, and bytes in all, as /proc/meminfo tells them."""
    sizes = {name: value.split()[0] for name, _, value in (line.partition(":") for line in text.splitlines())}

    def size(name: str) -> int | None:
        return int(sizes[name]) * 1024 if name in sizes else None

    return size("MemAvailable"), size("MemTotal")


def shown_bytes(size: int) -> str:
    """A size for reading."""
    for unit, name in ((1e9, "GB"), (1e6, "MB")):
        if size >= unit:
            return f"{size / unit:,.1f} {name}"
    return f"{size / 1e3:.1f} kB"


def _text(path: str) -> str:
    """A file of the system, empty where the system has no such file."""
    file = Path(path)
    return file.read_text(encoding="utf8", errors="replace") if file.is_file() else ""
