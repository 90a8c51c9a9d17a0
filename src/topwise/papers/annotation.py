"""The slides' "Image Annotation Performance", on public sets of labels: Wsabie beside its rivals."""

from __future__ import annotations

from typing import Any

import numpy as np

from topwise import losses
from topwise.papers import sources
from topwise.papers.methods import baseline, embedding
from topwise.papers.protocols import chain, lists
from topwise.papers.study import Claim, Column, Method, Study, Task, Values

SLIDES = "Weston: Embedding and ranking for images, entities, items and text (slides)"

# The first of each is what a quick run takes.
TUNED = {"dim": (64, 128), "max_norm": (2.0, 1.5, 3.0)}


def wsabie(name: str, **settings: Any) -> Method:
    """Wsabie with a loss, its dimension, norm and rate chosen on validation."""
    fixed = {"epochs": 20, "threads": 2, **settings}
    return Method(name, embedding("Wsabie"), settings=fixed, search=TUNED)


PERFORMANCE = Study(
    id="slides-annotation",
    title="annotation performance",
    document=SLIDES,
    place="Image Annotation Performance",
    sources=(
        sources.corel5k("16k ImageNet"),
        sources.eurlex("22k ImageNet"),
        sources.delicious("97k Web Data"),
    ),
    columns=(
        Column("P@1", "precision@1"),
        Column("P@5", "precision@5"),
        Column("MAP", "map"),
        Column("training", "seconds", "seconds", larger=False),
    ),
    methods=(
        Method("Nearest Means", baseline("NearestMeans"), by="scikit-learn"),
        Method(
            "One-vs-all SVMs 1+:1-",
            baseline("OneVsRest", epochs=2),
            by="scikit-learn",
            settings={"negatives": "equal"},
        ),
        Method("One-vs-all SVMs", baseline("OneVsRest", epochs=2), by="scikit-learn"),
        wsabie("AUC Embedding", loss=losses.AUC()),
        wsabie("Wsabie (WARP Embedding)", loss=losses.WARP()),
    ),
    judge=lists("precision@1", "precision@3", "precision@5", "map", exclude=False),
    select="precision@1",
    protocol="The published split; a tenth of the training examples for all choices, put back for the last "
    "fit; labels ranked among all labels.",
    published={
        "16k ImageNet": {
            "Nearest Means": (0.044,),
            "One-vs-all SVMs 1+:1-": (0.041,),
            "One-vs-all SVMs": (0.094,),
            "AUC Embedding": (0.047,),
            "Wsabie (WARP Embedding)": (0.119,),
        },
        "22k ImageNet": {
            "Nearest Means": (0.027,),
            "One-vs-all SVMs 1+:1-": (0.035,),
            "One-vs-all SVMs": (0.082,),
            "AUC Embedding": (0.051,),
            "Wsabie (WARP Embedding)": (0.105,),
        },
        "97k Web Data": {
            "Nearest Means": (0.023,),
            "One-vs-all SVMs 1+:1-": (0.016,),
            "One-vs-all SVMs": (0.068,),
            "AUC Embedding": (0.031,),
            "Wsabie (WARP Embedding)": (0.083,),
        },
    },
    claims=(
        Claim(
            "WARP ranks better at the top than AUC", "Wsabie (WARP Embedding)", ("AUC Embedding",), ("P@1",)
        ),
        Claim("Wsabie is better than nearest means", "Wsabie (WARP Embedding)", ("Nearest Means",), ("P@1",)),
        Claim(
            "Wsabie is better than one-vs-all classifiers with as many negatives as positives",
            "Wsabie (WARP Embedding)",
            ("One-vs-all SVMs 1+:1-",),
            ("P@1",),
        ),
        Claim(
            "Wsabie is better than one-vs-all classifiers",
            "Wsabie (WARP Embedding)",
            ("One-vs-all SVMs",),
            ("P@1",),
        ),
    ),
    refit=True,
)


def neighbours(model: Any, task: Task, part: Any) -> Values:
    """The nearest labels of the most frequent ones, as the slides list them; and how often two neighbours
    go together."""
    titles = task.extra.get("titles") or []
    log = task.train
    frequent = np.argsort(-np.bincount(log.item, minlength=log.n("item")), kind="stable")[:200]
    ids = log.vocabulary("item").ids[frequent]
    near, _ = model.neighbors(items=ids, k=6)

    def name(label: Any) -> str:
        return titles[int(label)] if titles else str(label)

    listing = [["annotation", "neighbouring annotations"]]
    listing += [[name(one), ", ".join(map(name, row))] for one, row in zip(ids[:12], near[:12], strict=True)]
    return {"listing": listing, "lift": _lift(task, ids, near)}


def _lift(task: Task, ids: Any, near: Any) -> float:
    """How often two neighbours stand together in examples held out, over how often chance would have it."""
    matrix = task.test.matrix("query").to_scipy()
    vocabulary = task.test.vocabulary("item")
    rows = np.flatnonzero(np.diff(matrix.indptr))
    matrix = matrix[rows]
    one = np.repeat(vocabulary.codes(ids), near.shape[1])
    other = vocabulary.codes(near.ravel())
    together = np.asarray(matrix[:, one].multiply(matrix[:, other]).sum(axis=0)).ravel()
    count = np.asarray(matrix.sum(axis=0)).ravel()
    return float(together.sum() * len(rows) / np.maximum((count[one] * count[other]).sum(), 1))


NEIGHBOURS = Study(
    id="slides-neighbours",
    title="learned annotation embedding",
    document=SLIDES,
    place="Learned Annotation Embedding (on Web Data)",
    sources=(sources.delicious("Web Data"), sources.cooking("Web Data")),
    columns=(Column("lift of neighbours", "lift", "decimal"), Column("P@1", "precision@1")),
    methods=(
        wsabie("Wsabie (WARP Embedding)", loss=losses.WARP()),
        # What the neighbours of a model are worth that has not learned.
        Method(
            "not trained", embedding("Wsabie"), settings={"epochs": 1, "learning_rate": 1e-9, "max_norm": 2.0}
        ),
    ),
    judge=chain(neighbours, lists("precision@1", exclude=False)),
    select="precision@1",
    protocol="Neighbours by the angle between label vectors, six of each of the 200 most frequent labels. "
    "Their lift: how often two neighbours go together in test examples, over how often chance would have it.",
    claims=(
        Claim(
            "Neighbours in the learned space belong together",
            "Wsabie (WARP Embedding)",
            ("not trained",),
            ("lift of neighbours",),
            by=2.0,
        ),
    ),
)

STUDIES = (PERFORMANCE, NEIGHBOURS)
