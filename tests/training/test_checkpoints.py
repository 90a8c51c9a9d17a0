"""A run that is broken off and resumed ends in the same model, to the bit, as one that was not."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from children import child
from logs import parts, tastes

import topwise as tw
from topwise.models import ModelFileError
from topwise.training import EpochRecord

SETTINGS = {"dim": 8, "epochs": 12, "learning_rate": 0.4, "max_norm": 1.5, "threads": 1}


def features(log: tw.Events) -> dict[str, tw.Features]:
    ids = log.vocabulary("item").ids
    kinds = np.eye(5)[[int(id_[1:]) % 5 for id_ in ids]]
    return {"item_features": tw.Features.from_matrix(ids, kinds)}


def assert_same_run(first: Any, second: Any) -> None:
    users = first.context_vocabulary.ids
    np.testing.assert_array_equal(first.item_vectors(), second.item_vectors())
    np.testing.assert_array_equal(first.context_vectors(users=users), second.context_vectors(users=users))
    np.testing.assert_array_equal(first.mean_context_, second.mean_context_)
    assert (first.best_epoch_, first.max_norm_) == (second.best_epoch_, second.max_norm_)
    histories = [[{**r, "seconds": 0} for r in m.history_records_] for m in (first, second)]
    assert histories[0] == histories[1]


def stop_after(epochs: int) -> Any:
    def callback(record: EpochRecord) -> bool:
        return record.epoch < epochs

    return callback


@pytest.mark.parametrize("validated", [False, True], ids=["plain", "with validation"])
@pytest.mark.parametrize(
    ("kind", "params"),
    [
        (tw.MatrixFactorization, {}),
        (tw.MatrixFactorization, {"item_bias": True, "optimizer": "sgd", "schedule": "cosine"}),
        (tw.MatrixFactorization, {"loss": tw.KOS(base=tw.OWPC())}),
        (tw.ItemBag, {}),
    ],
    ids=["adagrad", "sgd and biases", "k-os", "item bag"],
)
def test_a_resumed_run_equals_an_unbroken_one(
    kind: type[Any], params: dict[str, Any], validated: bool, tmp_path: Path
) -> None:
    train, validation, _ = parts()
    watched = validation if validated else None
    file = tmp_path / "run.safetensors"
    unbroken = kind(**{**SETTINGS, **params}).fit(train, watched)
    kind(**{**SETTINGS, **params}).fit(train, watched, checkpoint=file, callback=stop_after(5))
    resumed = kind(**{**SETTINGS, **params}).fit(train, watched, checkpoint=file, resume=True)
    assert_same_run(resumed, unbroken)


def test_with_content_and_a_norm_to_be_found(tmp_path: Path) -> None:
    train, _, _ = parts()
    file = tmp_path / "run.safetensors"
    params = {**SETTINGS, "max_norm": "auto"}
    unbroken = tw.MatrixFactorization(**params).fit(train, **features(train))
    broken = tw.MatrixFactorization(**params)
    broken.fit(train, **features(train), checkpoint=file, callback=stop_after(7))
    resumed = tw.MatrixFactorization(**params).fit(train, **features(train), checkpoint=file, resume=True)
    assert_same_run(resumed, unbroken)


def test_patience_goes_on_counting(tmp_path: Path) -> None:
    train, validation, _ = parts()
    file = tmp_path / "run.safetensors"
    params = {**SETTINGS, "dim": 16, "epochs": 60, "max_norm": None, "schedule": "constant", "patience": 4}
    unbroken = tw.MatrixFactorization(**params).fit(train, validation)
    best = unbroken.best_epoch_
    assert len(unbroken.history_records_) == best + 4 < 60
    for epochs in (best + 2, best + 4):
        model = tw.MatrixFactorization(**params)
        model.fit(train, validation, checkpoint=file, callback=stop_after(epochs))
        resumed = tw.MatrixFactorization(**params).fit(train, validation, checkpoint=file, resume=True)
        assert_same_run(resumed, unbroken)


def test_every_few_epochs(tmp_path: Path) -> None:
    train, _, _ = parts()
    file = tmp_path / "run.safetensors"
    written = []

    def note(record: EpochRecord) -> bool:
        written.append(file.stat().st_mtime_ns if file.exists() else 0)
        time.sleep(0.005)
        return record.epoch < 8

    tw.MatrixFactorization(**SETTINGS).fit(train, checkpoint=file, checkpoint_every=3, callback=note)
    changes = [epoch for epoch in range(1, 9) if written[epoch - 1] != ([0, *written])[epoch - 1]]
    assert changes == [3, 6]
    resumed = tw.MatrixFactorization(**SETTINGS).fit(train, checkpoint=file, checkpoint_every=3, resume=True)
    assert_same_run(resumed, tw.MatrixFactorization(**SETTINGS).fit(train))


def test_resuming_without_a_file_begins_and_after_the_end_does_nothing(tmp_path: Path) -> None:
    train, _, _ = parts()
    file = tmp_path / "run.safetensors"
    first = tw.MatrixFactorization(**SETTINGS).fit(train, checkpoint=file, resume=True)
    epochs: list[EpochRecord] = []
    again = tw.MatrixFactorization(**SETTINGS)
    again.fit(train, checkpoint=file, resume=True, callback=epochs.append)
    assert epochs == []
    assert_same_run(again, first)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"dim": 9}, "was written with dim=8, and this model has dim=9"),
        ({"seed": 1}, "was written with seed=0, and this model has seed=1"),
        ({"epochs": 20}, "was written with epochs=12, and this model has epochs=20"),
        ({"loss": tw.AUC()}, "was written with loss="),
    ],
)
def test_other_parameters_are_refused(params: dict[str, Any], message: str, tmp_path: Path) -> None:
    train, _, _ = parts()
    file = tmp_path / "run.safetensors"
    tw.MatrixFactorization(**SETTINGS).fit(train, checkpoint=file, callback=stop_after(2))
    before = file.read_bytes()
    with pytest.raises(ValueError, match=message):
        tw.MatrixFactorization(**{**SETTINGS, **params}).fit(train, checkpoint=file, resume=True)
    assert file.read_bytes() == before


def test_the_number_of_threads_may_change(tmp_path: Path) -> None:
    train, _, _ = parts()
    file = tmp_path / "run.safetensors"
    tw.MatrixFactorization(**SETTINGS).fit(train, checkpoint=file, callback=stop_after(2))
    model = tw.MatrixFactorization(**{**SETTINGS, "threads": 2}).fit(train, checkpoint=file, resume=True)
    assert len(model.history_records_) == 12


def test_other_data_is_refused(tmp_path: Path) -> None:
    train, _, test = parts()
    file = tmp_path / "run.safetensors"
    tw.MatrixFactorization(**SETTINGS).fit(train, checkpoint=file, callback=stop_after(2))
    renamed = tw.Events.from_arrays(item=[f"other{id_}" for id_ in train.ids("item")], user=train.ids("user"))
    known = tw.Events.from_arrays(
        item=[*train.ids("item"), *test.ids("item")],
        user=[*train.ids("user"), *test.ids("user")],
        weight=[1.0] * len(train) + [0.0] * len(test),
    )
    for log in (train.take(np.arange(len(train) - 1)), tastes(seed=5), renamed, known):
        with pytest.raises(ValueError, match="resume with the same"):
            tw.MatrixFactorization(**SETTINGS).fit(log, checkpoint=file, resume=True)
    with pytest.raises(ValueError, match="resume with the same"):
        tw.MatrixFactorization(**SETTINGS).fit(train, **features(train), checkpoint=file, resume=True)
    with pytest.raises(ValueError, match="is of a MatrixFactorization, and this is a ItemBag"):
        tw.ItemBag(**SETTINGS).fit(train, checkpoint=file, resume=True)


def test_other_validation_is_refused(tmp_path: Path) -> None:
    """The best value so far would be compared with values on other events."""
    train, validation, test = parts()
    file = tmp_path / "run.safetensors"
    tw.MatrixFactorization(**SETTINGS).fit(train, validation, checkpoint=file, callback=stop_after(2))
    for other in (test, None):
        with pytest.raises(ValueError, match="resume with the same"):
            tw.MatrixFactorization(**SETTINGS).fit(train, other, checkpoint=file, resume=True)


def test_checkpoints_and_models_are_told_apart(tmp_path: Path) -> None:
    train, _, _ = parts()
    file, finished = tmp_path / "run.safetensors", tmp_path / "model.safetensors"
    model = tw.MatrixFactorization(**SETTINGS).fit(train, checkpoint=file)
    model.save(finished)
    with pytest.raises(ModelFileError, match="is a checkpoint of training"):
        tw.load(file)
    with pytest.raises(ModelFileError, match="is a finished model and not a checkpoint"):
        tw.MatrixFactorization(**SETTINGS).fit(train, checkpoint=finished, resume=True)
    with pytest.raises(ValueError, match="pass checkpoint="):
        tw.MatrixFactorization(**SETTINGS).fit(train, resume=True)
    with pytest.raises(ValueError, match="checkpoint_every must be at least 1, got 0"):
        tw.MatrixFactorization(**SETTINGS).fit(train, checkpoint=file, checkpoint_every=0)


def test_a_damaged_checkpoint_is_refused(tmp_path: Path) -> None:
    train, _, _ = parts()
    file = tmp_path / "run.safetensors"
    tw.MatrixFactorization(**SETTINGS).fit(train, checkpoint=file, callback=stop_after(2))
    file.write_bytes(file.read_bytes()[:-7])
    with pytest.raises(ModelFileError, match="truncated"):
        tw.MatrixFactorization(**SETTINGS).fit(train, checkpoint=file, resume=True)


KILLED = """
import json, sys
import topwise as tw
from logs import parts

