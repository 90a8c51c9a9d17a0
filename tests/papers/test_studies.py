"""Every table is well described, and runs on small cuts of the public data."""

from __future__ import annotations

from pathlib import Path

import pytest

from topwise.papers import Study, find, studies
from topwise.papers.cache import Cache, code_digest, digest
from topwise.papers.report import write_result
from topwise.papers.run import Runner
from topwise.papers.show import markdown

STUDIES = studies()

# Those that take long even on a small cut: their likes are run, they are checked for their description.
LONG = {
    *("slides-documents", "slides-keywords-10", "slides-keywords-20"),
    *("lcr-3", "lcr-4", "lasr-2", "lgmml-figure-3"),
}


def test_ids_are_names_of_their_own() -> None:
    ids = [study.id for study in STUDIES]
    assert len(set(ids)) == len(ids)
    assert find(ids[0]) is not None
    with pytest.raises(ValueError, match="did you mean 'slides-kos'"):
        find("slides-koss")


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.id)
def test_the_description_fits_together(study: Study) -> None:
    methods = [method.name for method in study.methods]
    heads = [column.head for column in study.columns]
    assert len(set(methods)) == len(methods)
    assert len(set(heads)) == len(heads)
    assert study.sources
    assert study.protocol
    for published in study.published.values():
        assert set(published) <= set(methods)
        assert all(len(values) <= len(heads) for values in published.values())
    assert set(study.published) <= {source.stands_for for source in study.sources}
    for claim in study.claims:
        assert {claim.better, *claim.than} <= set(methods)
        assert {*claim.columns, *([claim.over] if claim.over else [])} <= set(heads)
        assert claim.than or claim.over
    for column in study.columns:
        assert not column.relative_to or column.relative_to in methods
    for method in study.methods:
        assert digest(method.settings, method.search)
        assert not set(method.search) & set(method.settings)


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.id)
def test_every_row_can_be_fitted_by_this_version(study: Study) -> None:
    for method in study.methods:
        if method.fit is not None:
            assert code_digest(method.fit, study.judge)


@pytest.mark.parametrize("study", [s for s in STUDIES if s.id not in LONG], ids=lambda study: study.id)
def test_it_runs_on_a_small_cut(study: Study, data_root: Path, tmp_path: Path) -> None:
    there = [source for source in study.sources if source.folder(data_root)]
    if not there:
        pytest.skip(f"none of {', '.join(source.name for source in study.sources)} in {data_root}")
    result = Runner(study, data_root, Cache(tmp_path / "cache"), 1, True, False).run()
    for table in result["tables"]:
        for row in table["rows"]:
            if study.method(row["method"]).fit is None:
                continue
            assert row["missing"] is None, row["missing"]
            for head, cell in row["cells"].items():
                assert len(cell["values"]) == 1, (row["method"], head)
                assert cell["values"][0] == cell["values"][0], "not a number"
    assert all(claim["comparisons"] for claim in result["claims"])
    written = write_result(study, result, tmp_path)
    assert len(written) == (3 if study.picture else 2)
    assert all(path.stat().st_size > 500 for path in written)
    assert markdown(study, result).count("| method |") == len(result["tables"])
