"""Last.fm: who played and who tagged which artist. For non-commercial use, by permission of Last.fm."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from topwise.data import Events
from topwise.data.readers import read_columns
from topwise.datasets.base import Dataset, find_file

_ORIGIN_HETREC = "grouplens.org/datasets/hetrec-2011 (hetrec2011-lastfm-2k)"
_ORIGIN_1K = "ocelma.net/MusicRecommendationDataset/lastfm-1K.html (lastfm-dataset-1K)"
_NAME_1K = "userid-timestamp-artid-artname-traid-traname"


def lastfm_hetrec(root: str | Path) -> Dataset:
    """Last.fm HetRec 2011 from a local folder: artists by user, the number of plays as weight."""
    plays = read_columns(
        find_file(root, "user_artists.dat", _ORIGIN_HETREC),
        {"user": "userID", "item": "artistID", "weight": "weight"},
        separator="\t",
    )
    return Dataset(
        log=Events.from_arrays(**plays),
        description="Last.fm HetRec 2011, plays as weights",
        item_titles=_artist_names(root),
    )


def lastfm_hetrec_tags(root: str | Path) -> Dataset:
    """Last.fm HetRec 2011 from a local folder: artists by user and tag (the query), on the day of tagging."""
    import polars as pl

    assigned = read_columns(
        find_file(root, "user_taggedartists.dat", _ORIGIN_HETREC),
        {
            "user": "userID",
            "item": "artistID",
            "tag": "tagID",
            "day": "day",
            "month": "month",
            "year": "year",
        },
        separator="\t",
    )
    tags = read_columns(
        find_file(root, "tags.dat", _ORIGIN_HETREC),
        {"tag": "tagID", "query": "tagValue"},
        separator="\t",
        encoding="latin1",
    )
    frame = pl.DataFrame(assigned).join(pl.DataFrame(tags), on="tag", how="left", maintain_order="left")
    date = pl.date(*(pl.col(part).cast(pl.Int32) for part in ("year", "month", "day")))
    return Dataset(
        log=Events.from_frame(frame.with_columns(time=date), user="user", query="query", time="time"),
        description="Last.fm HetRec 2011, tags as queries",
        item_titles=_artist_names(root),
    )


def _artist_names(root: str | Path) -> dict[str, str]:
    artists = read_columns(
        find_file(root, "artists.dat", _ORIGIN_HETREC), {"id": "id", "name": "name"}, separator="\t"
    )
    return dict(zip(artists["id"].to_list(), artists["name"].to_list(), strict=True))


def lastfm_1k(root: str | Path, item: Literal["artist", "track"] = "artist") -> Dataset:
    """Last.fm-1K from a local folder: every play, with its time; the item is the artist or the track.

    Items go by their names (a track by "artist – track"), because many plays lack the MusicBrainz id. Lines
    without a time or such a name, of which the published file has a few, are left out.
    """
    import polars as pl

    if item not in ("artist", "track"):
        raise ValueError(f"item must be 'artist' or 'track', got {item!r}")
    plays = read_columns(
        _file_1k(root), {"user": 0, "time": 1, "artist": 3, "track": 5}, separator="\t", header=False
    )
    name = pl.col("artist") if item == "artist" else pl.concat_str("artist", "track", separator=" – ")
    frame = pl.DataFrame(plays).select("user", "time", item=name).drop_nulls()
    log = Events.from_frame(frame, user="user", time="time")
    return Dataset(
        log=log,
        description=f"Last.fm-1K, plays by {item}",
        item_titles={name: name for name in log.vocabulary("item").ids.tolist()},
    )


def _file_1k(root: str | Path) -> Path:
    """The published file, or a sample of its rows that carries its name with something added."""
    cuts = sorted(Path(root).glob(f"{_NAME_1K}*.tsv*"))
    return cuts[0] if cuts else find_file(root, f"{_NAME_1K}.tsv", _ORIGIN_1K)
