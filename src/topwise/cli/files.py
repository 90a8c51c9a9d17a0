"""Files that are whole or not there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """A path beside the wanted one, to write to; it takes the wanted name when all went well."""
    wanted = Path(path)
    check_writable(wanted)
    handle, name = tempfile.mkstemp(prefix=f".{wanted.name}.", dir=wanted.parent)
    os.close(handle)
    beside = Path(name)
    try:
        yield beside
        umask = os.umask(0)
        os.umask(umask)
        beside.chmod(0o666 & ~umask)
        beside.replace(wanted)
    finally:
        beside.unlink(missing_ok=True)


def check_writable(path: str | Path) -> None:
    """Refuses a path that cannot be written to, before hours of work for it."""
    wanted = Path(path)
    if wanted.is_dir():
        raise IsADirectoryError(f"{wanted} is a directory: give the name of a file in it")
    if not wanted.parent.is_dir():
        raise FileNotFoundError(f"there is no directory {wanted.parent} for {wanted.name}: make it first")
    if not os.access(wanted.parent, os.W_OK):
        raise PermissionError(f"{wanted} cannot be written: no permission for the directory {wanted.parent}")
