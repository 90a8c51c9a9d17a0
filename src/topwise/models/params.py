"""Parameters in the manner of scikit-learn: stored as given, read and set by name, checked in `fit`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, ClassVar, Self


class Params:
    """`get_params`, `set_params` and a readable repr, from the constructor's signature."""

    # Where a parameter is kept, if not under its own name.
    _stored: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments as given. `deep` is there for scikit-learn."""
        return {name: getattr(self, self._stored.get(name, name)) for name in self._names()}

    def set_params(self, **params: Any) -> Self:
        """Changes parameters; takes effect at the next fit."""
        names = self._names()
        for name, value in params.items():
            if name not in names:
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(names)}"
                )
            setattr(self, self._stored.get(name, name), value)
        return self

    def clone(self) -> Self:
        """An unfitted model with the same parameters."""
        return type(self)(**self.get_params())

    def __repr__(self) -> str:
        defaults = {n: p.default for n, p in inspect.signature(type(self).__init__).parameters.items()}
        shown = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if _differs(value, defaults[name])
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


def _differs(value: Any, default: Any) -> bool:
    return value is not default and not (type(value) is type(default) and bool(value == default))


def check_count(name: str, value: Any, least: int = 1) -> None:
    """Refuses what is not a whole number of at least so much."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be a whole number, got {value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}")


def check_above_zero(name: str, value: Any) -> None:
    """Refuses what is not a finite number above 0."""
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise TypeError(f"{name} must be a number, got {value!r}")
    if not 0 < float(value) < float("inf"):
        raise ValueError(f"{name} must be above 0 and finite, got {value}")


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Refuses what is not one of the choices."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")