train, validation, _ = parts()
model = tw.MatrixFactorization(**json.loads(sys.argv[1]))
model.fit(train, validation, checkpoint=sys.argv[2], resume=True, callback=lambda r: print("epoch", r.epoch))
model.save(sys.argv[3])
print("finished")
"""


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_after_kill_9_at_a_random_moment(seed: int, tmp_path: Path) -> None:
    settings = {**SETTINGS, "epochs": 400, "schedule": "linear"}
    file, saved = tmp_path / "run.safetensors", tmp_path / "model.safetensors"
    rng = random.Random(seed)
    kills = 0
    for _ in range(2):
        with child(KILLED, json.dumps(settings), file, saved) as fit:
            fit.wait_for("epoch")
            time.sleep(rng.uniform(0, 0.15))
            fit.process.kill()
            fit.process.wait()
        if saved.exists():
            break
        kills += 1
    with child(KILLED, json.dumps(settings), file, saved) as fit:
        fit.wait_for("finished")
    assert kills > 0, "the run was over before it could be killed"
    train, validation, _ = parts()
    assert_same_run(tw.load(saved), tw.MatrixFactorization(**settings).fit(train, validation))
    left = {path.name for path in tmp_path.iterdir()} - {file.name, saved.name}
    assert all(name.endswith(".tmp") for name in left), (
        "a kill while writing may leave its temporary file alone"
    )
