"""What every loader returns, and how loaders find their files."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from topwise.data import Events, Features


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A public log with what is published beside it.

    `truth` is what a generator planted, for measuring how much of it a model finds again.
    """

    log: Events
    description: str
    item_titles: Mapping[Any, str]
    item_features: Features | None = None
    user_features: Features | None = None
    truth: Mapping[str, npt.NDArray[np.generic]] | None = None

    def __repr__(self) -> str:
        return f"Dataset({self.description}: {self.log})"


def find_file(root: str | Path, name: str, origin: str) -> Path:
    """The file `name` or `name`.gz in a folder, or an error that says where to get it."""
    folder = Path(root)
    for candidate in (folder / name, folder / f"{name}.gz"):
        if candidate.is_file():
            return candidate
    raise FileNotFoundError(
        f"there is no {name} (nor {name}.gz) in {folder}: get the data from {origin}, "
        "unpack it, and pass the folder that holds this file as root="
    )


def read_lines(file: Path) -> list[str]:
    """The lines of a text file, gzip or not."""
    data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    # Not by splitlines, which also breaks at rarer characters that names of attributes contain.
    return data.decode("utf8", errors="replace").replace("\r\n", "\n").split("\n")


def existing(path: str | Path, origin: str) -> Path:
    """The file `path`, or `path`.gz, or an error that says where to get it."""
    return find_file(Path(path).parent, Path(path).name, origin)
