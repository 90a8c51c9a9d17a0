"""The slides' figures of losses: training time of WARP, OWPC and AUC; how well WARP's ranks are estimated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from topwise import losses
from topwise.models import Wsabie
from topwise.papers import sources
from topwise.papers.annotation import SLIDES
from topwise.papers.protocols import lists
from topwise.papers.study import Claim, Column, Method, Settings, Study, Task, Values, fitted

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Curve(Wsabie):
    """A model that remembers when it was how good on validation."""

    curve_: list[tuple[float, float]]


def watched(task: Task, settings: Settings) -> Curve:
    """Fits, and notes after each epoch the seconds of training and P@1 on validation."""
    epochs = 3 if task.quick else 15
    model = Curve(
        **{"epochs": epochs, "threads": 1, "schedule": "constant", "metric": "precision@1", **settings}
    )
    seconds = 0.0
    curve: list[tuple[float, float]] = []

    def note(record: Any) -> bool:
        nonlocal seconds
        seconds += record.seconds
        curve.append((seconds, record.validation))
        return True

    fitted(model, task, validation=task.validation, callback=note, progress=False)
    model.curve_ = curve
    return model


def with_curve(model: Any, task: Task, part: Any) -> Values:
    """The best P@1, and the seconds until 95 % of it, beside the curve itself."""
    curve = model.curve_
    best = max(value for _, value in curve)
    reached = next(seconds for seconds, value in curve if value >= 0.95 * best)
    test = lists("precision@1", exclude=False)(model, task, part)
    return {"curve": curve, "reached": reached, "rate": curve[-1][0] / len(curve), **test}


def draw_curves(figure: Figure, result: dict[str, Any]) -> None:
    """P@1 on validation against seconds of training, one panel a data set."""
    panels = figure.subplots(1, len(result["tables"]), squeeze=False)[0]
    for axes, table in zip(panels, result["tables"], strict=True):
        for row in table["rows"]:
            if row["extra"]:
                seconds, values = np.array(row["extra"][0]["curve"]).T
                axes.plot(seconds, values, marker=".", label=row["method"])
        axes.set(title=table["data"], xlabel="training time (s)", ylabel="P@1 on validation", xscale="log")
        axes.legend()


_RATES = {"learning_rate": (0.8, 0.4), "max_norm": (2.0,)}

CURVES = Study(
    id="slides-training-time",
    title="training time: WARP against OWPC-SGD and AUC",
    document=SLIDES,
    place="Training time: WARP vs. OWPC-SGD & AUC",
    sources=(sources.eurlex("ImageNet"), sources.delicious("ImageNet")),
    columns=(
        Column("P@1", "precision@1"),
        Column("time to 95 % of its best", "reached", "seconds", larger=False),
        Column("time of a pass", "rate", "seconds", larger=False),
    ),
    methods=(
        Method("WARP", watched, settings={"loss": losses.WARP(), "dim": 64}, search=_RATES),
        Method("OWPC-SGD", watched, settings={"loss": losses.OWPC(refresh=1), "dim": 64}, search=_RATES),
        Method("AUC", watched, settings={"loss": losses.AUC(), "dim": 64}, search=_RATES),
    ),
    judge=with_curve,
    select="precision@1",
    protocol="One thread; a constant learning rate, chosen on validation with the norm; P@1 on validation "
    "after each epoch. The slides' figure has no numbers that could be read off.",
    claims=(
        Claim("WARP is better than AUC", "WARP", ("AUC",), ("P@1",)),
        Claim(
            "A pass with WARP is cheaper than with exact ranks", "WARP", ("OWPC-SGD",), ("time of a pass",)
        ),
        Claim("WARP gets there sooner than OWPC", "WARP", ("OWPC-SGD",), ("time to 95 % of its best",)),
    ),
    picture=draw_curves,
)


# --- WARP's estimate of the rank ------------------------------------------------------------------------

RANKS = np.array([1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610, 987])


def trained(task: Task, settings: Settings) -> Any:
    """A model whose ranks are estimated."""
    model = Wsabie(
        dim=64, loss=losses.WARP(), max_norm=2.0, epochs=3 if task.quick else 10, threads=2, seed=task.seed
    )
    return fitted(model, task, progress=False)


def approximation(model: Any, task: Task, part: Any) -> Values:
    """For events with a known number of violators: the mean of ⌊(D−1)/N⌋ over many draws, and the mean weight
    L of it against L of the true rank; for the plain weights and for the corrected ones."""
    rng = np.random.default_rng(task.seed)
    ranks, others = _violators(model, part, rng)
    table = losses.rank_weights("1/i", others + 1)
    corrected = losses.corrected_weights(table, others)
    found: list[list[float]] = []
    for rank in RANKS[: np.searchsorted(RANKS, ranks.max(initial=1), "right")]:
        draws = np.minimum(rng.geometric(rank / others, size=20_000), others)
        estimate = others // draws
        found.append(
            [int(rank), estimate.mean(), table[rank], table[estimate].mean(), corrected[draws].mean()]
        )
    array = np.array(found)
    share = np.histogram(ranks, bins=[*RANKS, np.inf])[0] / max(len(ranks), 1)
    return {
        "estimates": found,
        "ranks": share.tolist(),
        "overestimate": float((array[:, 1] / array[:, 0]).mean()),
        "plain": float((array[:, 3] / array[:, 2]).mean()),
        "corrected": float(np.abs(array[:, 4] / array[:, 2] - 1).mean()) + 1,
    }


def _violators(model: Any, part: Any, rng: np.random.Generator) -> tuple[Any, int]:
    """How many items violate the margin of some test events, counted among all."""
    some = rng.permutation(len(part))[:2000]
    items = model.item_vectors()
    contexts = model.context_vectors(queries=part.ids("query")[some])
    scores = contexts @ items.T
    own = scores[np.arange(len(some)), model.item_vocabulary.codes(part.ids("item")[some])]
    violating = (scores > own[:, None] - 1).sum(axis=1) - 1
    return violating[violating > 0], len(items) - 1


def draw_approximation(figure: Figure, result: dict[str, Any]) -> None:
    """The estimated rank and the weights against the true rank."""
    left, right = figure.subplots(1, 2)
    for table in result["tables"]:
        rank, estimate, true, plain, corrected = np.array(table["rows"][0]["extra"][0]["estimates"]).T
        left.loglog(rank, estimate, marker="o", label=table["data"])
        right.semilogx(rank, plain, marker="o", label=f"L of the estimate, {table['data']}")
        right.semilogx(rank, corrected, marker=".", ls=":", label=f"corrected, {table['data']}")
        right.semilogx(rank, true, color="k", lw=1)
    left.loglog(rank, rank, color="k", lw=1, label="exact")
    left.set(xlabel="true rank", ylabel="mean of ⌊(D − 1)/N⌋")
    right.set(xlabel="true rank", ylabel="weight L (black: of the true rank)")
    left.legend()
    right.legend()


APPROXIMATION = Study(
    id="slides-rank-approximation",
    title="how accurate WARP's estimate of the rank is",
    document=SLIDES,
    place="WARP Loss: Approximation Accuracy",
    sources=(sources.eurlex(), sources.delicious()),
    columns=(
        Column("estimate / true rank", "overestimate", "decimal"),
        Column("its weight / the true weight", "plain", "decimal"),
        Column("error of corrected weights, plus 1", "corrected", "decimal", larger=False),
        Column("exact", "one", "decimal"),
    ),
    methods=(Method("WARP's estimate", trained),),
    judge=lambda model, task, part: {**approximation(model, task, part), "one": 1.0},
    select="overestimate",
    protocol="Means over ranks 1, 2, 3, 5, 8 … 987 of 20,000 estimates each; catalogues of two sets.",
    claims=(
        Claim(
            "On average the estimate is too large",
            "WARP's estimate",
            columns=("estimate / true rank",),
            over="exact",
        ),
        Claim(
            "It corresponds to another choice of L, so the weights can be adjusted: to within 3 %",
            "WARP's estimate",
            columns=("error of corrected weights, plus 1",),
            over="exact",
            by=0.97,
        ),
    ),
    picture=draw_approximation,
)

STUDIES = (CURVES, APPROXIMATION)
