"""Ctrl-C: a fit returns within a second, with a model that can be used."""

from __future__ import annotations

import json
import signal
import sys
import time

import pytest
from children import child

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sends a POSIX signal")

FIT = """
import json, sys, time, warnings
import numpy as np
import topwise as tw
from logs import tastes
from topwise.training.session import Session

settings = json.loads(sys.argv[1])
log = tastes(n_users=settings.pop("users", 3000), n_items=2000, each=40)
loss = tw.losses.loss_from_dict(settings.pop("loss"))
model = tw.MatrixFactorization(**settings, loss=loss)
run_epoch = Session.run_epoch

def told(session, *arguments):  # the search for max_norm has no callback
    record = run_epoch(session, *arguments)
    print("run", record.epoch)
    return record

Session.run_epoch = told
print("begins")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    model.fit(log, callback=lambda record: print("epoch", record.epoch))
returned = time.monotonic()
ids, scores = model.recommend(users=["u0", "u1", "nobody"], k=10)
print("returned", json.dumps({
    "at": returned,
    "warnings": [str(w.message) for w in caught],
    "epochs": len(model.history_records_),
    "finite": bool(np.isfinite(scores).all()),
    "own": float(np.mean([int(i[1:]) % 5 == 0 for i in ids[0]])),
}))
"""
BASE = {"dim": 32, "epochs": 1_000_000, "learning_rate": 0.2, "max_norm": 1.5, "schedule": "constant"}


@pytest.mark.parametrize("threads", [1, 2])
def test_between_and_within_epochs(threads: int) -> None:
    settings = {**BASE, "threads": threads, "loss": {"loss": "WARP"}}
    with child(FIT, json.dumps(settings)) as fit:
        fit.wait_for("epoch 3")
        time.sleep(0.1)
        fit.process.send_signal(signal.SIGINT)
        sent = time.monotonic()
        answer = json.loads(fit.wait_for("returned").removeprefix("returned"))
    assert answer["at"] - sent < 1
    assert answer["epochs"] >= 3
    assert answer["finite"]
    assert answer["own"] > 0.5, "what was learned so far is there"
    assert any("interrupted after" in text for text in answer["warnings"])


@pytest.mark.parametrize("threads", [1, 2])
def test_within_an_epoch_that_takes_minutes(threads: int) -> None:
    settings = {**BASE, "dim": 512, "threads": threads, "loss": {"loss": "OWPC", "refresh": 1}}
    with child(FIT, json.dumps(settings)) as fit:
        fit.wait_for("begins")
        time.sleep(1.0)
        fit.process.send_signal(signal.SIGINT)
        sent = time.monotonic()
        answer = json.loads(fit.wait_for("returned").removeprefix("returned"))
    assert answer["at"] - sent < 1
    assert answer["epochs"] == 0
    assert answer["finite"]


def test_while_the_norm_is_searched() -> None:
    settings = {
        **BASE,
        "max_norm": "auto",
        "dim": 128,
        "threads": 2,
        "users": 20_000,
        "loss": {"loss": "WARP"},
    }
    with child(FIT, json.dumps(settings)) as fit:
        fit.wait_for("run 5")
        fit.process.send_signal(signal.SIGINT)
        sent = time.monotonic()
        answer = json.loads(fit.wait_for("returned").removeprefix("returned"))
    assert answer["at"] - sent < 1
    assert answer["epochs"] == 0
    assert answer["finite"]
    assert answer["own"] > 0.5, "the best of the search's own runs is there"
    assert any("interrupted" in text for text in answer["warnings"])
