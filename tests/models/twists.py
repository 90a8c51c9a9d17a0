"""Triples in which the query and the user matter together."""

from __future__ import annotations

from typing import Any

import numpy as np

import topwise as tw


def twisted(n: int = 12, seed: int = 0) -> tuple[tw.Events, tw.Events]:
    """What suits is query + user, mod n and near it: no sum of a query's and a user's taste can say so."""
    rng = np.random.default_rng(seed)
    users, queries = (part.ravel() for part in np.meshgrid(np.arange(2 * n), np.arange(n)))
    user = np.repeat(users, 3)
    query = np.repeat(queries, 3)
    item = (query * (1 + 2 * (user % 2)) + 3 * (user % 2) + rng.integers(0, 2, len(user))) % n
    log = tw.Events.from_arrays(item=item, user=user, query=query)
    return tw.split.by_fraction(log, 0.2, seed)


def fitted(interaction: str = "full", **params: Any) -> tw.LCR:
    settings = {"dim": 8, "epochs": 30, "max_norm": 1.2, "threads": 1, "rank": 3, "repeats": True}
    model = tw.LCR(**{**settings, "interaction": interaction, **params})
    return model.fit(twisted()[0], progress=False)
