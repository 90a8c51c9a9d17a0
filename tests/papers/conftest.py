"""A folder of labelled examples in the published format, and a small table that runs on it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from examples_file import write_examples

from topwise import datasets, losses
from topwise.papers.methods import Model, embedding
from topwise.papers.protocols import lists
from topwise.papers.sources import labelled
from topwise.papers.study import Claim, Column, Method, Source, Study, Task


def load(folder: Path, seed: int, quick: bool) -> Task:
    x, y = datasets.multilabel(folder / "data.txt")
    return labelled(x, y, np.arange(len(x)) % 4 == 0, seed, quick)


def wsabie(name: str, **settings: object) -> Method:
    return Method(name, embedding("Wsabie"), settings={"dim": 8, "epochs": 6, "threads": 1, **settings})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder with one set in it."""
    (tmp_path / "data" / "small").mkdir(parents=True)
    write_examples(tmp_path / "data" / "small" / "data.txt")
    return tmp_path / "data"


@pytest.fixture
def study() -> Study:
    """Wsabie by two losses, one of them with a choice, beside something that is not there."""
    return Study(
        id="small-1",
        title="a small table",
        document="A Paper",
        place="Table 1",
        sources=(Source("small", load, "a large set"),),
        columns=(
            Column("P@1", "precision@1"),
            Column("change", "precision@1", "relative", relative_to="AUC"),
            Column("dim 2", "precision@1", settings={"dim": 2}),
            Column("time", "seconds", "seconds", larger=False),
        ),
        methods=(
            wsabie("AUC", loss=losses.AUC(), max_norm=0.02),
            Method(
                "WARP",
                embedding("Wsabie"),
                settings={"loss": losses.WARP(), "dim": 8, "epochs": 6, "threads": 1},
                search={"max_norm": (0.01, 1.5)},
            ),
            Method("absent", Model("NoSuchModel"), by="a library"),
        ),
        judge=lists("precision@1", exclude=False),
        select="precision@1",
        protocol="A quarter is the test.",
        published={"a large set": {"AUC": (0.047, None), "WARP": (0.119, 1.5)}},
        claims=(
            Claim("WARP is better than AUC", "WARP", ("AUC",), ("P@1",)),
            Claim("Two dimensions are enough", "WARP", (), ("dim 2",), "P@1"),
            Claim("absent is better", "absent", ("AUC",)),
        ),
    )
