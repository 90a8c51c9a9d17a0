"""What makes two results the same, and that nothing half written is taken for one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import topwise as tw
from topwise import losses
from topwise.papers.cache import Cache, code_digest, digest
from topwise.papers.methods import baseline, embedding
from topwise.papers.protocols import chain, lists, pairs


def test_content_decides_and_not_identity() -> None:
    one = {"loss": losses.WARP(), "dim": 64, "rows": np.arange(5)}
    same = {"rows": np.arange(5), "dim": 64, "loss": losses.WARP()}
    assert digest(one) == digest(same)


@pytest.mark.parametrize(
    "other",
    [
        {"loss": losses.WARP(violators=2), "dim": 64},
        {"loss": losses.AUC(), "dim": 64},
        {"loss": losses.WARP(), "dim": 65},
        {"loss": losses.WARP(), "dim": "64"},
        {"loss": losses.WARP(), "dim": 64, "seed": 0},
    ],
)
def test_any_setting_makes_another_result(other: dict[str, object]) -> None:
    assert digest({"loss": losses.WARP(), "dim": 64}) != digest(other)


def test_an_event_more_and_an_id_renamed_make_other_data() -> None:
    log = tw.Events.from_arrays(user=["a", "b"], item=["x", "y"])
    again = tw.Events.from_arrays(user=["a", "b"], item=["x", "y"])
    renamed = tw.Events.from_arrays(user=["a", "c"], item=["x", "y"])
    assert digest(log) == digest(again)
    assert len({digest(log), digest(renamed), digest(log.take([0]))}) == 3


def test_features_count_with_their_values() -> None:
    one = tw.Features.from_matrix(["a"], np.array([[1.0, 2.0]]))
    other = tw.Features.from_matrix(["a"], np.array([[1.0, 3.0]]))
    assert digest(one) != digest(other)


def test_what_cannot_be_told_apart_is_refused() -> None:
    with pytest.raises(TypeError, match="cannot be kept by a object"):
        digest(object())


def test_code_is_the_source_of_the_modules_that_matter() -> None:
    judge = lists("map")
    assert code_digest(embedding("Wsabie"), judge) == code_digest(embedding("Wsabie", "query"), judge)
    assert code_digest(embedding("Wsabie"), judge) != code_digest(embedding("ItemBag"), judge)
    with pytest.raises(ImportError, match="has no NoSuchModel"):
        code_digest(embedding("NoSuchModel"))


def test_what_a_judge_was_made_with_counts() -> None:
    names = [
        code_digest(judge)
        for judge in (
            lists("map"),
            lists("map", exclude=False),
            lists("precision@1"),
            chain(lists("map"), lists("mrr")),
            chain(lists("map"), lists("mrr", exclude=False)),
        )
    ]
    assert len(set(names)) == len(names)
    assert code_digest(chain(lists("map"), pairs(5))) == code_digest(chain(lists("map"), pairs(5)))


def test_a_result_comes_back(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "new")
    assert cache.get("k") is None
    kept = cache.put("k", {"value": np.float32(0.5), "curve": np.arange(2)})
    assert kept == cache.get("k") == {"value": 0.5, "curve": [0, 1]}
    assert cache.hits == 1


def test_a_file_that_was_cut_off_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "k.json").write_text('{"value": 0.')
    assert Cache(tmp_path).get("k") is None


def test_what_is_no_plain_data_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="numbers, texts and lists"):
        Cache(tmp_path).put("k", {"model": object()})
    assert Cache(tmp_path).get("k") is None


def test_a_missing_baseline_names_what_it_needs() -> None:
    with pytest.raises(ImportError):
        baseline("NoSuchBaseline").kind()
