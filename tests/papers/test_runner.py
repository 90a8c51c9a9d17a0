"""A small table from its data to its page: choices, seeds, cache, claims, Markdown."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from examples_file import write_examples

from topwise.papers.cache import Cache
from topwise.papers.report import write_page, write_result
from topwise.papers.run import Runner, available
from topwise.papers.show import markdown
from topwise.papers.study import Study


def run(study: Study, folder: Path, **options: Any) -> dict[str, Any]:
    cache = options.pop("cache", Cache(folder.parent / "cache"))
    return Runner(study, folder, cache, **{"progress": False, "seeds": 2, **options}).run()


def rows(result: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["method"]: row for row in result["tables"][0]["rows"]}


def test_each_seed_is_a_run_with_its_own_choice(study: Study, folder: Path) -> None:
    result = run(study, folder)
    warp = rows(result)["WARP"]
    assert len(warp["cells"]["P@1"]["values"]) == 2
    assert [settings["max_norm"] for settings in warp["settings"]] == [1.5, 1.5]
    for tried in warp["tried"]:
        values = {point["max_norm"]: value for point, value in tried}
        assert values[1.5] > values[0.01]  # rows of length 0.01 cannot keep a margin of 1
    assert warp["cells"]["P@1"]["published"] == 0.119
    assert warp["cells"]["dim 2"]["published"] is None
    assert rows(result)["absent"]["missing"] == "this version of topwise has no NoSuchModel"


def test_the_test_events_are_not_looked_at_for_choices(study: Study, folder: Path) -> None:
    seen = []

    def judge(model: Any, task: Any, part: Any) -> dict[str, Any]:
        seen.append("test" if part is task.test else "validation")
        return study.judge(model, task, part)

    run(replace(study, judge=judge, columns=study.columns[:1], methods=study.methods[1:2]), folder, seeds=1)
    assert seen == ["validation", "validation", "test"]


def test_columns_with_settings_of_their_own_are_other_runs(study: Study, folder: Path) -> None:
    warp = rows(run(study, folder))["WARP"]
    assert warp["cells"]["dim 2"]["values"] != warp["cells"]["P@1"]["values"]
    assert warp["cells"]["change"]["values"] == warp["cells"]["P@1"]["values"]
    changes = [
        cell["change"]["mean"]
        for cell in (rows(run(study, folder))[name]["cells"]["change"] for name in ("AUC", "WARP"))
    ]
    assert changes[0] == 0
    assert changes[1] > 0


def test_a_second_run_measures_nothing_again(study: Study, folder: Path) -> None:
    def judge(model: Any, task: Any, part: Any) -> dict[str, Any]:
        raise AssertionError("measured again")

    cache = Cache(folder.parent / "cache")
    first = run(study, folder, cache=cache)
    cache.hits = 0
    again = run(study, folder, cache=cache)
    assert cache.hits > 0
    assert first["tables"] == again["tables"]
    # The judge is not called; its source is that of another module, so a changed judge is measured.
    with pytest.raises(AssertionError, match="measured again"):
        run(replace(study, judge=judge), folder, cache=cache)


def test_a_run_that_broke_off_goes_on(study: Study, folder: Path) -> None:
    calls: list[str] = []

    def judge(model: Any, task: Any, part: Any) -> dict[str, Any]:
        calls.append("judged")
        if len(calls) == 4:
            raise KeyboardInterrupt
        return study.judge(model, task, part)

    broken = replace(study, judge=judge)
    with pytest.raises(KeyboardInterrupt):
        run(broken, folder)
    run(broken, folder)
    whole = len(calls)
    run(broken, folder, cache=Cache(folder.parent / "another"))
    assert whole - 1 == len(calls) - whole  # only what had been broken off was measured twice


def test_other_data_are_measured_anew(study: Study, folder: Path) -> None:
    first = run(study, folder)
    write_examples(folder / "small" / "data.txt", seed=1)
    assert rows(run(study, folder))["AUC"]["cells"] != rows(first)["AUC"]["cells"]


def test_quick_has_one_fit_a_cell(study: Study, folder: Path) -> None:
    result = run(study, folder, quick=True, seeds=1)
    assert rows(result)["WARP"]["tried"] == [[]]
    assert rows(result)["WARP"]["settings"][0]["max_norm"] == 0.01
    assert "a small cut" in markdown(study, result)


def test_the_original_is_taken_where_it_is_there(study: Study, folder: Path) -> None:
    source = study.sources[0]
    original = replace(source, name="the large set", stands_for="a large set", also=("Large",), original=True)
    both = replace(study, sources=(original, source))
    assert [found.name for found, _ in available(both, folder)] == ["small"]
    (folder / "Large").symlink_to(folder / "small")
    assert [found.name for found, _ in available(both, folder)] == ["the large set"]
    assert run(both, folder, quick=True, seeds=1)["tables"][0]["original"]


def test_what_is_missing_is_named(study: Study, folder: Path) -> None:
    with pytest.raises(FileNotFoundError, match="small-1 needs one of small, each a folder in"):
        run(study, folder / "small")
    with pytest.raises(FileNotFoundError, match="set TOPWISE_DATA"):
        run(study, folder / "nowhere")


def test_claims_have_their_verdicts(study: Study, folder: Path) -> None:
    warp, two, absent = run(study, folder)["claims"]
    assert warp["comparisons"][0]["effect"] > 0
    assert (two["comparisons"][0]["better"], two["comparisons"][0]["than"]) == ("WARP", "P@1")
    assert two["comparisons"][0]["effect"] < 0
    assert two["verdict"] == "does not hold"
    assert absent["verdict"] == "not measured"


def test_the_table_has_the_papers_layout(study: Study, folder: Path) -> None:
    result = run(study, folder)
    text = markdown(study, result)
    lines = [line for line in text.splitlines() if line.startswith("|")]
    head = "method | P@1 paper | P@1 ours | P@1 peer | change paper | change ours | change peer"
    assert lines[0].startswith(f"| {head} |")
    warp = next(line for line in lines if line.startswith("| WARP"))
    mean = rows(result)["WARP"]["cells"]["P@1"]["mean"]
    assert f"| 11.90 % | {100 * mean:.2f} % ±" in warp
    assert "+150.0 %" in warp
    assert next(line for line in lines if line.startswith("| absent")).startswith(
        "| absent (a library) |  |  | not here |"
    )
    assert "- WARP: max_norm 1.5 (from max_norm of 0.01, 1.5)" in text
    assert "small, for a large set" in text


def test_a_result_is_written_as_markdown_json_and_picture(study: Study, folder: Path, tmp_path: Path) -> None:
    def picture(figure: Any, result: dict[str, Any]) -> None:
        figure.subplots().plot([row["cells"]["P@1"]["mean"] or 0 for row in result["tables"][0]["rows"]])

    drawn = replace(study, picture=picture)
    result = run(drawn, folder)
    page, data, image = write_result(drawn, result, tmp_path / "out")
    assert image.read_bytes().startswith(b"\x89PNG")
    assert "![a small table](small-1.png)" in page.read_text()
    assert json.loads(data.read_text())["tables"] == result["tables"]


def test_the_page_has_every_verdict_first(study: Study, folder: Path, tmp_path: Path) -> None:
    result = run(study, folder)
    page = tmp_path / "docs" / "results.md"
    write_page(
        [(study, result)], page, {"processor": "some processor", "threads": 2}, "topwise papers report"
    )
    text = page.read_text()
    assert "some processor" in text
    assert "Written by `topwise papers report`" in text
    claims = text[text.index("## Claims") : text.index("## small-1")]
    for claim in result["claims"]:
        assert f"| {claim['claim']} | {claim['verdict']} |" in claims
    assert "(#small-1-a-small-table)" in claims
    assert text.count("| method |") == 1
