"""Latent Structured Ranking (Weston & Blitzer, UAI 2012): tables 1, 2, 3 and 5."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from topwise import losses
from topwise.papers import sources, triples
from topwise.papers.methods import baseline, embedding
from topwise.papers.protocols import chain, lists, pairs
from topwise.papers.study import Claim, Column, Method, Study, Task, Values

PAPER = "Latent Structured Ranking (UAI 2012)"

_SEARCH = {"max_norm": (1.3, 1.0, 1.7)}


def lasr(steps: int, name: str = "", **settings: Any) -> Method:
    """LaSR after so many steps beyond the first ranking; t = 0 has no structure, and is a factorisation."""
    fixed = {"dim": 50, "epochs": 30, "threads": 2, **settings}
    if steps == 0:
        fit = embedding("MatrixFactorization")
    else:
        fit, fixed = embedding("LaSR"), {"steps": steps, "list_size": 20, **fixed}
    return Method(name or f"LaSR (t = {steps})", fit, settings=fixed, search=_SEARCH)


def _shares(table: dict[str, tuple[float, ...]]) -> dict[str, tuple[float, ...]]:
    return {row: tuple(value / 100 for value in values) for row, values in table.items()}


_NMF = Method("NMF", baseline("NMF", iterations=10, dim=16), by="scikit-learn", settings={"dim": 50})
_SVD = Method("SVD", baseline("SVD"), by="scipy", settings={"dim": 50})

TABLE_1 = Study(
    id="lasr-1",
    needs=("LaSR",),
    title="music recommendation",
    document=PAPER,
    place="Table 1",
    sources=(
        triples.lastfm_1k(pairs_only=True),
        triples.foursquare("Last.fm-1K", pairs_only=True),
        triples.films("Last.fm-1K", pairs_only=True),
    ),
    columns=tuple(Column(f"R@{k}", f"recall@{k}") for k in (5, 10, 30, 50)),
    methods=(
        _NMF,
        _SVD,
        lasr(0, "LaSR (t = 0), AUC", loss=losses.AUC()),
        lasr(0),
        lasr(1),
        lasr(2),
    ),
    judge=pairs(5, 10, 30, 50),
    select="recall@30",
    protocol="One day in five is the test (80/10/10 for films), a tenth of the rest chooses; each test "
    "pair's item ranked among the whole catalogue; n = 50, k = 20.",
    published={
        "Last.fm-1K": _shares(
            {
                "NMF": (3.76, 6.38, 13.3, 17.8),
                "SVD": (4.01, 6.93, 13.9, 18.5),
                "LaSR (t = 0), AUC": (3.56, 6.32, 14.8, 20.3),
                "LaSR (t = 0)": (5.60, 9.49, 18.9, 24.8),
                "LaSR (t = 1)": (6.65, 10.73, 20.1, 26.7),
                "LaSR (t = 2)": (6.93, 10.95, 20.3, 26.5),
            }
        )
    },
    claims=(
        Claim("LaSR with t = 0 outperforms SVD and NMF", "LaSR (t = 0)", ("SVD", "NMF")),
        Claim("WARP, not AUC, is what does it", "LaSR (t = 0)", ("LaSR (t = 0), AUC",)),
        Claim("The structure of the list helps: t = 1 outperforms t = 0", "LaSR (t = 1)", ("LaSR (t = 0)",)),
        Claim("Another step gains slightly: t = 2 over t = 1", "LaSR (t = 2)", ("LaSR (t = 1)",)),
    ),
)

_SIZES = (25, 50, 100, 200)

TABLE_2 = replace(
    TABLE_1,
    id="lasr-2",
    title="changing the embedding size",
    place="Table 2",
    sources=(triples.lastfm_1k(pairs_only=True), triples.foursquare("Last.fm-1K", pairs_only=True)),
    columns=tuple(Column(f"n = {n}", "recall@5", settings={"dim": n}) for n in _SIZES),
    methods=(_NMF, _SVD, lasr(0)),
    published={
        "Last.fm-1K": _shares(
            {
                "NMF": (2.82, 3.76, 3.57, 4.82),
                "SVD": (3.61, 4.01, 4.53, 5.28),
                "LaSR (t = 0)": (5.23, 5.60, 6.24, 6.42),
            }
        )
    },
    claims=(Claim("LaSR (t = 0) outperforms SVD and NMF for all n", "LaSR (t = 0)", ("SVD", "NMF")),),
)


def examples(model: Any, task: Task, part: Any) -> Values:
    """The best ten for the most frequent query and for a rarer one, with the counts of training and test."""
    query, _ = task.train.codes("query"), task.train.item
    order = np.argsort(-np.bincount(query, minlength=task.train.n("query")), kind="stable")
    chosen = task.train.vocabulary("query").ids[order[[0, len(order) // 10]]]
    best, _scores = model.recommend(queries=chosen, k=10)
    seen = [_counts(log) for log in (task.train, part)]
    body = [
        [str(place + 1)]
        + [
            f"{best[row, place]} [{', '.join(str(count.get((one, best[row, place]), 0)) for count in seen)}]"
            for row, one in enumerate(chosen)
        ]
        for place in range(best.shape[1])
    ]
    hits = [
        sum(count.get((one, item), 0) for item in best[row])
        for row, one in enumerate(chosen)
        for count in seen[1:]
    ]
    return {"listing": [["place", *(f"after {one}" for one in chosen)], *body], "hits": float(sum(hits)) + 1}


def _counts(log: Any) -> dict[tuple[Any, Any], int]:
    pairs_seen = zip(log.ids("query").tolist(), log.ids("item").tolist(), strict=True)
    counted: dict[tuple[Any, Any], int] = {}
    for pair in pairs_seen:
        counted[pair] = counted.get(pair, 0) + 1
    return counted


TABLE_3 = replace(
    TABLE_1,
    id="lasr-3",
    title="example lists with and without structure",
    place="Table 3",
    sources=(triples.lastfm_1k(pairs_only=True), triples.foursquare("Last.fm-1K", pairs_only=True)),
    columns=(Column("test pairs in both lists, plus 1", "hits", "decimal"), Column("R@10", "recall@10")),
    methods=(lasr(0), lasr(1)),
    judge=chain(pairs(10, 30), examples),
    protocol="The lists of a frequent and of a rarer query; in brackets the pairs of training and test.",
    published={},
    claims=(
        Claim(
            "Structure puts more of the test's pairs into the example lists",
            "LaSR (t = 1)",
            ("LaSR (t = 0)",),
            ("test pairs in both lists, plus 1",),
        ),
    ),
)

_LABELS = {"max_norm": (2.0, 1.5, 3.0)}

TABLE_5 = Study(
    id="lasr-5",
    needs=("LaSR",),
    title="annotation of images",
    document=PAPER,
    place="Table 5",
    sources=(
        sources.corel5k("ImageNet"),
        sources.delicious("ImageNet"),
        sources.eurlex("ImageNet"),
    ),
    columns=(
        *(Column(f"r@{k}", f"recall@{k}") for k in (1, 5, 10)),
        Column("MAP", "map", "decimal"),
        Column("MR", "mean_rank", "rank", larger=False),
    ),
    methods=(
        Method("One-vs-Rest", baseline("OneVsRest", epochs=2), by="scikit-learn"),
        Method("Rank SVM", baseline("MulticlassRankSVM", epochs=2), by="scikit-learn"),
        Method("WSABIE", embedding("Wsabie"), settings={"dim": 64, "epochs": 15}, search=_LABELS),
        Method(
            "LaSR (t = 1)",
            embedding("LaSR"),
            settings={"dim": 64, "epochs": 15, "steps": 1, "list_size": 20},
            search=_LABELS,
        ),
    ),
    judge=lists("recall@1", "recall@5", "recall@10", "map", "mean_rank", exclude=False),
    select="recall@1",
    protocol="The published split; a tenth of the training examples chooses; labels ranked among all labels.",
    published={
        "ImageNet": {
            "One-vs-Rest": (0.0283, 0.0848, 0.132, 0.065, 667),
            "Rank SVM": (0.0535, 0.141, 0.193, 0.102, 804),
            "WSABIE": (0.0839, 0.196, 0.263, 0.144, 626),
            "LaSR (t = 1)": (0.0945, 0.221, 0.291, 0.161, 523),
        }
    },
    claims=(
        Claim(
            "The ranking loss beats one-vs-rest", "Rank SVM", ("One-vs-Rest",), ("r@1", "r@5", "r@10", "MAP")
        ),
        Claim(
            "Wsabie beats Rank SVM and one-vs-rest",
            "WSABIE",
            ("Rank SVM", "One-vs-Rest"),
            ("r@1", "r@5", "r@10", "MAP"),
        ),
        Claim("LaSR with structure beats Wsabie", "LaSR (t = 1)", ("WSABIE",)),
    ),
)

STUDIES = (TABLE_1, TABLE_2, TABLE_3, TABLE_5)
