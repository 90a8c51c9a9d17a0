"""Generated judgments: for examples, and for measuring speed at the size of public sets."""

from __future__ import annotations

import numpy as np

from topwise.data import Judgments


def judgments_like(
    n_queries: int = 200, rows: int = 20, n_features: int = 10, grades: int = 3, seed: int = 0
) -> Judgments:
    """Queries of 2 to 2·rows − 2 rows, with grades by a hidden quality of the rows and much noise.

    The quality is a sum of the first features, whose weights fall, and of a product of two of them; the last
    third of the features says nothing. Queries differ in the level of their features, as real ones do.
    """
    bounds = {
        "n_queries": (n_queries, 1),
        "rows": (rows, 2),
        "n_features": (n_features, 3),
        "grades": (grades, 2),
    }
    for name, (value, least) in bounds.items():
        if value < least:
            raise ValueError(f"{name} must be at least {least}, got {value}")
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 2 * rows - 1, n_queries)
    query = np.repeat(np.arange(n_queries), sizes)
    level = rng.normal(size=(n_queries, n_features))
    features = rng.normal(size=(len(query), n_features))
    used = max(2, n_features - n_features // 3)
    quality = features[:, :used] @ (1 / np.arange(1, used + 1)) + features[:, 0] * features[:, 1]
    quality += rng.normal(size=len(query))
    # Most rows are irrelevant: each grade has about a third of the one below.
    shares = 3.0 ** -np.arange(grades)
    ends = np.quantile(quality, np.cumsum(shares / shares.sum())[:-1])
    return Judgments.from_arrays(
        (features + level[query]).astype(np.float32), np.searchsorted(ends, quality), groups=sizes
    )
