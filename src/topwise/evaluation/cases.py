"""What a test log asks of a model: for each context, which items are relevant and which do not count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from topwise.data import Csr, Events, Vocabulary

Ids: TypeAlias = npt.NDArray[Any]
Integers: TypeAlias = npt.NDArray[np.int64]
Excluded: TypeAlias = Events | Sequence[Events] | None


@dataclass(frozen=True, eq=False)
class Cases:
    """The contexts of a test log, one a row, against a catalogue of items.

    `contexts` has the ids of each role. `targets` are the relevant items and `excluded` those that are left
    out of a context's list, in the catalogue's codes; `relevant` counts the targets together with the
    relevant items that the catalogue lacks.
    """

    contexts: dict[str, Ids]
    targets: Csr
    excluded: Csr
    relevant: Integers
    unseen_items: int
    excluded_events: int
    repeated_events: int

    def __len__(self) -> int:
        return len(self.relevant)

    @classmethod
    def from_log(
        cls, test: Events, roles: Sequence[str], catalogue: Vocabulary, exclude: Excluded = None
    ) -> Cases:
        """The cases of a test log, without events that `exclude` has as well, and repeated ones once."""
        check_log("test", test, roles)
        _check_test(test, roles)
        pairs = Pairs(test, roles, catalogue)
        known = pairs.known(exclude)
        asked = pairs.keys(test)
        asked.sort()
        fresh = asked[~_is_among(asked, known)]
        if len(fresh) == 0:
            raise ValueError(
                f"nothing is left to evaluate, since exclude has all of the {len(test)} test events: "
                "leave exclude out, or part the log so that they do not overlap"
            )
        wanted = _first_of_each(fresh)
        row, item = np.divmod(wanted, pairs.width)
        relevant = np.bincount(row, minlength=len(pairs.contexts))
        used = np.flatnonzero(relevant)
        return cls(
            contexts=pairs.context_ids(used),
            targets=pairs.rows(wanted, used),
            excluded=pairs.rows(known, used),
            relevant=relevant[used].astype(np.int64),
            unseen_items=len(np.unique(item[item >= len(catalogue)])),
            excluded_events=len(asked) - len(fresh),
            repeated_events=len(fresh) - len(wanted),
        )


class Pairs:
    """One number, a key, for each pair of a test log's context and an item.

    Contexts are counted from 0, in the order of their codes. Items have the codes of the catalogue; those of
    the test log that it lacks follow behind. So sorted keys are sparse rows.
    """

    def __init__(self, test: Events, roles: Sequence[str], catalogue: Vocabulary) -> None:
        self.vocabularies = {role: test.vocabulary(role) for role in roles}
        self.test_items = test.vocabulary("item")
        self.catalogue = catalogue
        self.width = len(catalogue) + len(self.test_items)
        self.contexts = np.unique(self._context_codes(test))

    def keys(self, log: Events) -> Integers:
        """The keys of a log's events, without those of other contexts or unknown items."""
        context, item = self._context_rows(log), self._item_codes(log)
        keys = context * self.width + item
        known = (context >= 0) & (item >= 0)
        return keys if known.all() else keys[known]

    def known(self, exclude: Excluded) -> Integers:
        """The distinct keys of the logs that are left out, sorted."""
        logs = _exclude_logs(exclude, tuple(self.vocabularies))
        keys = np.concatenate([np.empty(0, dtype=np.int64), *map(self._excluded_keys, logs)])
        keys.sort()
        return _first_of_each(keys)

    def _excluded_keys(self, log: Events) -> Integers:
        """The keys of a log; one without a role speaks of all contexts of its users, or queries."""
        missing = [role for role in self.vocabularies if role not in log.roles]
        if not missing:
            return self.keys(log)
        (role,) = (role for role in self.vocabularies if role in log.roles)
        codes = dict(zip(self.vocabularies, self._codes_of(self.contexts), strict=True))[role]
        own = _translation(log.vocabulary(role), self.vocabularies[role])[log.codes(role)]
        item = self._item_codes(log)
        known = (own >= 0) & (item >= 0)
        shape = (len(self.vocabularies[role]), self.width)
        items = Csr.from_coordinates(own[known], item[known], shape).take(codes)
        return items.row_of_entries() * self.width + items.indices

    def rows(self, keys: Integers, used: Integers) -> Csr:
        """The catalogue's items of the used contexts, from sorted and distinct keys."""
        row, item = np.divmod(keys, self.width)
        inside = item < len(self.catalogue)
        if not inside.all():
            row, item = row[inside], item[inside]
        indptr = np.zeros(len(self.contexts) + 1, dtype=np.int64)
        np.cumsum(np.bincount(row, minlength=len(self.contexts)), out=indptr[1:])
        rows = Csr(indptr, item.astype(np.int32), len(self.catalogue))
        return rows if len(used) == len(rows) else rows.take(used)

    def context_ids(self, used: Integers) -> dict[str, Ids]:
        """The ids of some contexts, for each role."""
        codes = self._codes_of(self.contexts[used])
        named = zip(self.vocabularies.items(), codes, strict=True)
        return {role: vocabulary.ids[own] for (role, vocabulary), own in named}

    def _codes_of(self, contexts: Integers) -> list[Integers]:
        """The codes of each role, in their order."""
        parts = []
        for vocabulary in reversed(self.vocabularies.values()):
            contexts, own = np.divmod(contexts, len(vocabulary))
            parts.append(own)
        return parts[::-1]

    def _context_codes(self, log: Events) -> Integers:
        """The codes of all roles as one number, -1 where one of them is unknown."""
        codes = np.zeros(len(log), dtype=np.int64)
        for role, vocabulary in self.vocabularies.items():
            own = _translation(log.vocabulary(role), vocabulary)[log.codes(role)]
            codes = np.where((codes < 0) | (own < 0), -1, codes * len(vocabulary) + own)
        return codes

    def _context_rows(self, log: Events) -> Integers:
        codes = self._context_codes(log)
        if len(self.vocabularies) > 1:
            row = np.minimum(np.searchsorted(self.contexts, codes), len(self.contexts) - 1)
            return np.where(self.contexts[row] == codes, row, -1)
        (vocabulary,) = self.vocabularies.values()
        row_of = np.full(len(vocabulary) + 1, -1)
        row_of[self.contexts] = np.arange(len(self.contexts))
        return row_of[codes]

    def _item_codes(self, log: Events) -> Integers:
        vocabulary = log.vocabulary("item")
        code = _translation(vocabulary, self.catalogue)
        missing = np.flatnonzero(code[:-1] < 0)
        if len(missing):
            behind = _translation(vocabulary, self.test_items)[missing]
            code[missing] = np.where(behind < 0, -1, len(self.catalogue) + behind)
        return code[log.item]


