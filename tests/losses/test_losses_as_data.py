"""Losses written down as plain data, for model files, and read again."""

from __future__ import annotations

import json

import numpy as np
import pytest

from topwise.losses import AUC, KOS, OWPC, WARP, Loss, loss_from_dict


@pytest.mark.parametrize(
    "loss",
    [
        AUC(),
        AUC(margin=0.25),
        OWPC(alpha="ndcg", top=20, refresh=1),
        WARP(alpha=[1.0, 0.5], max_trials=7, corrected=True, margin=2.0),
        KOS(k=3, position=3),
        KOS(k=2, position=[0.5, 0.5], base=OWPC(alpha="mean")),
        KOS(k=4, base=WARP(top=5, margin=3.0)),
    ],
)
def test_round_trip_through_json(loss: Loss) -> None:
    again = loss_from_dict(json.loads(json.dumps(loss.to_dict())))
    assert again == loss
    assert type(again) is type(loss)


def test_arrays_and_numpy_numbers_become_lists_and_numbers() -> None:
    loss = WARP(alpha=np.array([2.0, 1.0]), max_trials=int(np.int64(5)), margin=float(np.float32(1.5)))
    again = loss_from_dict(json.loads(json.dumps(loss.to_dict())))
    np.testing.assert_array_equal(again.kernel(9).weights, loss.kernel(9).weights)
    fixed = KOS(k=3, position=np.int64(2))
    assert loss_from_dict(json.loads(json.dumps(fixed.to_dict()))) == KOS(k=3, position=2)


def test_a_function_is_written_down_as_the_weights_it_gives() -> None:
    loss = KOS(k=4, position=lambda share: share)
    again = loss_from_dict(json.loads(json.dumps(loss.to_dict())))
    assert isinstance(again, KOS)
    np.testing.assert_allclose(again.probabilities(), [0.1, 0.2, 0.3, 0.4])


def test_unknown_entries_and_kinds() -> None:
    assert loss_from_dict({"loss": "WARP", "max_trials": 3, "of_a_later_version": 1}) == WARP(max_trials=3)
    with pytest.raises(ValueError, match="loss must be one of AUC, OWPC, WARP, KOS, got None"):
        loss_from_dict({})
