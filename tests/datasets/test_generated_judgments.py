"""Generated judgments are repeatable, graded, and can be learned from in part."""

from __future__ import annotations

import numpy as np
import pytest

import topwise as tw


def test_shape_and_grades() -> None:
    judged = tw.datasets.judgments_like(50, rows=10, n_features=6, grades=4, seed=1)
    assert judged.n_queries == 50
    assert judged.n_features == 6
    assert judged.lengths().min() >= 2
    assert judged.lengths().max() <= 18
    counts = np.bincount(judged.labels.astype(int))
    assert len(counts) == 4
    assert (np.diff(counts) < 0).all()
    again = tw.datasets.judgments_like(50, rows=10, n_features=6, grades=4, seed=1)
    np.testing.assert_array_equal(judged.dense(), again.dense())
    with pytest.raises(ValueError, match="n_features must be at least 3, got 2"):
        tw.datasets.judgments_like(n_features=2)


def test_something_is_to_be_learned() -> None:
    train, test = tw.datasets.judgments_like(seed=1), tw.datasets.judgments_like(seed=2)
    model = tw.baselines.RankSVM().fit(train)
    chance = tw.evaluate(np.zeros(len(test)), test, metrics=["ndcg@5"])["ndcg@5"]
    assert chance + 0.1 < model.evaluate(test, ["ndcg@5"])["ndcg@5"] < 0.95
