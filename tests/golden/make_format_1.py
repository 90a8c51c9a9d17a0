"""Wrote the model files of format 1 beside it, once, with what they recommend. They are not to be made anew:
later versions must read these very bytes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import topwise as tw
from topwise.testing import checkerboard

HERE = Path(__file__).parent
SMALL: dict[str, Any] = {
    "dim": 3,
    "epochs": 8,
    "learning_rate": 0.3,
    "max_norm": 0.8,
    "threads": 1,
    "seed": 7,
}


def hybrid() -> tw.MatrixFactorization:
    """Text ids, biases, content of a frame with a number, a category and a list; an item without events."""
    train, held_out = checkerboard(8)
    frame = pl.DataFrame(
        {
            "item": [f"i{n}" for n in range(9)],
            "year": [1990.0 + n for n in range(9)],
            "kind": ["even" if n % 2 == 0 else "odd" for n in range(9)],
            "tags": [["größe", "low"][: 1 + n % 2] for n in range(9)],
        }
    )
    model = tw.MatrixFactorization(**SMALL, item_bias=True, loss=tw.KOS(k=3, position=[1, 2, 1]), patience=5)
    return model.fit(train, held_out, item_features=tw.Features.from_frame(frame, id="item"))


def bag() -> tw.ItemBag:
    """Ids that are ints, users as the sets of their items."""
    return tw.ItemBag(**SMALL, loss=tw.WARP(alpha=[1.0, 0.5], max_trials=9)).fit(
        checkerboard(8, text=False)[0]
    )


def labels() -> tw.Wsabie:
    """Features of both sides and the product of the raw ones."""
    train, _ = checkerboard(8)
    both = {
        role: tw.Features.from_matrix(
            ids, [[float(int(id_[1:]) % 2), 0.5] for id_ in ids], names=["parity", "one"]
        )
        for role in ("user", "item")
        for ids in [train.vocabulary(role).ids.tolist()]
    }
    model = tw.Wsabie(**SMALL, alpha=0.5, loss="auc")
    return model.fit(train, user_features=both["user"], item_features=both["item"])


def answers(model: Any, users: list[Any]) -> dict[str, Any]:
    """What a model says, as JSON."""
    ids, scores = model.recommend(users=users, k=4)
    return {"users": users, "ids": ids.tolist(), "scores": np.asarray(scores, dtype=float).tolist()}


if __name__ == "__main__":
    expected = {}
    for name, model, users in (
        ("hybrid", hybrid(), ["u0", "u5", "nobody"]),
        ("bag", bag(), [0, 5, 99]),
        ("labels", labels(), ["u0", "u5"]),
    ):
        model.save(HERE / f"format_1_{name}.safetensors")
        expected[name] = {"class": type(model).__name__, "params": repr(model), **answers(model, users)}
    (HERE / "format_1.json").write_text(json.dumps(expected, indent=1, ensure_ascii=False) + "\n")
