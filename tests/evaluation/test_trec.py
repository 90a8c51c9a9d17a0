from __future__ import annotations

from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pytest
from vector_model import ScoreModel, VectorModel

from topwise.data import Events, Vocabulary
from topwise.evaluation import write_qrels, write_run


@pytest.fixture
def model() -> VectorModel:
    items = (Vocabulary(["a", "b", "c"]), [[1, 0], [0, 1], [0.5, 0.5]])
    return VectorModel(*items, user=(Vocabulary([1, 2]), [[1, 0], [0, 3]]))


def lines(path: Path) -> list[list[str]]:
    return [line.split(" ") for line in path.read_text().splitlines()]


def test_a_run_has_a_line_for_each_place(model: VectorModel, tmp_path: Path) -> None:
    write_run(model, tmp_path / "run")
    assert lines(tmp_path / "run") == [
        ["1", "Q0", "a", "1", "1.0", "topwise"],
        ["1", "Q0", "c", "2", "0.5", "topwise"],
        ["1", "Q0", "b", "3", "0.0", "topwise"],
        ["2", "Q0", "b", "1", "3.0", "topwise"],
        ["2", "Q0", "c", "2", "1.5", "topwise"],
        ["2", "Q0", "a", "3", "0.0", "topwise"],
    ]


def test_a_run_of_some_contexts_without_known_items(model: VectorModel, tmp_path: Path) -> None:
    known = Events.from_arrays(user=[2, 2, 1, 7], item=["b", "elsewhere", "a", "a"])
    write_run(model, tmp_path / "run", users=["2", "2", "9"], k=2, exclude=known, tag="mine")
    assert lines(tmp_path / "run") == [
        ["2", "Q0", "c", "1", "1.5", "mine"],
        ["2", "Q0", "a", "2", "0.0", "mine"],
        ["9", "Q0", "b", "1", "1.5", "mine"],  # unknown to the model: the mean of its contexts
        ["9", "Q0", "c", "2", "1.0", "mine"],
    ]


def test_where_nothing_remains_nothing_is_written(model: VectorModel, tmp_path: Path) -> None:
    write_run(
        model, tmp_path / "run", users=[1], exclude=Events.from_arrays(user=[1] * 3, item=["a", "b", "c"])
    )
    assert (tmp_path / "run").read_text() == ""


def test_a_model_of_scores_writes_the_same_run(tmp_path: Path) -> None:
    test = Events.from_arrays(user=[0, 1, 2, 0], item=[3, 4, 5, 9])
    for kind in (VectorModel, ScoreModel):
        model = kind.random(range(40), highest=3, user=range(30))  # whole numbers: scores are exact, and tie
        write_run(model, tmp_path / kind.__name__, k=20, exclude=test)
    written = (tmp_path / "VectorModel").read_bytes()
    assert written.count(b"\n") == 30 * 20
    assert written == (tmp_path / "ScoreModel").read_bytes()


def test_scores_are_read_back_as_they_were(tmp_path: Path) -> None:
    model = VectorModel.random(range(100), user=range(10), dim=20)
    model.item_rows *= np.float32(1e-6)
    write_run(model, tmp_path / "run")
    scores = model.context_vectors(users=range(10)) @ model.item_vectors().T
    for read in ir_measures.read_trec_run(str(tmp_path / "run")):
        assert read.score == pytest.approx(
            float(scores[int(read.query_id), int(read.doc_id)]), rel=1e-5, abs=1e-12
        )


def test_qrels_have_a_line_for_each_item_to_find(tmp_path: Path) -> None:
    test = Events.from_arrays(user=["x", "y", "x", "x"], item=[1, 2, 3, 1])
    write_qrels(test, tmp_path / "all")
    assert lines(tmp_path / "all") == [["x", "0", "1", "1"], ["x", "0", "3", "1"], ["y", "0", "2", "1"]]
    write_qrels(test, tmp_path / "fresh", exclude=[Events.from_arrays(user=["x", "y"], item=[3, 2])])
    assert lines(tmp_path / "fresh") == [["x", "0", "1", "1"]]


def test_pairs_are_written_alike_in_both_files(tmp_path: Path) -> None:
    model = VectorModel.random(["a", "b"], query=["q"], user=[1, 2])
    test = Events.from_arrays(user=[2], query=["q"], item=["a"])
    write_run(model, tmp_path / "run", users=test.ids("user"), queries=test.ids("query"))
    write_qrels(test, tmp_path / "qrels")
    assert {line[0] for line in lines(tmp_path / "run")} == {"2|q"}
    assert lines(tmp_path / "qrels") == [["2|q", "0", "a", "1"]]
    write_qrels(test, tmp_path / "users", roles=("user",))
    assert lines(tmp_path / "users") == [["2", "0", "a", "1"]]


def test_text_beyond_ascii_is_utf8(tmp_path: Path) -> None:
    write_qrels(Events.from_arrays(query=["Ärzte"], item=['"日本"']), tmp_path / "qrels")
    assert (tmp_path / "qrels").read_text(encoding="utf8") == 'Ärzte 0 "日本" 1\n'


@pytest.mark.parametrize("id_", ["two words", "tab\t", "", " ", "line\nend", "no\u00a0break"])
def test_ids_with_spaces_are_refused(id_: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    with pytest.raises(ValueError, match="each item must be text without any, got"):
        write_qrels(Events.from_arrays(user=["u"], item=[id_]), path)
    with pytest.raises(ValueError, match="each user must be"):
        write_qrels(Events.from_arrays(user=[id_], item=["i"]), path)
    with pytest.raises(ValueError, match="each item must be"):
        write_run(VectorModel.random([id_], user=["u"]), path)
    assert not path.exists()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"k": 0}, ValueError, "k must be at least 1, got 0"),
        ({"tag": "my run"}, ValueError, "each tag must be text without any, got 'my run'"),
        ({"tag": None}, TypeError, "tag must be text, got None"),
        ({"queries": ["q"]}, ValueError, "the model's contexts are made of user, got ids of query"),
        ({"users": [1], "queries": ["q"]}, ValueError, "got ids of user and query"),
        ({"users": 1}, TypeError, "user must be a sequence"),
        ({"users": []}, ValueError, "users= must name at least one context"),
        ({"model": 3}, TypeError, "int has no roles"),
        ({"exclude": 3}, TypeError, "exclude must be a log of events"),
        ({"threads": 0}, ValueError, "threads must be at least 1"),
    ],
)
def test_bad_arguments(
    arguments: dict[str, Any], error: type[Exception], message: str, model: VectorModel, tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):
        write_run(**{"model": model, "path": tmp_path / "run", **arguments})


def test_what_qrels_refuse(tmp_path: Path) -> None:
    pair = Events.from_arrays(user=["a|b"], query=["q"], item=["i"])
    with pytest.raises(ValueError, match=r"got the user 'a\|b'"):
        write_qrels(pair, tmp_path / "qrels")
    with pytest.raises(TypeError, match="test must be a log of events, got int"):
        write_qrels(3, tmp_path / "qrels")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="roles must be of 'user' and 'query', got 'item'"):
        write_qrels(pair, tmp_path / "qrels", roles=("item",))
    with pytest.raises(ValueError, match="roles must"):
        write_qrels(pair, tmp_path / "qrels", roles=())
    with pytest.raises(ValueError, match="pass users="):
        write_run(VectorModel.random(["a"], user=[1], query=[2]), tmp_path / "run")
