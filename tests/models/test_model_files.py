"""Model files in detail: what is in them, ids of every kind, what cannot be written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

import topwise as tw
from topwise.models import ModelFileError
from topwise.testing import checkerboard

SMALL = {"dim": 4, "epochs": 3, "learning_rate": 0.3, "max_norm": 0.7, "threads": 1}


def fitted(items: list[object], **params: object) -> tw.MatrixFactorization:
    log = tw.Events.from_arrays(item=items, user=list(range(len(items))))
    return tw.MatrixFactorization(**{**SMALL, **params}).fit(log)


@pytest.mark.parametrize(
    "items",
    [
        ["", "a b", "ünïcødé 語", "\n", "0", "007"],
        [-5, 0, 7, 2**62],
        ["the same length", "as all the oth", "ers?"],
    ],
    ids=["text", "ints", "words"],
)
def test_ids_come_back_as_they_were(items: list[object], tmp_path: Path) -> None:
    model = fitted(items)
    model.save(tmp_path / "m")
    loaded = tw.load(tmp_path / "m")
    assert loaded.item_vocabulary.ids.tolist() == items
    assert loaded.item_vocabulary.ids.dtype == model.item_vocabulary.ids.dtype
    assert loaded.context_vocabulary.ids.tolist() == list(range(len(items)))


def test_other_ids_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="only ids that are ints or text can be saved, got the tuple"):
        fitted([(1, 2), (3, 4)]).save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_the_header_is_plain_json(tmp_path: Path) -> None:
    model = fitted(["a", "b", "c"], loss=tw.WARP(alpha=np.array([1.0, 0.5])), learning_rate=np.float32(0.25))
    model.save(tmp_path / "m")
    with safe_open(str(tmp_path / "m"), framework="numpy") as file:
        metadata, names = file.metadata(), set(file.keys())
    header = json.loads(metadata["topwise"])
    assert metadata["topwise_format"] == "1"
    assert header["class"] == "MatrixFactorization"
    assert header["params"]["loss"]["alpha"] == [1.0, 0.5]
    assert header["params"]["learning_rate"] == 0.25
    assert [record["epoch"] for record in header["history"]] == [1, 2, 3]
    assert {"items.rows", "context.rows", "items.ids", "items.offsets", "mean_context"} <= names


def test_rows_are_written_without_padding(tmp_path: Path) -> None:
    fitted(list(range(50)), item_bias=True).save(tmp_path / "m")
    with safe_open(str(tmp_path / "m"), framework="numpy") as file:
        assert file.get_tensor("items.rows").shape == (50, 5)


def test_a_loaded_model_is_written_as_it_was(tmp_path: Path) -> None:
    fitted(["a", "b", "c"]).save(tmp_path / "one")
    tw.load(tmp_path / "one").save(tmp_path / "two")
    contents = []
    for name in ("one", "two"):
        with safe_open(str(tmp_path / name), framework="numpy") as file:
            tensors = {key: file.get_tensor(key).tolist() for key in file.keys()}  # noqa: SIM118 - no mapping
            contents.append((file.metadata(), tensors))
    assert contents[0] == contents[1]


def test_a_file_of_other_tensors_is_refused(tmp_path: Path) -> None:
    save_file({"weights": np.zeros(3)}, str(tmp_path / "m"))
    with pytest.raises(ModelFileError, match="is a safetensors file, but not one of topwise"):
        tw.load(tmp_path / "m")
    with pytest.raises(ModelFileError, match="is not a model file"):
        tw.load(tmp_path)


def test_the_file_may_be_read_by_others_as_the_umask_says(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    fitted(["a", "b"]).save(tmp_path / "m")
    assert (tmp_path / "m").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        fitted(["a", "b"]).save(tmp_path / "no folder" / "m")


def test_queries_as_contexts(tmp_path: Path) -> None:
    train, held_out = checkerboard()
    log, asked = (tw.Events.from_arrays(item=e.ids("item"), query=e.ids("user")) for e in (train, held_out))
    model = tw.MatrixFactorization(**{**SMALL, "epochs": 15}).fit(log)
    assert model.roles == ("query",)
    model.save(tmp_path / "m")
    ids, _ = tw.load(tmp_path / "m").recommend(queries=asked.ids("query"), k=1, exclude=log)
    np.testing.assert_array_equal(ids[:, 0], asked.ids("item"))
    with pytest.raises(ValueError, match="this model recommends for queries: pass queries="):
        model.recommend(users="u0")
