"""Latent Collaborative Retrieval (Weston, Wang, Weiss & Berenzweig, ICML 2012): tables 1 to 5."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from topwise import losses
from topwise.papers import triples
from topwise.papers.methods import Mixed, baseline, embedding
from topwise.papers.protocols import pairs
from topwise.papers.study import Claim, Column, Method, Study

PAPER = "Latent Collaborative Retrieval (ICML 2012)"
Q, U, QU = "QUERY × ITEM", "USER × ITEM", "QUERY × ITEM + USER × ITEM"
FULL = "LCR QUERY × USER × ITEM"

_SEARCH = {"max_norm": (1.3, 1.0, 1.7)}
QUICK: dict[str, dict[str, Any]] = {"SVD": {}, "NMF": {"iterations": 10, "dim": 16}}
_ROLES = {Q: ("query",), U: ("user",), QU: ("query", "user")}


def lcr(name: str, *roles: str, **settings: Any) -> Method:
    """LCR on the roles that it may look at; by the paper's measure a pair may take again what it took."""
    fixed = {"dim": 50, "epochs": 30, "repeats": True, "threads": 2, **settings}
    return Method(name, embedding("LCR", *roles), settings=fixed, search=_SEARCH)


def factored(kind: str, task: str) -> Method:
    """SVD or NMF of a matrix, or the mix of two of them."""
    by = "scipy" if kind == "SVD" else "scikit-learn"
    if task == QU:
        fit = Mixed("baselines.Mix", part=f"baselines.{kind}", quick=QUICK[kind])
        search = {"gamma": (0.1, 0.3, 1.0, 3.0)}
        return Method(f"{kind} {task}", fit, by=by, settings={"dim": 50}, search=search)
    return Method(f"{kind} {task}", baseline(kind, *_ROLES[task], **QUICK[kind]), by=by, settings={"dim": 50})


METHODS = (
    *(
        method
        for task, roles in _ROLES.items()
        for method in (
            factored("NMF", task),
            factored("SVD", task),
            lcr(f"LCR {task}", *roles, interaction="none"),
        )
    ),
    lcr(FULL, "query", "user", interaction="full"),
)

COLUMNS = tuple(Column(f"R@{k}", f"recall@{k}") for k in (5, 10, 30, 50))


def _shares(table: dict[str, tuple[float, ...]]) -> dict[str, tuple[float, ...]]:
    return {row: tuple(value / 100 for value in values) for row, values in table.items()}


def _rows(values: list[tuple[float, ...]]) -> dict[str, tuple[float, ...]]:
    """The paper's rows in the order of `METHODS`."""
    return _shares(dict(zip((method.name for method in METHODS), values, strict=True)))


CLAIMS = (
    *(
        Claim(
            f"LCR is superior to SVD and NMF on {task.lower()}", f"LCR {task}", (f"SVD {task}", f"NMF {task}")
        )
        for task in _ROLES
    ),
    Claim("Query and user in one interaction beat their sum", FULL, (f"LCR {QU}",)),
    Claim("Query and user together beat either alone", f"LCR {QU}", (f"LCR {Q}", f"LCR {U}")),
)

TABLE_1 = Study(
    id="lcr-1",
    needs=("LCR",),
    title="recommendation on Last.fm",
    document=PAPER,
    place="Table 1",
    sources=(
        triples.lastfm_1k(),
        triples.foursquare("Last.fm-1K"),
        triples.tagged("Last.fm-1K"),
    ),
    columns=COLUMNS,
    methods=METHODS,
    judge=pairs(5, 10, 30, 50),
    select="recall@30",
    protocol="One day in five is the test (80/10/10 for tags), a tenth of the rest chooses; each test "
    "triple's item ranked among the whole catalogue; n = 50.",
    published={
        "Last.fm-1K": _rows(
            [
                (3.76, 6.38, 13.3, 17.8),
                (4.01, 6.93, 13.9, 18.5),
                (5.60, 9.49, 18.9, 24.8),
                (6.05, 9.86, 20.3, 26.5),
                (6.60, 10.7, 21.4, 27.7),
                (8.37, 14.0, 27.8, 36.5),
                (5.96, 9.93, 20.5, 26.6),
                (6.82, 12.1, 25.9, 34.9),
                (9.22, 15.1, 30.2, 39.0),
                (10.6, 16.6, 32.2, 41.2),
            ]
        )
    },
    claims=CLAIMS,
)

