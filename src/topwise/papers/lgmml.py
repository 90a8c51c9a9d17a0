"""L-GMML (Su, King & Lyu, SIGIR 2017): tables 2, 4 and 5, and figure 3, on judged queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from topwise.papers import judged
from topwise.papers.methods import baseline, embedding
from topwise.papers.study import Claim, Column, Method, Settings, Study, Task

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPER = "Learning to Rank with Local Geometric Mean Metrics (L-GMML, SIGIR 2017)"
SETS = ("Yahoo! Set I", "Yahoo! Set II", "MSLR-WEB10K", "MSLR-WEB30K")
STAND_IN = "MSLR-WEB10K"
PROTOCOL = (
    "Published folds, one a seed: settings chosen on its validation queries, measured on its test queries."
)

SOURCES = (*judged.ORIGINALS, judged.letor(STAND_IN))


def nothing(task: Task, settings: Settings) -> None:
    """Nothing is learned: the data alone are described."""


TABLE_2 = Study(
    id="lgmml-2",
    title="the data sets",
    document=PAPER,
    place="Table 2",
    sources=SOURCES,
    columns=(
        Column("queries", "queries", "count"),
        Column("documents", "documents", "count"),
        Column("levels", "levels", "count"),
        Column("features", "features", "count"),
    ),
    methods=(Method("all parts", nothing),),
    judge=judged.described,
    select="queries",
    protocol="Training, validation and test of one fold together.",
    published={
        "Yahoo! Set I": {"all parts": (29_921, 709_877, 5, 519)},
        "Yahoo! Set II": {"all parts": (6_330, 172_870, 5, 596)},
        "MSLR-WEB10K": {"all parts": (10_000, 1_193_930, 5, 136)},
        # The paper's figure of 6,306 validation documents is a slip, and left out.
        "MSLR-WEB30K": {"all parts": (44_143, None, 5, 136)},
    },
    needs=("LGMML",),
)

METHODS = (
    Method(
        "GBRT",
        baseline("GBRT", validated=True, trees=30),
        by="LightGBM",
        settings={"trees": 2000},
        search={"learning_rate": (0.05, 0.1), "leaves": (10, 31)},
    ),
    Method(
        "λ-MART",
        baseline("LambdaMART", validated=True, trees=30),
        by="LightGBM",
        settings={"trees": 2000},
        search={"learning_rate": (0.05, 0.1), "leaves": (10, 31)},
    ),
    Method("L-GMML", embedding("LGMML"), search={"metrics": (10, 50, 200)}),
)


def _row(*values: float) -> tuple[float, ...]:
    """NDCG@5, 10 and 20, and minutes as seconds."""
    return (*values[:3], 60 * values[3])


TABLE_4 = Study(
    id="lgmml-4",
    title="L-GMML beside boosted trees",
    document=PAPER,
    place="Table 4",
    sources=SOURCES,
    columns=(
        *(Column(f"NDCG@{k}", f"ndcg@{k}", "decimal") for k in (5, 10, 20)),
        Column("time", "seconds", "seconds", larger=False),
    ),
    methods=METHODS,
    judge=judged.graded("ndcg@5", "ndcg@10", "ndcg@20", "map", convention="letor4"),
    select="ndcg@10",
    protocol=PROTOCOL + " NDCG by the convention of LETOR 4.0. Time is that of one fit.",
    published={
        "Yahoo! Set I": {
            "GBRT": _row(0.6529, 0.6824, 0.6912, 43.3),
            "λ-MART": _row(0.6567, 0.7060, 0.7091, 48.0),
            "L-GMML": _row(0.6698, 0.6715, 0.6934, 28.9),
        },
        "Yahoo! Set II": {
            "GBRT": _row(0.6731, 0.6817, 0.6954, 36.8),
            "λ-MART": _row(0.6791, 0.7062, 0.7087, 43.3),
            "L-GMML": _row(0.7096, 0.7264, 0.7219, 26.6),
        },
        "MSLR-WEB10K": {
            "GBRT": _row(0.4019, 0.4342, 0.4512, 48.3),
            "λ-MART": _row(0.4417, 0.4513, 0.4634, 57.6),
            "L-GMML": _row(0.4771, 0.5390, 0.551, 19.0),
        },
        "MSLR-WEB30K": {
            "GBRT": _row(0.409, 0.4146, 0.421, 177),
            "λ-MART": _row(0.3812, 0.409, 0.4112, 183),
            "L-GMML": _row(0.4837, 0.4976, 0.5038, 71.9),
        },
    },
    claims=(
        Claim(
            "L-GMML is more accurate than boosted trees",
            "L-GMML",
            ("GBRT", "λ-MART"),
            ("NDCG@5", "NDCG@10", "NDCG@20"),
        ),
        Claim("It is fitted sooner", "L-GMML", ("GBRT", "λ-MART"), ("time",)),
    ),
    needs=("LGMML",),
)

TABLE_5 = Study(
    id="lgmml-5",
    title="time of scoring a document",
    document=PAPER,
    place="Table 5",
    sources=SOURCES,
    # The paper's unit, "ms", cannot be that of a single document.
    columns=(
        Column("µs a document", "microseconds", "decimal", larger=False),
        Column("NDCG@10", "ndcg@10", "decimal"),
    ),
    methods=METHODS,
    judge=TABLE_4.judge,
    select="ndcg@10",
    protocol=PROTOCOL,
    published={
        "Yahoo! Set I": {"GBRT": (276,), "λ-MART": (302,), "L-GMML": (421,)},
        "Yahoo! Set II": {"GBRT": (218,), "λ-MART": (286,), "L-GMML": (421,)},
        "MSLR-WEB10K": {"GBRT": (73,), "λ-MART": (92,), "L-GMML": (158,)},
    },
    claims=(Claim("Trees score documents sooner", "λ-MART", ("L-GMML",), ("µs a document",)),),
    needs=("LGMML",),
)

COUNTS = (1, 5, 10, 20, 50, 100, 200)


def draw_counts(figure: Figure, result: dict[str, Any]) -> None:
    """NDCG@10 against the number of metrics, the interval as a bar; a line a data set."""
    axes = figure.subplots()
    for table in result["tables"]:
        cells = [row["cells"]["NDCG@10"] for row in table["rows"]]
        shown = [(m, cell) for m, cell in zip(COUNTS, cells, strict=True) if cell["values"]]
        mean = [cell["mean"] for _, cell in shown]
        axes.errorbar(
            [m for m, _ in shown], mean, [cell["half"] or 0 for _, cell in shown], label=table["data"]
        )
    axes.set(xlabel="number of metrics", ylabel="NDCG@10", xscale="log")
    axes.legend()


FIGURE_3 = Study(
    id="lgmml-figure-3",
    title="the number of local metrics",
    document=PAPER,
    place="Figure 3",
    sources=SOURCES,
    columns=(Column("NDCG@10", "ndcg@10", "decimal"), Column("time", "seconds", "seconds", larger=False)),
    methods=tuple(Method(f"m = {m}", embedding("LGMML"), settings={"metrics": m}) for m in COUNTS),
    judge=TABLE_4.judge,
    select="ndcg@10",
    protocol=PROTOCOL,
    claims=tuple(
        Claim(
            f"{m} local metrics are at least as good as a global one",
            f"m = {m}",
            ("m = 1",),
            ("NDCG@10",),
            by=0.98,
        )
        for m in (10, 50, 200)
    ),
    picture=draw_counts,
    needs=("LGMML",),
)

STUDIES = (TABLE_2, TABLE_4, TABLE_5, FIGURE_3)
