"""Small logs with something to learn."""

from __future__ import annotations

import numpy as np

from topwise.data import Events, split


def tastes(n_users: int = 150, n_items: int = 90, n_tastes: int = 5, each: int = 14, seed: int = 0) -> Events:
    """Users of one taste each; nine of ten of their items are of it. User u's and item i's are u, i mod n."""
    rng = np.random.default_rng(seed)
    users, items = [], []
    for user in range(n_users):
        chance = np.where(np.arange(n_items) % n_tastes == user % n_tastes, 9.0 * n_tastes, 1.0)
        chosen = rng.choice(n_items, each, replace=False, p=chance / chance.sum())
        users += [f"u{user}"] * each
        items += [f"i{item}" for item in chosen]
    order = rng.permutation(len(users))
    return Events.from_arrays(item=np.array(items)[order], user=np.array(users)[order])


def parts(seed: int = 0) -> tuple[Events, Events, Events]:
    """Train, validation and test events of `tastes`."""
    rest, test = split.by_fraction(tastes(seed=seed), test=0.2, seed=seed)
    train, validation = split.by_fraction(rest, test=0.2, seed=seed + 1)
    return train, validation, test
