"""MatrixFactorization passes the contract: by ids, with content, for each loss."""

from __future__ import annotations

from typing import Any

import pytest

import topwise as tw
from topwise.testing import ModelContract

SMALL = {"dim": 4, "epochs": 15, "learning_rate": 0.3, "max_norm": 0.7, "threads": 1}


class TestMatrixFactorization(ModelContract):
    def make_model(self, **params: Any) -> tw.MatrixFactorization:
        return tw.MatrixFactorization(**{**SMALL, **params})


class TestWithItemBias(ModelContract):
    def make_model(self, **params: Any) -> tw.MatrixFactorization:
        return tw.MatrixFactorization(**{**SMALL, "item_bias": True, **params})


class TestHybrid(ModelContract):
    """Ids and content of both sides; a third of the items and users have no content."""

    def make_model(self, **params: Any) -> tw.MatrixFactorization:
        return tw.MatrixFactorization(**{**SMALL, **params})

    def features(self, log: tw.Events) -> dict[str, tw.Features]:
        return {
            f"{role}_features": tw.Features.from_matrix(
                ids[: len(ids) * 2 // 3],
                [[float(int(str(id_).lstrip("ui")) % 2), 1.0] for id_ in ids[: len(ids) * 2 // 3]],
            )
            for role in ("user", "item")
            for ids in [log.vocabulary(role).ids.tolist()]
        }


@pytest.mark.parametrize("loss", [tw.AUC(), tw.OWPC(), tw.WARP(corrected=True), tw.KOS()], ids=repr)
class TestLosses:
    def test_every_loss_learns_the_checkerboard(self, loss: Any) -> None:
        train, held_out = tw.testing.checkerboard()
        model = tw.MatrixFactorization(**{**SMALL, "loss": loss}).fit(train)
        assert tw.evaluate(model, held_out, metrics=["hit@1"], exclude=train)["hit@1"] > 0.9
