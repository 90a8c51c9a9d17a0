"""Foursquare check-ins in New York, in the preparation published with STAN: who was where, and when."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from topwise.data import Events, Features
from topwise.data.readers import read_columns
from topwise.datasets.base import Dataset, find_file

_ORIGIN = "github.com/yingtaoluo/Spatial-Temporal-Attention-Network-for-POI-Recommendation (NYC)"


def foursquare_nyc(root: str | Path) -> Dataset:
    """147,938 check-ins of 1,083 users at 5,135 venues, from a local folder; a venue's content is its place.

    Times are minutes from a start that the publisher does not state. Here they count from 1970-01-01, so days
    and gaps are right, and dates are not. Repeated rows, of which there are 458, are left out.
    """
    import polars as pl

    columns = read_columns(
        find_file(root, "checkins.tsv", _ORIGIN),
        {"user": "user", "item": "venue", "minute": "minute"},
        separator="\t",
    )
    frame = pl.DataFrame(columns).unique(maintain_order=True)
    frame = frame.with_columns(time=pl.col("minute").cast(pl.Int64) * 60)
    places = pl.DataFrame(
        read_columns(
            find_file(root, "venues.tsv", _ORIGIN),
            {"venue": "venue", "lat": "lat", "lon": "lon"},
            separator="\t",
        )
    ).with_columns(pl.col("lat", "lon").cast(pl.Float64))
    coordinates = places.select("lat", "lon").to_numpy()
    standard = (coordinates - coordinates.mean(axis=0)) / coordinates.std(axis=0)
    return Dataset(
        log=Events.from_frame(frame, user="user", time="time"),
        description="Foursquare check-ins, New York",
        item_titles={},
        item_features=Features.from_matrix(places["venue"], np.ascontiguousarray(standard), ["lat", "lon"]),
    )