TABLE_2 = replace(
    TABLE_1,
    id="lcr-2",
    title="optimising r@k (WARP) against optimising AUC",
    place="Table 2",
    columns=tuple(
        Column(f"{type(loss).__name__} R@{k}", f"recall@{k}", settings={"loss": loss})
        for loss in (losses.AUC(), losses.WARP())
        for k in (10, 30)
    ),
    methods=tuple(lcr(f"LCR {task}", *roles, interaction="none") for task, roles in _ROLES.items()),
    published={
        "Last.fm-1K": _shares(
            {
                f"LCR {Q}": (6.32, 14.8, 9.49, 18.9),
                f"LCR {U}": (11.0, 23.7, 14.0, 27.8),
                f"LCR {QU}": (12.1, 25.9, 15.1, 30.2),
            }
        )
    },
    claims=tuple(
        Claim(
            f"WARP ranks the top better than AUC, {task.lower()}, k = {k}",
            f"LCR {task}",
            (),
            (f"WARP R@{k}",),
            f"AUC R@{k}",
        )
        for task in _ROLES
        for k in (10, 30)
    ),
)

TABLE_3 = replace(
    TABLE_1,
    id="lcr-3",
    title="recommendation on playlists (head)",
    place="Table 3",
    sources=(triples.films("playlists"),),
    protocol="80/10/10; each test triple's item ranked among the whole catalogue; n = 50.",
    published={
        "playlists": _rows(
            [
                (5.28, 8.87, 18.4, 24.0),
                (7.21, 11.0, 20.8, 26.9),
                (10.7, 16.3, 29.1, 35.6),
                (6.23, 10.2, 19.2, 25.0),
                (6.84, 11.2, 20.9, 26.9),
                (6.26, 10.5, 21.8, 29.3),
                (6.26, 10.2, 19.2, 25.0),
                (7.87, 12.0, 22.2, 28.4),
                (12.8, 19.4, 34.5, 42.0),
                (13.0, 19.6, 34.6, 42.2),
            ]
        )
    },
)

_SIZES = (10, 25, 50, 100)

TABLE_4 = replace(
    TABLE_1,
    id="lcr-4",
    title="changing the embedding size",
    place="Table 4",
    sources=(triples.lastfm_1k(), triples.foursquare("Last.fm-1K")),
    columns=tuple(Column(f"n = {n}", "recall@30", settings={"dim": n}) for n in _SIZES),
    published={
        "Last.fm-1K": _rows(
            [
                (8.53, 9.94, 13.3, 12.3),
                (11.5, 12.8, 13.9, 14.7),
                (15.0, 18.0, 18.9, 19.8),
                (12.1, 16.5, 20.3, 23.5),
                (12.8, 17.7, 21.4, 25.1),
                (21.1, 26.1, 27.8, 28.7),
                (12.7, 16.9, 20.5, 23.6),
                (13.3, 17.9, 25.9, 25.7),
                (22.3, 27.9, 30.2, 31.3),
                (23.3, 28.9, 32.2, 33.3),
            ]
        )
    },
    claims=(
        *(
            Claim(
                f"LCR beats SVD and NMF for all n, {task.lower()}",
                f"LCR {task}",
                (f"SVD {task}", f"NMF {task}"),
            )
            for task in _ROLES
        ),
        Claim("100 dimensions are better than 10", FULL, (), ("n = 100",), "n = 10"),
    ),
)

TABLE_5 = replace(
    TABLE_1,
    id="lcr-5",
    title="content alone: the tail",
    place="Table 5",
    sources=(triples.cold_articles("playlist tail"),),
    columns=tuple(Column(f"R@{k}", f"recall@{k}") for k in (30, 50, 100, 200)),
    methods=(
        Method("COSINE", baseline("Cosine", "query"), by="scikit-learn"),
        Method(
            "LSI",
            baseline("LSI", "query", dim=16),
            by="scikit-learn",
            settings={"dim": 50, "weighting": "none"},
        ),
        lcr(f"LCR {Q}", "query", interaction="none"),
        lcr("LCR Q × I + U × I", "query", "user", interaction="none"),
        lcr(FULL, "query", "user", interaction="diagonal"),
    ),
    judge=pairs(30, 50, 100, 200),
    select="recall@100",
    protocol="Trained on items with many events, judged on items with none in training, of which there is "
    "content alone; a tenth of the head's items chooses; ranked among all items.",
    published={
        "playlist tail": _shares(
            {
                "COSINE": (1.1, 1.7, 2.9, 5.2),
                "LSI": (1.0, 1.5, 2.6, 4.8),
                f"LCR {Q}": (1.9, 2.9, 4.8, 8.4),
                "LCR Q × I + U × I": (2.3, 3.4, 5.9, 10.3),
                FULL: (2.4, 3.5, 6.0, 10.7),
            }
        )
    },
    claims=(
        Claim("LCR beats cosine and LSI on cold items", f"LCR {Q}", ("COSINE", "LSI")),
        Claim("The user helps on cold items too", "LCR Q × I + U × I", (f"LCR {Q}",)),
        Claim("A diagonal for each user is better than the sum", FULL, ("LCR Q × I + U × I",)),
    ),
)

STUDIES = (TABLE_1, TABLE_2, TABLE_3, TABLE_4, TABLE_5)
