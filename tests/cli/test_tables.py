"""Tables for reading, JSON and CSV for programs."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

from topwise.cli.tables import Column, clean, decimal, print_record, print_rows, table_lines

COLUMNS = [Column("name"), Column("long_title"), Column("score", decimal, right=True)]


def test_columns_are_aligned_whatever_the_letters() -> None:
    rows = [("a", "日本", 1.0), ("bb", "e\u0301te\u0301", 22.5)]
    assert list(table_lines(COLUMNS, rows)) == [
        "name  long title   score",
        "────  ──────────  ──────",
        "a     日本        1.0000",
        "bb    e\u0301te\u0301          22.50",
    ]


def test_long_texts_give_way_to_the_terminal() -> None:
    lines = list(table_lines(COLUMNS, [("a", "x" * 100, 1.0)], width=40))
    assert max(map(len, lines)) == 40
    assert lines[2] == f"a     {'x' * 25}…  1.0000"
    assert len(next(iter(table_lines(COLUMNS, [("a", "x" * 100, 1.0)])))) > 100


def test_groups_are_named_once() -> None:
    columns = [Column("user"), Column("item")]
    rows = [("a", "1"), ("a", "2"), ("b", "2")]
    assert list(table_lines(columns, rows, groups=1))[2:] == ["a     1", "      2", "", "b     2"]


def test_a_table_without_rows_has_its_head() -> None:
    assert list(table_lines(COLUMNS, [])) == ["name  long title  score", "────  ──────────  ─────"]


def test_json_has_no_words_that_are_not_json(capsys: pytest.CaptureFixture[str]) -> None:
    row = (np.float32(0.1), np.int64(3), float("nan"), float("-inf"), None, "é")
    columns = [Column(name) for name in "abcdef"]
    print_rows(columns, [row], "json")
    (parsed,) = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert parsed == {"a": 0.1, "b": 3, "c": None, "d": None, "e": None, "f": "é"}
    print_rows(columns, [], "json")
    assert json.loads(capsys.readouterr().out) == []
    print_record({"a": np.arange(2), "b": {1: (np.nan,)}}, "json")
    assert json.loads(capsys.readouterr().out) == {"a": [0, 1], "b": {"1": [None]}}


def test_csv_is_read_back(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows([Column("text"), Column("value")], [('a, "b"\nc', float("nan")), ("é", 0.5)], "csv")
    text = capsys.readouterr().out
    assert list(csv.reader(io.StringIO(text))) == [["text", "value"], ['a, "b"\nc', ""], ["é", "0.5"]]
    print_record({"a": 1, "b": [1, 2]}, "csv")
    assert capsys.readouterr().out == "a\n1\n"


def test_float32_keeps_its_own_digits() -> None:
    assert clean(np.float32(3.1530716)) == 3.1530716
    assert clean({"x": [np.float32(0.1)]}) == {"x": [0.1]}
