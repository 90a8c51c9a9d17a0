"""Methods by their public names: a row says "Wsabie" or "baselines.SVD" and settings, and no more."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

from topwise.data import Events
from topwise.papers.study import Settings, Task, fitted


@dataclass(frozen=True)
class Model:
    """Fits topwise's class of this name. `roles` are the roles of the log that it may look at, if not all;
    with `validated` it gets the validation events; `content` names other features among the task's extras,
    and "" is none at all; `quick` are settings of a quick run."""

    name: str
    roles: tuple[str, ...] = ()
    validated: bool = False
    content: str | None = None
    quick: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, task: Task, settings: Settings) -> Any:
        model = self.make({**settings, **(self.quick if task.quick else {})})
        features = task.features
        if self.content is not None:
            features = task.extra[self.content] if self.content else {}
        seen = Task(self._seen(task.train), self._seen(task.validation), task.test, features)
        options = {"validation": seen.validation} if self.validated else {}
        if "progress" in signature(model.fit).parameters:
            options["progress"] = False
        return fitted(model, seen, **options)

    def make(self, settings: Settings) -> Any:
        """The model with these settings; without a seed, where nothing in it is random."""
        kind = self.kind()
        return kind(**{k: v for k, v in settings.items() if k != "seed" or k in signature(kind).parameters})

    def kind(self) -> Any:
        """The class; an ImportError where it, or the library that it needs, is not there."""
        home, _, name = f"topwise.{self.name}".rpartition(".")
        try:
            return getattr(importlib.import_module(home), name)
        except AttributeError:
            raise ImportError(f"this version of topwise has no {self.name}") from None

    def _seen(self, log: Any) -> Any:
        return only(log, *self.roles) if self.roles and isinstance(log, Events) else log


@dataclass(frozen=True)
class Mixed(Model):
    """The mix of two factorisations by the class `part`."""

    part: str = "baselines.SVD"

    def make(self, settings: Settings) -> Any:
        gamma = settings["gamma"]
        part = Model(self.part).make({name: value for name, value in settings.items() if name != "gamma"})
        return self.kind()(part, gamma=gamma)


def only(log: Events, *roles: str) -> Events:
    """A log with these contexts alone, and its items."""
    from dataclasses import replace

    kept = {role: log.vocabulary(role) for role in (*roles, "item")}
    gone: dict[str, Any] = {role: None for role in ("user", "query") if role not in roles}
    return replace(log, vocabularies=kept, **gone)


def embedding(name: str, *roles: str, **quick: Any) -> Model:
    """One of the models that are trained in epochs."""
    return Model(name, roles, quick={"epochs": 3, **quick})


def baseline(
    name: str, *roles: str, validated: bool = False, content: str | None = None, **quick: Any
) -> Model:
    """One of the baselines."""
    return Model(f"baselines.{name}", roles, validated, content, quick)
