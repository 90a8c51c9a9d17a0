"""What a table or a figure of a paper is, as plain data: rows, columns, sources, and what is claimed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from topwise.data import Events, Features

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Settings: TypeAlias = dict[str, Any]
Values: TypeAlias = dict[str, Any]
Published: TypeAlias = Mapping[str, tuple[float | None, ...]]

OURS = "topwise"


@dataclass(frozen=True)
class Task:
    """One seed's parts of a data set: what a method learns from, what settings are chosen on, what judges.

    `features` go by the names that `fit` has for them; `extra` has what single tables need beside.
    """

    train: Any
    validation: Any
    test: Any
    features: Mapping[str, Features] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    quick: bool = False

    def whole(self) -> Task:
        """The same task with the validation events put back, for the last fit."""
        return replace(self, train=joined(self.train, self.validation))


def fitted(model: Any, task: Task, **options: Any) -> Any:
    """A model fitted on the task's training part, with its features."""
    return model.fit(task.train, **task.features, **options)


def joined(first: Events, second: Events) -> Events:
    """The events of two parts of one log."""
    columns = {}
    for name in ("user", "query", "item", "weight", "time"):
        one, other = getattr(first, name), getattr(second, name)
        if one is not None and other is not None:
            columns[name] = _stacked(one, other)
    return replace(first, **columns)


def _stacked(one: Any, other: Any) -> Any:
    import numpy as np

    return np.concatenate([one, other])


@dataclass(frozen=True)
class Source:
    """A data set: a folder of this name (or of one of `also`) in the data folder, and how it becomes a task.

    `stands_for` names the data of the paper that cannot be had or does not fit here; an `original` is that
    data itself, and is taken in place of all stand-ins where it is there.
    """

    name: str
    load: Callable[[Path, int, bool], Task]
    stands_for: str = ""
    also: tuple[str, ...] = ()
    original: bool = False

    def folder(self, root: Path) -> Path | None:
        """Where it is, if it is there."""
        return next((root / name for name in (self.name, *self.also) if (root / name).is_dir()), None)


@dataclass(frozen=True)
class Method:
    """A row: how it is fitted, by whom, and which settings are tried on validation. Without `fit` it has what
    was published, and no more.

    `fit` takes a task and settings, among them the seed, and returns what the study's `judge` can judge.
    """

    name: str
    fit: Callable[[Task, Settings], Any] | None
    by: str = OURS
    settings: Settings = field(default_factory=dict)
    search: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Column:
    """A column: a measure, how it is shown, and settings that differ from the other columns.

    `form` is "percent" (of a share), "points" (what is in percent already), "decimal", "rank", "seconds", or
    "relative", the change against the row `relative_to`.
    """

    head: str
    measure: str
    form: str = "percent"
    larger: bool = True
    relative_to: str = ""
    settings: Settings = field(default_factory=dict)


@dataclass(frozen=True)
class Claim:
    """What the paper says of its table: in each of `columns` (all, if none is named) the row `better` beats
    each row of `than` by the factor `by`, or the same row in the column `over`.
    """

    text: str
    better: str
    than: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    over: str = ""
    by: float = 1.0


@dataclass(frozen=True)
class Study:
    """A table or a figure. `published` has, for each data set of the paper, a row of numbers a method.

    `judge` gives the measures of a fitted method on a part of the task; `select` is the measure that settings
    are chosen by; with `refit` the last fit has the validation events too. `needs` names the models without
    which there is no table.
    """

    id: str
    title: str
    document: str
    place: str
    sources: tuple[Source, ...]
    columns: tuple[Column, ...]
    methods: tuple[Method, ...]
    judge: Callable[[Any, Task, Any], Values]
    select: str
    protocol: str
    published: Mapping[str, Published] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    picture: Callable[[Figure, dict[str, Any]], None] | None = None
    refit: bool = False
    larger: bool = True
    needs: tuple[str, ...] = ()

    def method(self, name: str) -> Method:
        """The row of this name."""
        return next(method for method in self.methods if method.name == name)
