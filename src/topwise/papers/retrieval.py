"""The slides' tables of document and k-keyword retrieval (Bai et al.), and the scatter plots beside them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from topwise import losses
from topwise.papers import documents
from topwise.papers.annotation import SLIDES
from topwise.papers.methods import baseline, embedding
from topwise.papers.protocols import chain, lists
from topwise.papers.study import Claim, Column, Method, Study, Task, Values

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WSABIE = "Wsabie + αI (AUC)"
MIX = "αLSI + (1 − α)TFIDF"

_SEARCH = {"alpha": (2.0, 5.0, 10.0), "max_norm": (0.5, 1.0)}


def _wsabie(loss: losses.Loss) -> Method:
    name = f"Wsabie + αI ({type(loss).__name__})"
    settings = {"loss": loss, "dim": 100, "epochs": 20}
    return Method(name, embedding("Wsabie"), settings=settings, search=_SEARCH)


METHODS = (
    Method("TFIDF", baseline("TFIDF", content="counts"), by="scikit-learn"),
    Method(
        MIX,
        baseline("LSITFIDF", validated=True, content="counts", dim=50),
        by="scikit-learn",
        settings={"dim": 200, "alpha": "auto"},
    ),
    Method(
        "Linear SVM Ranker",
        baseline("PairRankSVM"),
        by="scikit-learn",
        search={"penalty": (0.1, 1.0, 10.0)},
    ),
    Method(
        "Hash Kernels + αI",
        baseline("HashKernel", epochs=1, bits=16),
        by="numpy",
        search={"alpha": (1.0, 2.0), "learning_rate": (0.1, 0.3)},
    ),
    _wsabie(losses.AUC()),
    _wsabie(losses.WARP()),
    Method(
        "PSI of degree 3",
        baseline("PSI", epochs=2, cubic_epochs=1, dim=16),
        by="numpy and topwise",
        settings={"degree": 3, "dim": 50},
    ),
)

DOCUMENTS = Study(
    id="slides-documents",
    title="document retrieval",
    document=SLIDES,
    place="Document based retrieval",
    sources=(
        documents.wikispeedia("Wikipedia"),
        documents.chameleon("Wikipedia"),
        documents.citations("Wikipedia"),
    ),
    columns=(
        Column("Rank-Loss", "rank_loss", "points", larger=False),
        Column("MAP", "map", "decimal"),
        Column("P10", "precision@10", "decimal"),
    ),
    methods=METHODS,
    judge=lists("rank_loss", "map", "precision@10"),
    select="map",
    protocol="Documents as queries, what they link to as answers: 70 % of the documents teach (a tenth of "
    "them chooses), 30 % judge; ranked among all documents but the query itself.",
    published={
        "Wikipedia": {
            "TFIDF": (0.842, 0.432, 0.193),
            MIX: (0.721, 0.433, 0.193),
            "Linear SVM Ranker": (0.410, 0.477, 0.212),
            "Hash Kernels + αI": (0.322, 0.492, 0.215),
            WSABIE: (0.158, 0.547, 0.239),
        }
    },
    claims=(
        Claim("The supervised embedding beats TFIDF and LSI", WSABIE, ("TFIDF", MIX)),
        Claim("It beats linear rankers on the words", WSABIE, ("Linear SVM Ranker", "Hash Kernels + αI")),
        Claim("Hash kernels beat TFIDF and LSI", "Hash Kernels + αI", ("TFIDF", MIX)),
    ),
)


def _keywords(count: int) -> Study:
    published = {
        "TFIDF": (21.6, 0.047, 0.023),
        MIX: (14.2, 0.049, 0.023),
        WSABIE: (4.37, 0.166, 0.083),
    }
    return replace(
        DOCUMENTS,
        id=f"slides-keywords-{count}",
        title=f"retrieval by {count} keywords",
        place="k-keywords based retrieval",
        sources=(documents.wikispeedia("Wikipedia", count), documents.citations("Wikipedia", count)),
        methods=tuple(method for method in METHODS if method.name not in ("Linear SVM Ranker",)),
        protocol=f"As document retrieval, the query being {count} random words of the document.",
        published={"Wikipedia": published} if count == 5 else {},
        claims=DOCUMENTS.claims[:1],
    )


# --- scatter plots --------------------------------------------------------------------------------------


def precisions(model: Any, task: Task, part: Any) -> Values:
    """The average precision of 500 test documents, the same for all methods."""
    from topwise.evaluation import evaluate

    report = evaluate(model, part, ["map"], exclude=task.train)
    order = np.argsort(report.contexts, kind="stable")
    chosen = np.random.default_rng(0).permutation(order)[:500]
    return {"precisions": report.per_context("map")[chosen].round(4).tolist()}


def draw_scatter(figure: Figure, result: dict[str, Any]) -> None:
    """Wsabie's average precision against TFIDF's and against LSI's, a point a document."""
    rows = {row["method"]: row["extra"][0] for row in result["tables"][0]["rows"] if row["extra"]}
    others = [name for name in ("TFIDF", MIX) if name in rows]
    if not others:
        return
    panels = figure.subplots(1, len(others), squeeze=False)[0]
    for axes, other in zip(panels, others, strict=True):
        axes.scatter(rows[other]["precisions"], rows[WSABIE]["precisions"], s=8, alpha=0.5)
        axes.plot([0, 1], [0, 1], color="k", lw=1)
        axes.set(xlabel=other, ylabel=WSABIE, title=f"average precision, {result['tables'][0]['data']}")


SCATTER = replace(
    DOCUMENTS,
    id="slides-scatter",
    title="average precision, document by document",
    place="Scatter Plots: Wsabie vs. TFIDF and LSI",
    sources=(documents.wikispeedia("Wikipedia"),),
    columns=(Column("MAP", "map", "decimal"),),
    methods=tuple(method for method in METHODS if method.name in ("TFIDF", MIX, WSABIE)),
    judge=chain(lists("map"), precisions),
    protocol="Document retrieval as above; a point for each of 500 test documents.",
    published={},
    claims=(Claim("Most documents lie above the diagonal: the mean is higher", WSABIE, ("TFIDF", MIX)),),
    picture=draw_scatter,
)

STUDIES = (DOCUMENTS, _keywords(5), _keywords(10), _keywords(20), SCATTER)
