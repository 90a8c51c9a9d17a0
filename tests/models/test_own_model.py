"""A model of the user's own: it passes the contract, and its files are read once its class is imported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import topwise as tw
from topwise.models import Embedding, ModelFileError
from topwise.testing import ModelContract, checkerboard

SMALL = {"dim": 4, "epochs": 15, "learning_rate": 0.3, "max_norm": 0.7, "threads": 1}


class NonNegative(Embedding):
    """Item vectors are served without their negative coordinates."""

    def item_vectors(self) -> Any:
        return np.maximum(super().item_vectors(), 0)


class TestNonNegative(ModelContract):
    def make_model(self, **params: Any) -> NonNegative:
        return NonNegative(**{**SMALL, "item_bias": True, **params})


def test_a_class_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    model = NonNegative(**SMALL).fit(checkerboard()[0])
    NonNegative.__name__ = "Renamed"
    try:
        model.save(path)
    finally:
        NonNegative.__name__ = "NonNegative"
    with pytest.raises(ModelFileError, match=r"holds a Renamed, .* import it first"):
        tw.load(path)
