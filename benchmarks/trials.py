"""The quality trials: public logs, the splits that every side gets, and one measure for any scorer.

Quality is compared on three logs of different shape: dense (MovieLens-1M, ratings of 4 and more), sparse
(amazon-beauty-seq) and with strengths (lastfm-hetrec2011 plays). A trial is a random 80/20 split of the
distinct (user, item) pairs; settings are chosen on a tenth of its train part and never on its test part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy import sparse

from topwise import datasets
from topwise.data import Events

Ints = npt.NDArray[np.integer[Any]]
Floats = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]

TEST_SHARE = 0.2
VALIDATION_SHARE = 0.1
VALIDATION_SEED = 100
SEEDS = (0, 1, 2)
CUTOFF = 10

LOGS: dict[str, Callable[[Path], datasets.Dataset]] = {
    "movielens-1m": lambda root: datasets.movielens_1m(root / "movielens-1m"),
    "amazon-beauty": lambda root: datasets.amazon_beauty(root / "amazon-beauty-seq" / "beauty.txt"),
    "lastfm-hetrec": lambda root: datasets.lastfm_hetrec(root / "lastfm-hetrec2011"),
}


def read(name: str, root: Path) -> Events:
    """The first event of each (user, item) pair of a log, in the order of the file."""
    log = LOGS[name](root).log
    pairs = log.codes("user").astype(np.int64) * log.n("item") + log.item
    return log.take(np.sort(np.unique(pairs, return_index=True)[1]))


@dataclass(frozen=True, eq=False)
class Trial:
    """One split of distinct pairs: what a side learns from, and what it must put on top.

    The rows and columns of the matrices are the codes of the log, those of users and items that are only in
    test among them.
    """

    log: Events
    in_train: Mask
    in_test: Mask

    @classmethod
    def random(cls, log: Events, seed: int) -> Trial:
        """A random fifth of the pairs is the test part."""
        test = np.random.default_rng(seed).random(len(log)) < TEST_SHARE
        return cls(log, ~test, test)

    def validation(self) -> Trial:
        """The trial on which settings are chosen: a tenth of the train part is held out in place of test."""
        known = np.flatnonzero(self.in_train)
        held = np.random.default_rng(VALIDATION_SEED).random(len(known)) < VALIDATION_SHARE
        in_train, in_test = np.zeros((2, len(self.log)), dtype=np.bool_)
        in_train[known[~held]] = True
        in_test[known[held]] = True
        return Trial(self.log, in_train, in_test)

    @cached_property
    def train(self) -> sparse.csr_array:
        return self._matrix(self.in_train, np.ones(len(self.log), dtype=np.float32))

    @cached_property
    def strengths(self) -> sparse.csr_array:
        """The train part with the log's weights, where it has them."""
        return self.train if self.log.weight is None else self._matrix(self.in_train, self.log.weight)

    @cached_property
    def test(self) -> sparse.csr_array:
        return self._matrix(self.in_test, np.ones(len(self.log), dtype=np.float32))

    @property
    def users(self) -> Ints:
        """Users with something held out: the ones that are measured."""
        return np.flatnonzero(np.diff(self.test.indptr))

    def _matrix(self, chosen: Mask, values: Floats) -> sparse.csr_array:
        at = (self.log.codes("user")[chosen], self.log.item[chosen])
        matrix = sparse.csr_array((values[chosen], at), shape=(self.log.n("user"), self.log.n("item")))
        matrix.sort_indices()
        return matrix


class Scorer(Protocol):
    """Anything that can score every item for some users, both given by their codes."""

    def scores(self, users: Ints) -> Floats:
        """One row a user, one column an item; larger is better. The caller may overwrite the array."""
        ...


@dataclass(frozen=True)
class Quality:
    """Means over users at a cut of 10. `capped` is recall with min(10, |test|) below; `recall` has |test|."""

    recall: float
    capped: float
    ndcg: float

    @classmethod
    def mean(cls, several: Iterable[Quality]) -> Quality:
        table = np.array([(one.recall, one.capped, one.ndcg) for one in several])
        return cls(*table.mean(axis=0).tolist())


def measure(scorer: Scorer, trial: Trial, users: Ints | None = None, block: int = 256) -> Quality:
    """Rank the whole catalogue without the known positives, for all users of the trial or some of them."""
    users = trial.users if users is None else users
    gains = []
    for start in range(0, len(users), block):
        some = users[start : start + block]
        board = scorer.scores(some)
        if not np.isfinite(board).all():
            raise ValueError("scores hold NaN or infinity: the model has diverged, lower its learning rate")
        for user, scores in zip(some, board, strict=True):
            scores[_row(trial.train, user)] = -np.inf
            gains.append(_gains(places(scores, _row(trial.test, user))))
    return Quality.mean(gains)


def places(scores: Floats, targets: Ints) -> npt.NDArray[np.float64]:
    """The place of each target from 1; among equal scores, the mean of the best and the worst place."""
    above = [np.count_nonzero(scores > score) for score in scores[targets]]
    equal = [np.count_nonzero(scores == score) for score in scores[targets]]
    return np.asarray(above) + (np.asarray(equal) + 1) / 2


def _gains(found: npt.NDArray[np.float64]) -> Quality:
    """The ideal puts the targets at the first places, so its gain is a sum over min(10, |test|) of them."""
    reachable = min(CUTOFF, len(found))
    top = found[found <= CUTOFF]
    ideal = (1 / np.log2(np.arange(2, reachable + 2))).sum()
    return Quality(len(top) / len(found), len(top) / reachable, (1 / np.log2(top + 1)).sum() / ideal)


def _row(matrix: sparse.csr_array, row: int) -> Ints:
    found: Ints = matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]
    return found
