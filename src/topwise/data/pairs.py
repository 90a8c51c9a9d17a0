"""Contexts of two roles: the pairs of a user and a query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from topwise.data.csr import Csr
from topwise.data.events import Events
from topwise.data.vocabulary import Codes


@dataclass(frozen=True, eq=False)
class Pairs:
    """Distinct pairs, numbered by their user's code and then by their query's."""

    users: Codes
    queries: Codes
    n_queries: int

    @classmethod
    def of(cls, log: Events) -> Pairs:
        """The pairs of a log, without those of an unknown user or query."""
        n_queries = max(log.n("query"), 1)
        keys = _keys(log.codes("user"), log.codes("query"), n_queries)
        user, query = np.divmod(np.unique(keys[keys >= 0]), n_queries)
        return cls(user.astype(np.int32), query.astype(np.int32), n_queries)

    def __len__(self) -> int:
        return len(self.users)

    def find(self, users: npt.NDArray[Any], queries: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """The numbers of pairs of codes, -1 for those that are not among these."""
        wanted = _keys(users, queries, self.n_queries)
        keys = _keys(self.users, self.queries, self.n_queries)
        place = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
        return np.where((keys[place] if len(keys) else -2) == wanted, place, -1)

    def matrix(self, log: Events) -> Csr:
        """The set of items of each pair in a log that shares the vocabularies."""
        rows, columns = self.find(log.codes("user"), log.codes("query")), log.item
        known = (rows >= 0) & (columns >= 0)
        return Csr.from_coordinates(rows[known], columns[known], (len(self), log.n("item")))


def _keys(users: npt.NDArray[Any], queries: npt.NDArray[Any], n_queries: int) -> npt.NDArray[np.int64]:
    keys = users.astype(np.int64) * n_queries + queries
    return np.where((users < 0) | (queries < 0), -1, keys)
