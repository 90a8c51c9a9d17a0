"""A small world in which the second stage has something to add, and models that can be looked at."""

from __future__ import annotations

from typing import Any

import numpy as np

import topwise as tw

N_USERS, N_ITEMS = 80, 60


def make_log(seed: int = 0, times: bool = False, role: str = "user") -> tw.Events:
    """Users take items of their own half, of which the later ones in the catalogue are liked more."""
    rng = np.random.default_rng(seed)
    users, items = [], []
    for user in range(N_USERS):
        half = np.arange(N_ITEMS // 2) * 2 + user % 2
        chance = np.exp(0.12 * np.arange(N_ITEMS // 2))
        users += [f"u{user}"] * 10
        items += [f"i{item}" for item in rng.choice(half, 10, replace=False, p=chance / chance.sum())]
    order = rng.permutation(len(users))
    columns: dict[str, Any] = {
        "item": np.array(items, dtype=object)[order],
        role: np.array(users, dtype=object)[order],
    }
    return tw.Events.from_arrays(**columns, time=np.arange(len(users)) * 3600 if times else None)


def first(**params: Any) -> tw.MatrixFactorization:
    """A first stage that trains in no time."""
    small = {"dim": 4, "epochs": 8, "learning_rate": 0.3, "max_norm": 0.7, "threads": 1}
    return tw.MatrixFactorization(**{**small, **params})


def second(**params: Any) -> tw.baselines.LambdaMART:
    """A second stage that trains in no time."""
    return tw.baselines.LambdaMART(
        **{"trees": 20, "min_rows": 5, "normalize": "minmax", "threads": 1, **params}
    )


class Watched(tw.MatrixFactorization):
    """A first stage that keeps the logs it was fitted on."""

    seen: list[tw.Events] = []  # noqa: RUF012

    def fit(self, train: tw.Events, *args: Any, **options: Any) -> Any:
        type(self).seen.append(train)
        return super().fit(train, *args, **options)
