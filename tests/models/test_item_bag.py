"""ItemBag passes the contract, and serves users by their items alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import topwise as tw
from topwise.testing import ModelContract, checkerboard

SMALL = {"dim": 4, "epochs": 15, "learning_rate": 0.3, "max_norm": 0.9, "threads": 1}


class TestItemBag(ModelContract):
    def make_model(self, **params: Any) -> tw.ItemBag:
        return tw.ItemBag(**{**SMALL, **params})


class TestWithItemBias(ModelContract):
    def make_model(self, **params: Any) -> tw.ItemBag:
        return tw.ItemBag(**{**SMALL, "item_bias": True, **params})


@pytest.fixture(scope="module")
def fitted() -> tw.ItemBag:
    return tw.ItemBag(**SMALL).fit(checkerboard()[0])


def test_a_history_stands_for_a_user(fitted: tw.ItemBag) -> None:
    train, _ = checkerboard()
    own = train.ids("item")[train.ids("user") == "u4"].tolist()
    by_history = fitted.recommend(history=own, k=5)
    by_user = fitted.recommend(users="u4", k=5, exclude=train)
    np.testing.assert_array_equal(by_history[0], by_user[0])
    np.testing.assert_allclose(by_history[1], by_user[1], rtol=1e-5)


def test_several_histories_at_once(fitted: tw.ItemBag) -> None:
    ids, scores = fitted.recommend(history=[["i0", "i2"], ["i1", "no such item"], []], k=4)
    assert ids.shape == (3, 4)
    assert all(int(id_[1:]) % 2 == 0 and id_ not in ("i0", "i2") for id_ in ids[0])
    assert all(int(id_[1:]) % 2 == 1 and id_ != "i1" for id_ in ids[1])
    assert np.isfinite(scores).all()
    single = fitted.recommend(history=["i0", "i2"], k=4)
    np.testing.assert_array_equal(single[0], ids[0])


def test_a_history_excludes_other_ways_to_ask(fitted: tw.ItemBag) -> None:
    with pytest.raises(ValueError, match="history stands in place of"):
        fitted.recommend(users="u0", history=["i0"])


def test_phi_is_the_mean_of_the_items_vectors(fitted: tw.ItemBag) -> None:
    train, _ = checkerboard()
    own = train.ids("item")[train.ids("user") == "u3"]
    rows = fitted.item_vectors()[fitted.item_vocabulary.codes(own)]
    np.testing.assert_allclose(fitted.context_vectors(users="u3")[0], rows.mean(axis=0), rtol=1e-5, atol=1e-7)


def test_features_are_refused() -> None:
    train, _ = checkerboard(4)
    features = tw.Features.from_matrix(["i0"], [[1.0]])
    with pytest.raises(ValueError, match="ItemBag takes no features, got item_features"):
        tw.ItemBag(**SMALL).fit(train, item_features=features)


def test_items_cannot_be_folded_in_and_nothing_changes(fitted: tw.ItemBag) -> None:
    before = len(fitted.context_vocabulary)
    new = tw.Events.from_arrays(item=["i0", "a new item"], user=["newcomer", "newcomer"])
    with pytest.raises(ValueError, match="fit again"):
        fitted.fold_in(new)
    assert len(fitted.context_vocabulary) == before
