"""Runs a table: settings chosen on validation, fits for each seed, measures on test; all of it cached."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from topwise.papers.cache import Cache, code_digest, digest
from topwise.papers.study import Column, Method, Settings, Source, Study, Task
from topwise.papers.verdict import judged, mean_interval, relative

SEEDS = 3


@dataclass
class Runner:
    """One run of one table over all its data sets and seeds."""

    study: Study
    root: Path
    cache: Cache
    seeds: int = SEEDS
    quick: bool = False
    progress: bool | None = None

    def run(self) -> dict[str, Any]:
        """The result as plain data: a table for each data set, and the claims with their verdicts."""
        sources = available(self.study, self.root)
        started = time.perf_counter()
        with _bar(self._cells() * len(sources) * self.seeds, self.progress) as bar:
            tables = [self._table(source, folder, bar) for source, folder in sources]
        return {
            "id": self.study.id,
            "title": self.study.title,
            "document": self.study.document,
            "place": self.study.place,
            "protocol": self.study.protocol,
            "quick": self.quick,
            "seeds": self.seeds,
            "seconds": round(time.perf_counter() - started, 1),
            "tables": tables,
            "claims": judged(self.study, tables),
        }

    def _cells(self) -> int:
        return len(self.study.methods) * len({digest(column.settings) for column in self.study.columns})

    def _table(self, source: Source, folder: Path, bar: Any) -> dict[str, Any]:
        found: dict[tuple[str, str], list[dict[str, Any]]] = {}
        missing: dict[str, str] = {}
        for seed in range(self.seeds):
            task = source.load(folder, seed, self.quick)
            name = digest(task)
            for method, own in self._wanted():
                bar.set_description_str(f"{self.study.id} {source.name}: {method.name}")
                if method.name not in missing:
                    try:
                        cell = self._cell(method, own, task, name)
                        found.setdefault((method.name, digest(own)), []).append(cell)
                    except ImportError as error:
                        missing[method.name] = str(error)
                bar.update(1)
        rows = [self._row(method, source, found, missing) for method in self.study.methods]
        _set_relative(self.study.columns, rows)
        return {
            "data": source.name,
            "stands_for": source.stands_for,
            "original": source.original,
            "rows": rows,
            "size": _size(task),
        }

    def _wanted(self) -> Iterator[tuple[Method, Settings]]:
        """Each method with each of the settings that columns ask for, once."""
        own = {digest(column.settings): column.settings for column in self.study.columns}
        return itertools.product([method for method in self.study.methods if method.fit], own.values())

    def _cell(self, method: Method, own: Settings, task: Task, data: str) -> dict[str, Any]:
        assert method.fit is not None
        code = code_digest(method.fit, self.study.judge)
        base = {**method.settings, **own}
        chosen, tried = self._choose(method, base, task, data, code)
        key = digest("test", self.study.id, method.name, chosen, data, code, task.seed, self.study.refit)
        found = self.cache.get(key)
        if found is None:
            whole = task.whole() if self.study.refit else task
            values = self._measure(method, chosen, whole, whole.test, task.seed)
            found = self.cache.put(key, {"values": values, "settings": _shown(chosen), "tried": tried})
        return dict(found)

    def _choose(
        self, method: Method, base: Settings, task: Task, data: str, code: str
    ) -> tuple[Settings, list[Any]]:
        """The settings that are best on validation; each trial is kept. The choice of one split serves all
        seeds that share it."""
        names = list(method.search)
        grid = [dict(zip(names, point, strict=True)) for point in itertools.product(*method.search.values())]
        if self.quick or len(grid) == 1:
            return {**grid[0], **base}, []
        tried = []
        for point in grid:
            settings = {**point, **base}
            key = digest("validation", self.study.select, method.name, settings, data, code)
            value = self.cache.get(key)
            if value is None:
                measured = self._measure(method, settings, task, task.validation, task.seed)
                value = self.cache.put(key, measured[self.study.select])
            tried.append([_shown(point), value])
        best = (max if self.study.larger else min)(range(len(grid)), key=lambda place: tried[place][1])
        return {**grid[best], **base}, tried

    def _measure(
        self, method: Method, settings: Settings, task: Task, part: Any, seed: int
    ) -> dict[str, Any]:
        started = time.perf_counter()
        assert method.fit is not None
        model = method.fit(task, {**settings, "seed": seed})
        seconds = time.perf_counter() - started
        return {"seconds": seconds, **self.study.judge(model, task, part)}

    def _row(
        self,
        method: Method,
        source: Source,
        found: dict[tuple[str, str], list[dict[str, Any]]],
        missing: dict[str, str],
    ) -> dict[str, Any]:
        published = self.study.published.get(source.stands_for, {}).get(method.name)
        cells: dict[str, Any] = {}
        measured: list[dict[str, Any]] = []
        for place, column in enumerate(self.study.columns):
            runs = found.get((method.name, digest(column.settings)), [])
            measured = runs or measured
            values = [run["values"][column.measure] for run in runs if column.measure in run["values"]]
            paper = published[place] if published and place < len(published) else None
            cells[column.head] = {"published": paper, **_cell_of(values)}
        return {
            "method": method.name,
            "by": method.by,
            "cells": cells,
            "missing": missing.get(method.name),
            "settings": [run["settings"] for run in measured],
            "tried": [run["tried"] for run in measured],
            "search": {name: [_plain(value) for value in values] for name, values in method.search.items()},
            "extra": [
                {name: value for name, value in run["values"].items() if not isinstance(value, int | float)}
                for run in measured
            ],
        }


def available(study: Study, root: Path) -> list[tuple[Source, Path]]:
    """The data sets that are there; the originals alone, if one of them is."""
    if not root.is_dir():
        raise FileNotFoundError(
            f"there is no folder {root}: pass --data, or set TOPWISE_DATA, to the data folder"
        )
    found = [(source, folder) for source in study.sources if (folder := source.folder(root)) is not None]
    originals = [(source, folder) for source, folder in found if source.original]
    if not found:
        names = ", ".join(source.name for source in study.sources)
        raise FileNotFoundError(
            f"{study.id} needs one of {names}, each a folder in {root}: pass --data with the right one"
        )
    return originals or found


def _cell_of(values: list[float]) -> dict[str, Any]:
    if not values:
        return {"values": [], "mean": None, "half": None}
    mean, half = mean_interval(values)
    return {"values": values, "mean": mean, "half": half}


def _set_relative(columns: tuple[Column, ...], rows: list[dict[str, Any]]) -> None:
    """The changes against a base row beside the values themselves."""
    for column in columns:
        base = next((row for row in rows if row["method"] == column.relative_to), None)
        if base is None:
            continue
        for row in rows:
            cell, other = row["cells"][column.head], base["cells"][column.head]["values"]
            if cell["values"] and len(cell["values"]) == len(other):
                mean, half = mean_interval(relative(column, cell["values"], other))
                cell["change"] = {"mean": mean, "half": half}


def _size(task: Task) -> dict[str, int]:
    parts = {"train": task.train, "validation": task.validation, "test": task.test}
    return {name: len(part) for name, part in parts.items() if hasattr(part, "__len__")}


def _shown(settings: Settings) -> dict[str, Any]:
    return {name: _plain(value) for name, value in settings.items()}


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | float | str | None) else repr(value)


def _bar(total: int, show: bool | None) -> Any:
    from tqdm import tqdm

    return tqdm(total=total, unit="run", disable=None if show is None else not show)
