"""The slides' tables of the K-order statistic loss: k trades precision against mean and maximum rank."""

from __future__ import annotations

from dataclasses import replace

from topwise import losses
from topwise.papers import sources
from topwise.papers.annotation import SLIDES
from topwise.papers.methods import baseline, embedding
from topwise.papers.protocols import lists
from topwise.papers.study import Claim, Column, Method, Published, Study

METRICS = ("mean_rank", "max_rank", "precision@1", "precision@10", "recall@1", "recall@10")
HEADS = ("Mean Rank", "Max Rank", "P@1", "P@10", "R@1", "R@10")


def bag(name: str, loss: losses.Loss) -> Method:
    """Users as the mean of their items, the slides' second form of a factor model."""
    settings = {"loss": loss, "dim": 64, "epochs": 30, "threads": 2}
    return Method(name, embedding("ItemBag"), settings=settings, search={"max_norm": (1.6, 1.2, 2.0)})


def columns(base: str) -> tuple[Column, ...]:
    """The slides' columns: changes against the row `base`."""
    return tuple(
        Column(head, metric, "relative", larger=not metric.endswith("rank"), relative_to=base)
        for head, metric in zip(HEADS, METRICS, strict=True)
    )


SVD = Method(
    "SVD",
    baseline("SVD"),
    by="scipy",
    settings={"columns": "log_odds"},
    search={"dim": (16, 32, 64)},
)


def ordered(base: losses.Loss) -> tuple[Method, ...]:
    """K-OS with K = 5 positives drawn, for each position that is always taken, by steps of this loss."""
    return tuple(bag(f"K-OS k={k}", losses.KOS(k=5, position=k, base=base)) for k in range(1, 6))


def _percent(table: dict[str, tuple[float, ...]]) -> Published:
    return {row: tuple(value / 100 for value in values) for row, values in table.items()}


ARTISTS = _percent(
    {
        "SVD": (187, 205, -19, -14, -19, -14),
        "K-OS k=1": (195, 224, -1.3, -5.2, -1.8, -5.6),
        "K-OS k=2": (88, 110, 1, -0.4, 0.7, -0.6),
        "K-OS k=3": (23, 32, -1, -0.4, -1.6, -0.4),
        "K-OS k=4": (-7.7, -6.4, -3, -2, -4, -2),
        "K-OS k=5": (-16, -18, -14, -7, -14, -7),
    }
)
ARTISTS_AUC = _percent(
    {
        "SVD": (254, 284, 1.6, -2.5, 0.72, -2.1),
        "WARP": (23, 26, 25, 14, 25, 13),
        "K-OS k=1": (159, 194, 1.3, -5, -0.1, -5.6),
        "K-OS k=2": (65, 80, 9, 0.3, 7, -0.4),
        "K-OS k=3": (15, 20, 10, 3.9, 9, 3.6),
        "K-OS k=4": (-2.7, -1.6, 6, 3, 5.9, 2.7),
        "K-OS k=5": (-2.2, -3.7, -25, -8, -24, -8),
    }
)
TRACKS = _percent(
    {
        "K-OS k=1": (323, 271, 16, 3.3, 17, 4.3),
        "K-OS k=2": (209, 199, 22, 14, 23, 15),
        "K-OS k=3": (50.7, 61, 22, 19, 22, 20),
        "K-OS k=4": (-44.1, -40.9, 9.1, 15, 12, 16),
        "K-OS k=5": (-54.7, -54.8, -50, -32, -50, -33),
    }
)
VIDEOS = _percent(
    {
        "SVD": (56, 45.3, -54, -57, -54, -96),
        "K-OS k=1": (119, 101, 14, 6.5, 12, 3.5),
        "K-OS k=2": (55, 71, 7, 6, 5.8, 4.8),
        "K-OS k=3": (10, 19, -1.4, 1.3, -1.2, 2.1),
        "K-OS k=4": (-10, -13, -10, -6.4, -8, -3.8),
        "K-OS k=5": (-14, -23, -36, -32, -34, -30),
    }
)

PROTOCOL = (
    "Of each user with more than 15 items five random ones are left out (and five more for all choices), and "
    "ranked among all unrated items. Changes against {} (in brackets its own values, ranks counted from 1), "
    "by {} steps."
)

ORDERED = Study(
    id="slides-kos",
    title="the K-order statistic loss, against WARP",
    document=SLIDES,
    place="K-OS loss: results (Google Music artists, YouTube)",
    sources=(sources.lastfm("Google Music artists"), sources.movielens("YouTube")),
    columns=columns("WARP"),
    methods=(SVD, bag("WARP", losses.WARP()), *ordered(losses.WARP())),
    judge=lists(*METRICS),
    select="recall@10",
    protocol=PROTOCOL.format("WARP", "WARP"),
    published={"Google Music artists": ARTISTS, "YouTube": VIDEOS},
    claims=(
        Claim("Late positions bring the mean and the maximum rank down", "K-OS k=5", ("WARP",), HEADS[:2]),
        Claim("Early positions cost mean and maximum rank", "WARP", ("K-OS k=1",), HEADS[:2]),
        Claim(
            "Early positions rank the top better than late ones", "K-OS k=2", ("K-OS k=5",), ("P@1", "P@10")
        ),
        Claim("An early position optimises P@1 better than WARP", "K-OS k=2", ("WARP",), ("P@1",)),
        Claim("WARP beats SVD", "WARP", ("SVD",), ("Mean Rank", "P@10")),
    ),
)

ORDERED_AUC = replace(
    ORDERED,
    id="slides-kos-auc",
    title="the K-order statistic loss, against AUC",
    place="Google Music Artist Recommendation - AUC baseline",
    sources=(sources.lastfm("Google Music artists"),),
    columns=columns("AUC"),
    methods=(SVD, bag("WARP", losses.WARP()), bag("AUC", losses.AUC()), *ordered(losses.AUC())),
    protocol=PROTOCOL.format("AUC", "AUC"),
    published={"Google Music artists": ARTISTS_AUC},
    claims=(
        Claim("WARP ranks the top better than AUC", "WARP", ("AUC",), ("P@1", "P@10")),
        Claim("AUC has the better mean and maximum rank", "AUC", ("WARP",), HEADS[:2]),
        Claim(
            "A position in the middle ranks the top better than AUC", "K-OS k=3", ("AUC",), ("P@1", "P@10")
        ),
        Claim("The last position brings the maximum rank down", "K-OS k=5", ("AUC",), ("Max Rank",)),
    ),
)

ORDERED_TRACKS = replace(
    ORDERED,
    id="slides-kos-tracks",
    title="the K-order statistic loss on a larger catalogue",
    place="Google Music Track Recommendation",
    sources=(sources.articles("Google Music tracks"),),
    methods=tuple(row for row in ORDERED.methods if row.name != "SVD"),
    published={"Google Music tracks": TRACKS},
    claims=ORDERED.claims[:4],
)

STUDIES = (ORDERED, ORDERED_AUC, ORDERED_TRACKS)
