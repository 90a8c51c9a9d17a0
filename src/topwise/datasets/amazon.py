"""Amazon reviews as sequences of items, in the preparation published with BERT4Rec."""

from __future__ import annotations

from pathlib import Path

from topwise.data import Events
from topwise.datasets.base import Dataset, existing

_ORIGIN = "github.com/FeiSun/BERT4Rec (data/beauty.txt)"


def amazon_beauty(path: str | Path) -> Dataset:
    """The file beauty.txt: user and item, 353,962 events; a user's events are in the order of time.

    There are no times to part it by, and no titles.
    """
    log = Events.read(existing(path, _ORIGIN), user=0, item=1, separator=" ", header=False)
    return Dataset(log=log, description="Amazon Beauty, reviews in order of time", item_titles={})
