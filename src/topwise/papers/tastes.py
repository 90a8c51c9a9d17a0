"""The slides' tables of MaxMF: several tastes a user."""

from __future__ import annotations

from typing import Any

from topwise.papers import sources
from topwise.papers.annotation import SLIDES
from topwise.papers.methods import embedding
from topwise.papers.orders import PROTOCOL, SVD
from topwise.papers.protocols import lists
from topwise.papers.study import Claim, Column, Method, Published, Study

METRICS = ("mean_rank", "precision@1", "precision@10", "recall@1", "recall@10")
HEADS = ("Rank", "P@1", "P@10", "R@1", "R@10")
BASE = "MaxMF T=1"

_SEARCH = {"max_norm": (1.4, 1.0, 1.8)}


def max_mf(tastes: int) -> Method:
    """MaxMF with so many tastes, trained in two stages as the slides have it."""
    settings: dict[str, Any] = {"dim": 64, "epochs": 30, "tastes": tastes, "stages": 2}
    return Method(f"MaxMF T={tastes}", embedding("MaxMF"), settings=settings, search=_SEARCH)


def _percent(table: dict[str, tuple[float, ...]]) -> Published:
    return {row: tuple(value / 100 for value in values) for row, values in table.items()}


STUDIES = (
    Study(
        id="slides-maxmf",
        needs=("MaxMF",),
        title="several tastes a user",
        document=SLIDES,
        place="MaxMF: Google Music Results, YouTube results",
        sources=(
            sources.lastfm("Google Music artists"),
            sources.articles("Google Music tracks"),
            sources.movielens("YouTube"),
        ),
        columns=tuple(
            Column(head, metric, "relative", larger=metric != "mean_rank", relative_to=BASE)
            for head, metric in zip(HEADS, METRICS, strict=True)
        ),
        methods=(
            SVD,
            *(max_mf(tastes) for tastes in (1, 2, 3, 5, 10)),
        ),
        judge=lists(*METRICS),
        select="recall@10",
        protocol=PROTOCOL.format("one taste", "WARP"),
        published={
            "Google Music artists": _percent(
                {
                    "SVD": (26, -7.9, -1.5, -6.7, -0.75),
                    "MaxMF T=3": (-3.9, -3.1, -0.18, -4.4, -0.15),
                    "MaxMF T=5": (-8, -0.46, 1.3, -0.63, 1.9),
                    "MaxMF T=10": (-11, 0.33, 3.1, 0.33, 3.2),
                }
            ),
            "Google Music tracks": _percent(
                {
                    "MaxMF T=2": (-7.7, 10, 12, 9.8, 10),
                    "MaxMF T=3": (-12, 20, 21, 20, 20),
                    "MaxMF T=10": (-17, 30, 32, 33, 34),
                }
            ),
            "YouTube": _percent(
                {
                    "SVD": (56, -54, -57, -54, -96),
                    "MaxMF T=2": (-3.2, 8.8, 13, 9.9, 14),
                    "MaxMF T=3": (-6.2, 16, 18, 17, 19),
                    "MaxMF T=5": (-9, 22, 23, 23, 23),
                    "MaxMF T=10": (-11, 26, 26, 28, 26),
                }
            ),
        },
        claims=(
            Claim("Several tastes bring the mean rank down", "MaxMF T=5", (BASE,), ("Rank",)),
            Claim("Several tastes rank the top better", "MaxMF T=5", (BASE,), ("P@10", "R@10")),
            Claim("Ten tastes are better than three", "MaxMF T=10", ("MaxMF T=3",), ("Rank", "P@10")),
        ),
    ),
)
