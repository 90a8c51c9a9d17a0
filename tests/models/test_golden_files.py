"""Model files that an earlier version wrote are read by every later one, and recommend the same."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import topwise as tw

GOLDEN = Path(__file__).parents[1] / "golden"
EXPECTED = json.loads((GOLDEN / "format_1.json").read_text())


@pytest.mark.parametrize("name", EXPECTED)
def test_format_1(name: str) -> None:
    expected = EXPECTED[name]
    model = tw.load(GOLDEN / f"format_1_{name}.safetensors")
    assert type(model).__name__ == expected["class"]
    ids, scores = model.recommend(users=expected["users"], k=4)
    assert ids.tolist() == expected["ids"]
    np.testing.assert_allclose(scores, expected["scores"], rtol=1e-5, atol=1e-6)
    assert len(model.history_records_) >= 1
    assert model.get_params()["dim"] == 3


def test_what_a_format_1_hybrid_remembers() -> None:
    model = tw.load(GOLDEN / "format_1_hybrid.safetensors")
    assert model.loss == tw.KOS(k=3, position=[1, 2, 1])
    assert (model.item_bias, model.patience, model.seed, model.max_norm_) == (True, 5, 7, 0.8)
    assert 1 <= model.best_epoch_ <= 8
    assert model.history_records_[0]["metric"] == "ndcg@10"
    assert "i8" in model.item_vocabulary, "an item without events is served from its content"


def test_a_format_1_bag_serves_histories() -> None:
    model = tw.load(GOLDEN / "format_1_bag.safetensors")
    assert isinstance(model, tw.ItemBag)
    ids, _ = model.recommend(history=[0, 2], k=2)
    assert set(ids.tolist()) <= {4, 6}


def test_a_format_1_model_can_be_fitted_on() -> None:
    model = tw.load(GOLDEN / "format_1_hybrid.safetensors")
    model.fold_in(tw.Events.from_arrays(item=["i0", "i2"], user=["newcomer", "newcomer"]))
    assert "newcomer" in model.context_vocabulary


def test_the_files_stay_small() -> None:
    assert sum(path.stat().st_size for path in GOLDEN.glob("*.safetensors")) < 64_000
    frame = pl.DataFrame({"year": [1990.0]})
    with pytest.raises(ValueError, match="was fitted without features of its user side"):
        tw.load(GOLDEN / "format_1_hybrid.safetensors").recommend(features=frame)
