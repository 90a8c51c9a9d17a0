from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from topwise.datasets import Dataset, lastfm_like


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return lastfm_like(n_items=5_000, n_events=100_000, n_users=100, seed=3)


def test_it_has_the_size_that_was_asked_for(dataset: Dataset):
    log = dataset.log
    assert (len(log), log.n("user"), log.n("item")) == (100_000, 100, 5_000)
    assert np.unique(log.codes("user")).size == 100
    assert log.item.dtype == np.int32
    assert log.time is not None
    assert (np.diff(log.time) >= 0).all()


def test_a_seed_repeats_and_another_differs(dataset: Dataset):
    again = lastfm_like(n_items=5_000, n_events=100_000, n_users=100, seed=3)
    np.testing.assert_array_equal(again.log.item, dataset.log.item)
    np.testing.assert_array_equal(again.log.codes("user"), dataset.log.codes("user"))
    other = lastfm_like(n_items=5_000, n_events=100_000, n_users=100, seed=4)
    assert not np.array_equal(other.log.item, dataset.log.item)


def test_the_planted_tastes_show_in_the_log(dataset: Dataset):
    assert dataset.truth is not None
    item_taste, shares = dataset.truth["item_taste"], dataset.truth["user_tastes"]
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-5)
    assert (np.count_nonzero(shares, axis=1) <= 6).all()
    user = dataset.log.codes("user")
    share_of_play = shares[user, item_taste[dataset.log.item]]
    # Nine plays in ten are from a taste, and a few of the tenth fall into one by chance.
    assert 0.89 < np.mean(share_of_play > 0) < 0.94
    most = int(np.bincount(user).argmax())
    played = np.bincount(item_taste[dataset.log.item[user == most]], minlength=shares.shape[1])
    assert np.corrcoef(played, shares[most])[0, 1] > 0.98


def test_popularity_and_activity_have_heavy_tails(dataset: Dataset):
    plays = np.sort(np.bincount(dataset.log.item, minlength=5_000))[::-1]
    assert plays[:50].sum() > 0.15 * len(dataset.log)
    assert plays[1_000:].sum() > 0.05 * len(dataset.log)
    activity = np.bincount(dataset.log.codes("user"))
    assert activity.max() > 4 * np.median(activity)


def test_plays_are_repeated(dataset: Dataset):
    assert dataset.log.matrix().nnz < 0.8 * len(dataset.log)


def test_small_sizes():
    tiny = lastfm_like(n_items=1, n_events=1, n_users=3)
    assert len(tiny.log) == 1
    assert tiny.log.n("user") == 3


@pytest.mark.parametrize("size", ["n_items", "n_events", "n_users"])
def test_sizes_are_checked(size: str):
    sizes: dict[str, Any] = {size: 0}
    with pytest.raises(ValueError, match=f"{size} must be at least 1, got 0"):
        lastfm_like(**sizes)
