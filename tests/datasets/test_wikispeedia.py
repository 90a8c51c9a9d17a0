from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from topwise import datasets


def test_links(data_root: Path) -> None:
    loaded = datasets.wikispeedia_links(data_root / "wikispeedia")
    assert (len(loaded.log), loaded.log.roles) == (119_879, ("query", "item"))
    assert loaded.item_features is not None
    assert loaded.item_titles["%C3%81ed%C3%A1n_mac_Gabr%C3%A1in"] == "Áedán mac Gabráin"


def test_categories_count_for_those_above_them(tmp_path: Path) -> None:
    (tmp_path / "links.tsv").write_text("# from, to\n\nZulu\tAfrica\nAfrica\tZulu\nZulu\tLion%21\n")
    with gzip.open(tmp_path / "categories.tsv.gz", "wt") as file:
        file.write("# article, category\nZulu\tsubject.Geography.African\nElsewhere\tsubject.Art\n")
        file.write("Africa\tsubject.Geography\nLion%21\tsubject.Science.Biology\n")
    loaded = datasets.wikispeedia_links(tmp_path)
    assert loaded.log.ids("query").tolist() == ["Zulu", "Africa", "Zulu"]
    assert loaded.log.ids("item").tolist() == ["Africa", "Zulu", "Lion%21"]
    assert loaded.item_titles["Lion%21"] == "Lion!"
    features = loaded.item_features
    assert features is not None
    assert features.vocabulary.ids.tolist() == ["Africa", "Lion%21", "Zulu"]
    names = [{features.names[c] for c in features.matrix.row(row)} for row in range(3)]
    assert names == [
        {"subject.Geography"},
        {"subject.Science", "subject.Science.Biology"},
        {"subject.Geography", "subject.Geography.African"},
    ]


def test_what_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no links\.tsv"):
        datasets.wikispeedia_links(tmp_path)
    (tmp_path / "links.tsv").write_text("Zulu\tAfrica\nAfrica\n")
    with pytest.raises(ValueError, match=r"line 2 of .* must be two names with a tab between, got 'Africa'"):
        datasets.wikispeedia_links(tmp_path)
