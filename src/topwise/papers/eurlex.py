"""Annotation as a user would run it: Wsabie, one-vs-rest, published figures, and what closes the gap."""

from __future__ import annotations

from typing import Any

import numpy as np

from topwise import losses
from topwise.papers import sources
from topwise.papers.methods import baseline, embedding
from topwise.papers.peers import Vectors, one_vs_rest
from topwise.papers.protocols import lists
from topwise.papers.study import Claim, Column, Method, Settings, Study, Task

RIVAL = "one-vs-rest, squared hinge"
PLAIN = "Wsabie"
BEST = "five Wsabies"

_FIXED = {"epochs": 15, "threads": 1}
_SEARCH = {"max_norm": (2.0, 1.6, 2.5)}


def wsabie(name: str, **settings: Any) -> Method:
    """Wsabie in 64 dimensions, unless it is told otherwise; on one thread, as the rival."""
    own = {"loss": losses.WARP(top=10, violators=4), "dim": 64, **settings}
    return Method(name, embedding("Wsabie"), settings={**_FIXED, **own}, search=_SEARCH)


def five(task: Task, settings: Settings) -> Vectors:
    """The sum of the scores of five models that differ in their first rows: their vectors side by side."""
    fit = embedding("Wsabie")
    models = [fit(task, {**settings, "seed": 5 * settings["seed"] + number}) for number in range(5)]
    vocabulary = models[0].context_vocabulary
    rows = np.hstack([model.context_vectors(queries=vocabulary.ids) for model in models])
    items = np.hstack([model.item_vectors() for model in models])
    return Vectors("query", vocabulary, models[0].item_vocabulary, rows, items)


LINEAR = Study(
    id="annotation-linear",
    title="Wsabie beside one-vs-rest",
    document="Extreme Classification Repository (Bhatia et al.): published figures",
    place="EURLex-4K",
    sources=(sources.eurlex("EURLex-4K"), sources.cooking()),
    columns=(
        Column("P@1", "precision@1"),
        Column("P@3", "precision@3"),
        Column("P@5", "precision@5"),
        Column("training", "seconds", "seconds", larger=False),
    ),
    methods=(
        Method(RIVAL, one_vs_rest, by="scikit-learn", settings={"C": 1.0}),
        Method("one-vs-rest, trained online", baseline("OneVsRest", epochs=2), by="numpy"),
        wsabie(PLAIN),
        wsabie("Wsabie, 256 dimensions", dim=256),
        wsabie("Wsabie, exact ranks (OWPC)", loss=losses.OWPC(top=10, violators=4)),
        wsabie("Wsabie, α not cut at rank 10", loss=losses.WARP(violators=4)),
        wsabie("Wsabie, K-OS: the best of 3 positives", loss=losses.KOS(3, 1, base=losses.WARP(violators=4))),
        wsabie("Wsabie, a bias for each label", item_bias=True),
        Method(
            BEST,
            five,
            settings={**_FIXED, "loss": losses.WARP(top=10, violators=4), "dim": 64, "learning_rate": 0.8},
            search={"max_norm": (2.0, 3.0)},
        ),
        Method("LEML, an embedding", None),
        Method("SLEEC, an ensemble of embeddings", None),
    ),
    judge=lists("precision@1", "precision@3", "precision@5", exclude=False),
    select="precision@1",
    protocol="The published split of EURLex-4K (a fifth of the questions of cooking); a tenth of the "
    "training examples for all choices, put back for the last fit. All on one core. The published figures "
    "are quoted from memory of the repository's page; its features are not scaled as ours.",
    published={
        "EURLex-4K": {
            RIVAL: (0.7989, 0.6601, 0.5380),
            "LEML, an embedding": (0.6340, 0.5035, 0.4128),
            "SLEEC, an ensemble of embeddings": (0.7926, 0.6430, 0.5233),
        }
    },
    claims=(
        Claim(
            "Wsabie trains in a fifth of the time of one-vs-rest, or less",
            PLAIN,
            (RIVAL,),
            ("training",),
            by=5.0,
        ),
        Claim("It reaches 95 % of one-vs-rest", PLAIN, (RIVAL,), ("P@1", "P@3", "P@5"), by=0.95),
        Claim("An ensemble closes the gap", BEST, (RIVAL,), ("P@1", "P@3", "P@5")),
        Claim("An ensemble is better than one", BEST, (PLAIN,), ("P@1", "P@3", "P@5")),
        Claim("More dimensions are better", "Wsabie, 256 dimensions", (PLAIN,), ("P@1", "P@3", "P@5")),
        Claim(
            "Exact ranks are better than estimates",
            "Wsabie, exact ranks (OWPC)",
            (PLAIN,),
            ("P@1", "P@3", "P@5"),
        ),
    ),
    refit=True,
)

STUDIES = (LINEAR,)