def _translation(source: Vocabulary, target: Vocabulary) -> Integers:
    """The code in one vocabulary of each code in another; the last entry answers for -1, an unknown id."""
    same = source is target or (len(source) == len(target) and np.array_equal(source.ids, target.ids))
    return np.append(np.arange(len(source)) if same else target.codes(source.ids), -1)


def _first_of_each(ordered: Integers) -> Integers:
    return ordered[np.diff(ordered, prepend=-1) > 0]


def _is_among(wanted: Integers, ordered: Integers) -> npt.NDArray[np.bool_]:
    if len(ordered) == 0:
        return np.zeros(len(wanted), dtype=bool)
    found = ordered[np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)] == wanted
    return np.asarray(found)


def _exclude_logs(exclude: Excluded, roles: Sequence[str]) -> list[Events]:
    if exclude is None:
        return []
    logs = [exclude] if isinstance(exclude, Events) or not isinstance(exclude, Sequence) else list(exclude)
    for log in logs:
        check_log("exclude", log)
        if not any(role in log.roles for role in roles):
            check_log("exclude", log, roles)
    return logs


def check_log(name: str, log: Any, roles: Sequence[str] = ()) -> None:
    """Refuses what is not a log of events with these roles."""
    if not isinstance(log, Events):
        raise TypeError(
            f"{name} must be a log of events, got {type(log).__name__}: make one by Events.from_frame"
        )
    for role in roles:
        if role not in log.roles:
            raise ValueError(f"{name} must have the role {role!r}, a part of the contexts; {log!r} has not")


def _check_test(test: Events, roles: Sequence[str]) -> None:
    if len(test) == 0:
        raise ValueError("test must have at least one event, got none")
    for role in (*roles, "item"):
        unknown = int(np.count_nonzero(test.codes(role) < 0))
        if unknown:
            raise ValueError(
                f"{unknown} events of test have an unknown {role}, of which the id is lost: "
                f"take the others first, by test.take(test.{role} >= 0)"
            )
