"""The data that tables run on: folders of public sets, each made into a task by one of the protocols."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from topwise import datasets
from topwise.data import Csr, Events
from topwise.features.weighting import unit_rows
from topwise.papers.label_names import titles_of
from topwise.papers.protocols import compact, examples, leave_five_out, some_contexts
from topwise.papers.study import Source, Task

QUICK_ROWS, QUICK_USERS = 700, 300


# --- labelled examples ----------------------------------------------------------------------------------


def labelled(x: Csr, y: Csr, is_test: Any, seed: int, quick: bool, **extra: Any) -> Task:
    """Examples with labels: those of the test apart, a tenth of the others (another one for each seed) to
    choose by. Examples without a label neither teach nor judge."""
    rng = np.random.default_rng(seed)
    taught = np.flatnonzero(~np.asarray(is_test))
    test = np.flatnonzero(is_test)
    if quick:
        taught, test = taught[:QUICK_ROWS], test[: QUICK_ROWS // 3]
    features, log = examples(x, y)
    held = np.isin(taught, rng.permutation(taught)[: max(1, len(taught) // 10)])

    def events(rows: Any) -> Events:
        return log.take(np.isin(y.row_of_entries(), rows))

    return Task(
        events(taught[~held]),
        events(taught[held]),
        events(test),
        {"query_features": replace(features, matrix=x)},
        extra,
        seed,
        quick,
    )


def _stacked(parts: Sequence[tuple[Csr, Csr]]) -> tuple[Csr, Csr, Any]:
    """Training and test rows in one matrix, and which of them are test."""
    (x, y), (x_test, y_test) = parts
    is_test = np.arange(len(x) + len(x_test)) >= len(x)
    return _on_top(x, x_test), _on_top(y, y_test), is_test


def _on_top(one: Csr, other: Csr) -> Csr:
    indptr = np.concatenate([one.indptr, one.indptr[-1] + other.indptr[1:]])
    values = None
    if one.values is not None and other.values is not None:
        values = np.concatenate([one.values, other.values])
    return Csr(indptr, np.concatenate([one.indices, other.indices]), one.n_cols, values)


def _eurlex(folder: Path, seed: int, quick: bool) -> Task:
    x, y, is_test = _stacked(
        [datasets.multilabel(folder / f"eurlex_{part}.txt") for part in ("train", "test")]
    )
    return labelled(unit(damped(x)), y, is_test, seed, quick)


def unit(x: Csr) -> Csr:
    """Rows of length 1."""
    return Csr.from_scipy(unit_rows(x.to_scipy()))


def damped(x: Csr) -> Csr:
    """The square roots of counts and of tf-idf values, so that no single word rules a row."""
    values = x.values if x.values is not None else np.ones(x.nnz, dtype=np.float32)
    return Csr(x.indptr, x.indices, x.n_cols, np.sqrt(values))


def _mulan(stem: str, labels: int, ending: str = "") -> Callable[[Path, int, bool], Task]:
    def load(folder: Path, seed: int, quick: bool) -> Task:
        parts = [
            datasets.mulan_arff(folder / f"{stem}-{part}{ending}.arff", labels) for part in ("train", "test")
        ]
        x, y, is_test = _stacked(parts)
        return labelled(unit(x), y, is_test, seed, quick, titles=titles_of(folder / f"{stem}.xml"))

    return load


def _questions(folder: Path, seed: int, quick: bool) -> Task:
    """The published file has no split: a fifth, the same one always, is the test."""
    x, y = datasets.multilabel(folder / "data.txt")
    is_test = np.random.default_rng(20).random(len(x)) < 0.2
    return labelled(unit(damped(x)), y, is_test, seed, quick, titles=titles_of(folder / "labels.txt"))


def corel5k(stands_for: str = "") -> Source:
    """Photographs as visual words, 374 annotations."""
    return Source("corel5k", _mulan("Corel5k", 374, "-sparse"), stands_for)


def delicious(stands_for: str = "") -> Source:
    """Bookmarked pages, 983 tags."""
    return Source("delicious", _mulan("delicious", 983), stands_for)


def eurlex(stands_for: str = "") -> Source:
    """European law, 3,993 subjects."""
    return Source("eurlex-4k", _eurlex, stands_for)


def cooking(stands_for: str = "") -> Source:
    """Questions about cooking, 400 tags."""
    return Source("stackexchange-cooking", _questions, stands_for)


# --- users and items ------------------------------------------------------------------------------------


def leave_five(load: Callable[[Path], datasets.Dataset]) -> Callable[[Path, int, bool], Task]:
    """A log of users with more than ten items, of whom five are left out to judge by."""

    def task(folder: Path, seed: int, quick: bool) -> Task:
        found = load(folder)
        log = replace(found.log, weight=None)
        counts = np.bincount(log.codes("user"))
        log = compact(log.take(counts[log.codes("user")] > 15))
        if quick:
            log = some_contexts(log, QUICK_USERS)
        train, validation, test = leave_five_out(log, seed)
        return Task(
            train, validation, test, extra={"titles": dict(found.item_titles)}, seed=seed, quick=quick
        )

    return task


def lastfm(stands_for: str = "") -> Source:
    """Users and the artists that they played."""
    return Source("lastfm-hetrec2011", leave_five(datasets.lastfm_hetrec), stands_for)


def movielens(stands_for: str = "") -> Source:
    """Users and the films that they gave four stars or five."""
    return Source("movielens-1m", leave_five(datasets.movielens_1m), stands_for)


def articles(stands_for: str = "") -> Source:
    """Users and the scientific articles that they kept: the largest of these catalogues."""
    return Source("citeulike-a", leave_five(datasets.citeulike), stands_for)
