"""What a baseline is fitted with: a log and features, checked, in the codes of its vocabularies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from topwise.data import Events, Features, Vocabulary
from topwise.models.params import check_choice
from topwise.models.side import _united

if TYPE_CHECKING:
    from topwise.baselines.base import Baseline

Sparse: TypeAlias = Any  # scipy's csr_array

VALUES = ("binary", "count", "log")


@dataclass(frozen=True, eq=False)
class Training:
    """A log and its features. Events of weight 0, and of an unknown id, teach nothing and are left out."""

    log: Events
    roles: tuple[str, ...]
    vocabularies: Mapping[str, Vocabulary]
    features: Mapping[str, Features | None]
    validation: Events | None

    @classmethod
    def of(
        cls,
        model: Baseline,
        train: Events,
        validation: Events | None,
        features: Mapping[str, Features | None],
    ) -> Training:
        """What a baseline asks for, or an error that says what is wrong with it."""
        _check_logs(train, validation)
        for role, given in features.items():
            if given is not None and not isinstance(given, Features):
                raise TypeError(f"{role}_features must be tw.Features, got {type(given).__name__}")
        roles = model._roles_of(train, features)
        _check_features(model, roles, features)
        log = train.take(_teaching(train, (*roles, "item")))
        if len(log) == 0:
            raise ValueError("train must have at least one event with a weight above 0, got none")
        vocabularies = {}
        for role in (*roles, "item"):
            own, content = log.vocabulary(role), features[role]
            vocabularies[role] = own if content is None else _united(own, content.vocabulary)
        return cls(log, roles, vocabularies, features, validation)

    def has_events(self, role: str) -> npt.NDArray[np.bool_]:
        """Whether each id of a role has an event to learn from."""
        counts = np.bincount(self.log.codes(role), minlength=len(self.vocabularies[role]))
        return np.asarray(counts > 0)

    def interactions(self, values: str = "binary") -> Sparse:
        """Contexts × items: 1 for a known pair, the sum of its weights, or log(1 + that sum)."""
        from scipy.sparse import csr_array

        (role,) = self.roles
        shape = (len(self.vocabularies[role]), len(self.vocabularies["item"]))
        weight = self.log.weight if self.log.weight is not None else np.ones(len(self.log), dtype=np.float32)
        matrix = csr_array((weight.astype(np.float64), (self.log.codes(role), self.log.item)), shape=shape)
        matrix.sum_duplicates()
        if values == "binary":
            matrix.data[:] = 1
        elif values == "log":
            matrix.data = np.log1p(matrix.data)
        return matrix.astype(np.float32)

    def content(self, role: str) -> Sparse:
        """The rows of features of each id of a role, empty for one without."""
        given = self.features[role]
        assert given is not None
        return narrow(given.rows(self.vocabularies[role]).to_scipy())

    @property
    def role(self) -> str:
        """The role of contexts that are of one role."""
        (role,) = self.roles
        return role


def narrow(rows: Sparse) -> Sparse:
    """The same rows with indices of 32 bits, which are faster, and all that some libraries take."""
    if rows.nnz < 2**31 and rows.indices.dtype != np.int32:
        rows.indices, rows.indptr = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
    return rows


def check_values(values: str) -> None:
    """Refuses what is no way to fill a matrix of interactions."""
    check_choice("values", values, VALUES)


def _check_logs(train: Events, validation: Events | None) -> None:
    if not isinstance(train, Events):
        raise TypeError(f"train must be a log of events (tw.Events), got {type(train).__name__}")
    if len(train) == 0:
        raise ValueError("train must have at least one event, got an empty log")
    if validation is not None and not isinstance(validation, Events):
        raise TypeError(f"validation must be a log of events (tw.Events), got {type(validation).__name__}")


def _check_features(model: Baseline, roles: tuple[str, ...], features: Mapping[str, Features | None]) -> None:
    name = type(model).__name__
    for role, given in features.items():
        side = "item" if role == "item" else "context"
        if given is None:
            if side in model.needs and role in (*roles, "item"):
                raise ValueError(f"{name} needs the features of its {_plural(role)}: pass {role}_features=")
        elif side not in model.uses:
            raise ValueError(f"{name} has no use for features of {_plural(role)}: leave {role}_features out")
        elif role not in (*roles, "item"):
            raise ValueError(
                f"{role}_features were given, but the contexts of this {name} are of the role {roles[0]!r}"
            )
    first, second = features[roles[0]], features["item"]
    if first is not None and second is not None and first.names != second.names:
        raise ValueError(
            f"{name} compares contexts with items by their content, so both need the same columns, "
            f"got {len(first.names)} and {len(second.names)}"
        )


def _teaching(log: Events, roles: tuple[str, ...]) -> npt.NDArray[np.bool_]:
    teaching = np.ones(len(log), dtype=bool) if log.weight is None else log.weight > 0
    for role in roles:
        teaching &= log.codes(role) >= 0
    return np.asarray(teaching)


def _plural(role: str) -> str:
    return "queries" if role == "query" else f"{role}s"
