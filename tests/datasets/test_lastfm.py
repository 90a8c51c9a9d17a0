from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from topwise import datasets

HETREC = "lastfm-hetrec2011"
LINES = (
    "user_000001\t2009-05-04T23:08:57Z\tmbid\tDeep Dish\t\tSay Hello",
    "user_000002\t2009-05-04T13:54:10Z\t\tMúm\tmbid\tGreen Grass",
    "user_000002\t2009-05-04T13:54:10Z\t\tMúm",
)


def test_plays(data_root: Path):
    loaded = datasets.lastfm_hetrec(data_root / HETREC)
    assert (len(loaded.log), loaded.log.n("user"), loaded.log.n("item")) == (92_834, 1_892, 17_632)
    assert loaded.log.weight is not None
    assert loaded.log.weight[:2].tolist() == [13_883.0, 11_690.0]
    assert loaded.item_titles["1"] == "MALICE MIZER"
    assert set(loaded.log.vocabulary("item").ids) <= set(loaded.item_titles)


def test_tags_are_queries(data_root: Path):
    log = datasets.lastfm_hetrec_tags(data_root / HETREC).log
    assert log.roles == ("user", "query", "item")
    assert (len(log), log.n("user"), log.n("query"), log.n("item")) == (186_478, 1_892, 9_749, 12_523)
    first = log.take([0])
    assert (first.ids("user")[0], first.ids("query")[0], first.ids("item")[0]) == ("2", "chillout", "52")
    assert first.time is not None
    assert first.time.astype("datetime64[ns]").astype("datetime64[D]").astype(str).tolist() == ["2009-04-01"]


def test_the_sample_of_the_1k_set(data_root: Path):
    artists = datasets.lastfm_1k(data_root / "lastfm-1k-sample")
    assert (len(artists.log), artists.log.n("user"), artists.log.n("item")) == (5_000, 2, 235)
    tracks = datasets.lastfm_1k(data_root / "lastfm-1k-sample", item="track")
    assert tracks.log.n("item") >= 1_185
    assert tracks.log.ids("item")[1] == "坂本龍一 – Composition 0919 (Live_2009_4_15)"
    assert tracks.log.time is not None
    assert str(tracks.log.time.max().astype("datetime64[ns]")).startswith("2009-05-04T23:08:57")


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_the_1k_format(tmp_path: Path, ending: str):
    content = "\n".join(LINES).encode()
    path = tmp_path / f"userid-timestamp-artid-artname-traid-traname.tsv{ending}"
    path.write_bytes(gzip.compress(content) if ending else content)
    loaded = datasets.lastfm_1k(tmp_path)
    assert loaded.log.ids("item").tolist() == ["Deep Dish", "Múm", "Múm"]
    assert loaded.item_titles["Múm"] == "Múm"
    assert datasets.lastfm_1k(tmp_path, item="track").log.ids("item").tolist() == [
        "Deep Dish – Say Hello",
        "Múm – Green Grass",
    ]


def test_items_are_artists_or_tracks(tmp_path: Path):
    with pytest.raises(ValueError, match="item must be 'artist' or 'track', got 'album'"):
        datasets.lastfm_1k(tmp_path, item="album")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("load", "file"),
    [
        (datasets.lastfm_hetrec, "user_artists.dat"),
        (datasets.lastfm_hetrec_tags, "user_taggedartists.dat"),
        (datasets.lastfm_1k, "userid-timestamp-artid-artname-traid-traname.tsv"),
    ],
)
def test_absent_files_say_where_to_get_them(tmp_path: Path, load: Any, file: str):
    with pytest.raises(
        FileNotFoundError, match=rf"no {file} .*get the data from (grouplens\.org|ocelma\.net)"
    ):
        load(tmp_path)
