"""A generated log as large as Last.fm-1K, for measuring speed and memory where the catalogue is large."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from topwise.data import Events, Vocabulary
from topwise.data.columns import NANOSECONDS
from topwise.datasets.base import Dataset

_N_TASTES = 400
_TASTES_PER_USER = 6
# The share of plays that follow the fashion of the whole catalogue and no taste of the user.
_FASHION = 0.1
_START, _END = 1_108_339_200, 1_245_369_600  # 2005-02-14 to 2009-06-19, the time that Last.fm-1K spans


@dataclass(frozen=True)
class _Catalogue:
    """Items ordered by taste; the running sums of their popularity serve to draw them."""

    item_taste: npt.NDArray[np.int32]  # of every item id
    by_taste: npt.NDArray[np.int32]  # item ids, taste by taste
    cumulative: npt.NDArray[np.float64]  # popularity up to and with each of `by_taste`
    bounds: npt.NDArray[np.float64]  # `cumulative` before the first item of each taste, and the total


def lastfm_like(
    n_items: int = 177_000, n_events: int = 5_400_000, n_users: int = 992, seed: int = 0
) -> Dataset:
    """Plays in the order of time, where users repeat what suits their planted tastes.

    - An item belongs to one of 400 tastes. Popularity over all items follows Zipf's law with a flat head,
      and the popular ones are spread over the tastes at random.
    - A user has one to six tastes with uneven shares (Dirichlet). Nine plays in ten are drawn from one
      of them, by popularity within it; the tenth is drawn from all items, by popularity.
    - How much a user plays is log-normal with σ = 1.2, so a few play most.

    `truth` has "item_taste" (of every item) and "user_tastes" (users × tastes, shares that sum to 1).
    Ids are 0..n-1, and all of them are in the vocabularies, also items that nobody played.
    """
    for name, value in (("n_items", n_items), ("n_events", n_events), ("n_users", n_users)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    rng = np.random.default_rng(seed)
    catalogue = _catalogue(n_items, min(_N_TASTES, n_items), rng)
    shares = _user_tastes(n_users, len(catalogue.bounds) - 1, rng)
    user = _players(n_users, n_events, rng)
    item = _plays(user, shares, catalogue, rng)
    time = np.sort(rng.integers(_START * NANOSECONDS, _END * NANOSECONDS, n_events))
    log = Events(
        item=item,
        user=user,
        time=time,
        vocabularies={"user": Vocabulary(np.arange(n_users)), "item": Vocabulary(np.arange(n_items))},
    )
    return Dataset(
        log=log,
        description=f"generated plays with planted tastes, seed {seed}",
        item_titles={},
        truth={"item_taste": catalogue.item_taste, "user_tastes": shares},
    )


def _catalogue(n_items: int, n_tastes: int, rng: np.random.Generator) -> _Catalogue:
    popularity = 1.0 / (np.arange(n_items) + 20.0)
    rng.shuffle(popularity)
    item_taste = rng.integers(0, n_tastes, n_items).astype(np.int32)
    by_taste = np.argsort(item_taste, kind="stable").astype(np.int32)
    cumulative = np.cumsum(popularity[by_taste])
    last = np.cumsum(np.bincount(item_taste, minlength=n_tastes))
    bounds = np.concatenate([[0.0], cumulative])[np.concatenate([[0], last])]
    return _Catalogue(item_taste, by_taste, cumulative, bounds)


def _user_tastes(n_users: int, n_tastes: int, rng: np.random.Generator) -> npt.NDArray[np.float32]:
    """Each user's share of each taste."""
    at_most = min(_TASTES_PER_USER, n_tastes)
    how_many = rng.integers(1, at_most + 1, n_users)
    parts = rng.standard_gamma(1.0, (n_users, at_most)) * (np.arange(at_most) < how_many[:, None])
    shares = np.zeros((n_users, n_tastes))
    for user in range(n_users):
        shares[user, rng.choice(n_tastes, at_most, replace=False)] = parts[user] / parts[user].sum()
    return shares.astype(np.float32)


def _players(n_users: int, n_events: int, rng: np.random.Generator) -> npt.NDArray[np.int32]:
    """Who plays, event by event. Everybody plays at least once if there are events enough."""
    activity = rng.lognormal(0.0, 1.2, n_users)
    once = min(n_users, n_events)
    plays = rng.multinomial(n_events - once, activity / activity.sum())
    plays[:once] += 1
    return rng.permutation(np.repeat(np.arange(n_users, dtype=np.int32), plays))


def _plays(
    user: npt.NDArray[np.int32],
    shares: npt.NDArray[np.float32],
    catalogue: _Catalogue,
    rng: np.random.Generator,
) -> npt.NDArray[np.int32]:
    """The item of every play: a taste by the user's shares, or fashion; then an item by popularity."""
    n_tastes = shares.shape[1]
    # One running sum over all users, so that a single search draws a taste for every event.
    cumulative = np.cumsum(shares / shares.sum(axis=1, keepdims=True), axis=1, dtype=np.float64)
    cumulative[:, -1] = 1.0
    stacked = (cumulative + np.arange(len(shares))[:, None]).ravel()
    found = np.searchsorted(stacked, user + rng.random(len(user)), side="right")
    taste = np.minimum(found - user.astype(np.int64) * n_tastes, n_tastes - 1)
    low, high = catalogue.bounds[taste], catalogue.bounds[taste + 1]
    fashion = rng.random(len(user)) < _FASHION
    low[fashion], high[fashion] = 0.0, catalogue.bounds[-1]
    drawn = low + (high - low) * rng.random(len(user))
    place = np.searchsorted(catalogue.cumulative, drawn, side="right")
    items: npt.NDArray[np.int32] = catalogue.by_taste[np.minimum(place, len(catalogue.by_taste) - 1)]
    return items
