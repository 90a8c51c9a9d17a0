"""The reader of check-ins, on a folder that the test writes."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import topwise as tw


def test_check_ins_and_places(tmp_path: Path) -> None:
    rows = "user\tvenue\tminute\n1\t30\t0\n1\t40\t61\n1\t40\t61\n2\t30\t1440\n"
    (tmp_path / "checkins.tsv.gz").write_bytes(gzip.compress(rows.encode()))
    (tmp_path / "venues.tsv").write_text("venue\tlat\tlon\n30\t40.5\t-73\n40\t41.5\t-74\n")
    data = tw.datasets.foursquare_nyc(tmp_path)
    assert data.log.ids("item").tolist() == ["30", "40", "30"], "a row that is repeated counts once"
    assert data.log.time is not None
    assert (data.log.time // 10**9).tolist() == [0, 3660, 86400]
    assert data.item_features is not None
    assert data.item_features.names == ["lat", "lon"]
    assert data.item_features.rows(data.log.vocabulary("item")).to_dense().tolist() == [[-1, 1], [1, -1]]


def test_where_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no checkins.tsv .* get the data from github.com"):
        tw.datasets.foursquare_nyc(tmp_path)
