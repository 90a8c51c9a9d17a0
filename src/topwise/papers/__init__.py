"""The papers' tables and figures, each one a description in data, run again by one command."""

from __future__ import annotations

import difflib
import importlib

from topwise.papers.study import Study

# The files with studies, in the order of the page of results.
_FILES = (
    *("lcr", "lasr", "lgmml", "annotation", "losses"),
    *("retrieval", "orders", "tastes", "eurlex"),
)

__all__ = ["Study", "find", "studies"]


def studies() -> tuple[Study, ...]:
    """Every table and figure whose models this version has, in the order of the documents."""
    found = [importlib.import_module(f"topwise.papers.{name}").STUDIES for name in _FILES]
    return tuple(study for those in found for study in those if _is_here(study))


def _is_here(study: Study) -> bool:
    from topwise.papers.methods import Model

    try:
        return all(Model(name).kind() is not None for name in study.needs)
    except ImportError:
        return False


def find(name: str) -> Study:
    """The table or figure of this id."""
    known = {study.id: study for study in studies()}
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1)
    guess = f"did you mean {near[0]!r}? " if near else ""
    raise ValueError(f"there is no table {name!r}: {guess}see topwise papers list")
