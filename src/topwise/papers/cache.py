"""Results kept by content: the same settings, data and code are not measured twice."""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from topwise import __version__


def digest(*things: Any) -> str:
    """A short name for the content of arrays, logs, features, settings and functions."""
    state = hashlib.blake2b(digest_size=12)
    for thing in things:
        _feed(state, thing)
    return state.hexdigest()


def code_digest(*things: Any) -> str:
    """A name for the version of the package, the source of the modules that these objects come from, and what
    functions among them were made with."""
    modules = {inspect.getmodule(thing if inspect.isroutine(thing) else type(thing)) for thing in things}
    modules |= {inspect.getmodule(thing.kind()) for thing in things if hasattr(thing, "kind")}
    names = sorted(module.__name__ for module in modules if module is not None)
    sources = [inspect.getsource(sys.modules[name]) for name in names]
    return digest(__version__, sources, [_enclosed(thing) for thing in things])


def _enclosed(value: Any) -> Any:
    """What a function has from around it, so far as it cannot change: the metrics of a judge, say."""
    if isinstance(value, tuple):
        return [_enclosed(each) for each in value]
    if inspect.isfunction(value):
        return [_enclosed(cell.cell_contents) for cell in value.__closure__ or ()]
    return value if isinstance(value, str | bool | int | float | None) else None


def _feed(state: Any, thing: Any) -> None:
    state.update(type(thing).__name__.encode() + b"\0")
    if isinstance(thing, np.ndarray):
        state.update(str((thing.dtype, thing.shape)).encode())
        state.update(repr(thing.tolist()).encode() if thing.dtype == object else np.ascontiguousarray(thing))
    elif isinstance(thing, Mapping):
        for key in sorted(thing, key=str):
            _feed(state, key)
            _feed(state, thing[key])
    elif isinstance(thing, list | tuple):
        for part in thing:
            _feed(state, part)
    elif is_dataclass(thing) and not isinstance(thing, type):
        for part in fields(thing):
            _feed(state, getattr(thing, part.name))
    elif hasattr(thing, "tocoo"):
        coo = thing.tocoo()
        _feed(state, [np.asarray(coo.row), np.asarray(coo.col), np.asarray(coo.data), list(coo.shape)])
    elif hasattr(thing, "ids") and isinstance(thing.ids, np.ndarray):  # a vocabulary
        _feed(state, thing.ids)
    elif thing is None or isinstance(thing, str | bytes | bool | int | float | np.generic):
        state.update(repr(thing).encode())
    else:
        raise TypeError(
            f"a result cannot be kept by a {type(thing).__name__}: pass arrays, texts and numbers"
        )


class Cache:
    """A folder with a file a result. A file that was not written to its end does not count."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.hits = 0

    def get(self, key: str) -> Any:
        """What was kept by this key, or None."""
        path = self.folder / f"{key}.json"
        try:
            found = json.loads(path.read_text(encoding="utf8"))
        except (FileNotFoundError, json.JSONDecodeError):
            return None
        self.hits += 1
        return found

    def put(self, key: str, value: Any) -> Any:
        """Keeps a result, and gives it as it will be read again."""
        self.folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(value, default=_plain)
        beside = self.folder / f"{key}.part"
        beside.write_text(text, encoding="utf8")
        beside.replace(self.folder / f"{key}.json")
        return json.loads(text)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"a result must be numbers, texts and lists, got {type(value).__name__}")
