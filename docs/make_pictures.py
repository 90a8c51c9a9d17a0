"""Draws the pictures of these pages: `python docs/make_pictures.py [name ...]`. Needs matplotlib.

Every number in them is computed by the package, with fixed seeds, so that a picture changes only when the
code does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle

import topwise as tw
from topwise.losses import corrected_weights, rank_weights

IMAGES = Path(__file__).parent / "images"
BLUE, ORANGE, GREEN, RED, GREY = "#1f6fb4", "#e07b00", "#2a9d5c", "#c8384a", "#8a8f98"
ITEMS = 1000
FILMS: dict[str, Any] = {"dim": 32, "epochs": 15, "max_norm": 1.6, "threads": 1}


# --- AUC -------------------------------------------------------------------------------------------------


def auc() -> Figure:
    """Two models with the same number of wrong pairs, of which one has a film at the very top."""
    figure, (lists, bars) = plt.subplots(1, 2, figsize=(9.6, 3.4), width_ratios=[1.2, 1])
    functions = {"model 1: ranks 1 and 101": (1, 101), "model 2: ranks 50 and 52": (50, 52)}
    for row, (label, ranks) in enumerate(functions.items()):
        colour = (BLUE, ORANGE)[row]
        lists.hlines(-row, 1, 110, color=GREY, lw=5, alpha=0.35)
        lists.scatter(ranks, [-row] * 2, s=130, color=colour, zorder=3)
        lists.text(1, -row + 0.22, label, color=colour, weight="bold")
    lists.set(title="Two positives in the list of one user", xlabel="rank", ylim=(-1.4, 0.6), yticks=[])
    lists.spines["left"].set_visible(False)
    losses = {"AUC: wrong pairs": "mean", "OWPC, WARP: L(r) = Σ 1/i": "1/i"}
    for at, alpha in enumerate(losses.values()):
        table = rank_weights(alpha, ITEMS) * (ITEMS - 1 if alpha == "mean" else 1)
        # L counts the items above a positive, and other positives are none of them.
        costs = np.array([table[0] + table[99], table[49] + table[50]])
        shares = costs / costs.max()
        bars.bar([at - 0.2, at + 0.2], shares, 0.36, color=[BLUE, ORANGE])
        for shift, cost, share in zip((-0.2, 0.2), costs, shares, strict=True):
            bars.text(at + shift, share + 0.03, f"{cost:.3g}", ha="center")
    bars.set(title="What the losses say of them", xticks=[0, 1], xticklabels=list(losses), ylim=(0, 1.18))
    bars.set(yticks=[], ylabel="loss (larger = 1)")
    return figure


# --- OWPC ------------------------------------------------------------------------------------------------


def owpc() -> Figure:
    """What one more place costs, and what a rank costs, for each family of weights."""
    figure, (single, summed) = plt.subplots(1, 2, figsize=(9.6, 3.8))
    families = {
        "1/i": (rank_weights("1/i", ITEMS), BLUE, "-"),
        "ndcg": (rank_weights("ndcg", ITEMS), GREEN, "-"),
        "1/i, top=10": (rank_weights("1/i", ITEMS, top=10), RED, "--"),
        "mean (as AUC)": (rank_weights("mean", ITEMS), ORANGE, "-"),
    }
    for label, (table, colour, style) in families.items():
        ranks = np.arange(1, ITEMS)
        alpha = np.diff(table)
        single.plot(ranks, np.where(alpha > 0, alpha, np.nan), style, color=colour, lw=2, label=label)
        summed.plot(ranks, table[1:] / table[-1], style, color=colour, lw=2, label=label)
    single.set(title="α: the price of the place i", xscale="log", yscale="log", xlabel="place i", ylabel="αᵢ")
    summed.set(
        title="L(r) = α₁ + … + αᵣ: the price of a rank",
        xscale="log",
        xlabel="items above the positive, r",
        ylabel="L(r), of the largest",
    )
    single.legend(frameon=False, loc=(0.03, 0.08))
    return figure


# --- WARP ------------------------------------------------------------------------------------------------


def mean_over_trials(values: npt.NDArray[np.float64], rank: int, items: int) -> float:
    """E[values(N)] where N is the trial that finds the first of `rank` violators among `items`."""
    p = rank / items
    trials = np.arange(1, len(values))
    return float(np.sum(p * (1 - p) ** (trials - 1) * values[1:]))


def simulated(rank: int, violators: int, corrected: bool, items: int, rng: np.random.Generator) -> float:
    """The mean of WARP's estimate of a rank over simulated draws."""
    trials = violators + rng.negative_binomial(violators, rank / items, size=40_000)
    estimate = items * (violators - 1) / (trials - 1) if corrected else items * violators / trials
    return float(np.clip(np.floor(estimate), 1, items).mean())


def warp() -> Figure:
    """The rank that WARP takes, and the weight that it gives, for every true rank."""
    figure, (ranks_axes, weights_axes) = plt.subplots(1, 2, figsize=(9.6, 4.0))
    others, rng = ITEMS - 1, np.random.default_rng(0)
    ranks = np.unique(np.geomspace(1, others, 40).astype(int))
    lines = [
        ("violators=1", 1, False, RED, "-"),
        ("violators=4", 4, False, ORANGE, "-"),
        ("violators=4, corrected", 4, True, BLUE, "--"),
    ]
    for label, violators, corrected, colour, style in lines:
        means = [simulated(rank, violators, corrected, others, rng) for rank in ranks]
        ranks_axes.plot(ranks, means, style, color=colour, lw=2, label=label)
    _truth(ranks_axes, ranks, ranks)
    ranks_axes.set(title="Mean estimate of the rank", xscale="log", yscale="log", ylabel="estimated rank")

    table = rank_weights("1/i", ITEMS)
    trials = np.arange(1, 30_000)
    plain = np.concatenate([[0], table[np.maximum(others // trials, 1)]])
    better = corrected_weights(table, len(trials))
    for label, values, colour, style in (
        ("violators=1", plain, RED, "-"),
        ("violators=1, corrected", better, BLUE, "--"),
    ):
        means = [mean_over_trials(values, rank, others) for rank in ranks]
        weights_axes.plot(ranks, means, style, color=colour, lw=2, label=label)
    _truth(weights_axes, ranks, table[ranks])
    weights_axes.set(title="Mean weight of a step, α = 1/i", xscale="log", ylabel="weight")
    for axes in (ranks_axes, weights_axes):
        axes.set_xlabel("true rank: violators among 999 others")
        axes.legend(frameon=False)
    return figure


def _truth(axes: Axes, ranks: npt.NDArray[np.int64], values: npt.NDArray[np.generic]) -> None:
    axes.plot(ranks, values, color=GREY, lw=6, alpha=0.4, label="true")


# --- K-OS ------------------------------------------------------------------------------------------------


def kos() -> Figure:
    """Precision at the top against the worst rank, for k = 1 … 5, on the films."""
    log = tw.datasets.movielens_small().log
    splits = [tw.split.by_fraction(log, test=0.2, seed=seed) for seed in range(4)]
    metrics = ["precision@1", "precision@10", "max_rank"]

    def quality(loss: tw.losses.Loss) -> npt.NDArray[np.float64]:
        values = []
        for train, test in splits:
            model = tw.MatrixFactorization(loss=loss, **FILMS).fit(train, progress=False)
            report = tw.evaluate(model, test, metrics=metrics, exclude=train)
            values.append([report[metric] for metric in metrics])
        mean: npt.NDArray[np.float64] = np.mean(values, axis=0)
        return mean

    by_position = np.array([quality(tw.KOS(k=5, position=k)) for k in range(1, 6)])
    warp_alone = quality(tw.WARP())
    figure, panels = plt.subplots(1, 3, figsize=(10.2, 3.5))
    titles = [
        "precision@1 (more is better)",
        "precision@10 (more is better)",
        "mean max rank (less is better)",
    ]
    for at, (axes, title) in enumerate(zip(panels, titles, strict=True)):
        axes.plot(range(1, 6), by_position[:, at], "o-", color=BLUE, lw=2, ms=8, label="KOS(k=5, position)")
        axes.axhline(warp_alone[at], color=ORANGE, ls="--", lw=2, label="WARP")
        axes.set(title=title, xlabel="position", xticks=range(1, 6))
    panels[0].legend(frameon=False)
    return figure


# --- the ball --------------------------------------------------------------------------------------------


def max_norm() -> Figure:
    """Quality against C, for three ways in which the ball depends on how often an item is seen."""
    log = tw.datasets.movielens_small().log
    splits = [tw.split.by_fraction(log, test=0.2, seed=seed) for seed in range(4)]
    norms = [1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.85, 2.0, 2.2]
    figure, axes = plt.subplots(figsize=(8.2, 3.8))
    for exponent, colour in ((0.0, GREY), (0.15, BLUE), (0.3, GREEN)):
        quality = []
        for norm in norms:
            settings = FILMS | {"max_norm": norm, "norm_exponent": exponent}
            reports = [
                tw.evaluate(
                    tw.MatrixFactorization(**settings).fit(train, progress=False),
                    test,
                    metrics=["ndcg@10"],
                    exclude=train,
                )
                for train, test in splits
            ]
            quality.append(np.mean([report["ndcg@10"] for report in reports]))
        axes.plot(norms, quality, "o-", color=colour, lw=2, label=f"norm_exponent={exponent:g}")
    settings = FILMS | {"max_norm": "auto"}
    fits = [tw.MatrixFactorization(**settings).fit(train, progress=False) for train, _ in splits]
    found = [float(model.max_norm_ or 0) for model in fits]
    axes.axvspan(min(found), max(found), color=ORANGE, alpha=0.2, label='found by "auto", four splits')
    axes.set(xlabel="max_norm, C", ylabel="ndcg@10 on held-out events")
    axes.legend(frameon=False, loc="lower left", bbox_to_anchor=(1.0, 0.3))
    return figure


# --- the loop --------------------------------------------------------------------------------------------

_STEPS = [
    ("1  pick", "a context and one of\nits positives", "uniform over events\nK-OS: position k of K drawn"),
    (
        "2  draw",
        "items that violate\nthe margin",
        "AUC: one draw · WARP: until\none violates · OWPC: count all",
    ),
    ("3  weigh", "L(rank)", "a table made once\nfrom the α"),
    ("4  step", "along weight ×\nhinge gradient", "through φ and ψ, to the\nrows they are made of"),
    ("5  project", "rows back into\n‖row‖ ≤ C", "one accumulator and one\nradius for each row"),
]
_SEAMS = [(0, 2.92, "loss", ORANGE), (3, 3.92, "composition", BLUE), (4, 4.92, "table", GREEN)]


def loop() -> Figure:
    """The one loop of training, and the seam that each of its steps belongs to."""
    figure, axes = plt.subplots(figsize=(11, 3.6))
    axes.set(xlim=(-0.1, 5.05), ylim=(-0.7, 1.75))
    axes.axis("off")
    for at, (title, what, how) in enumerate(_STEPS):
        colour = ORANGE if at < 3 else BLUE if at == 3 else GREEN
        box = FancyBboxPatch(
            (at, 0.35), 0.88, 0.95, boxstyle="round,pad=0.02", fc=colour + "18", ec=colour, lw=2
        )
        axes.add_patch(box)
        axes.text(at + 0.44, 1.13, title, ha="center", va="center", weight="bold", color=colour, size=13)
        axes.text(at + 0.44, 0.72, what, ha="center", va="center", size=10.5)
        axes.text(at + 0.44, 0.05, how, ha="center", va="center", size=8.6, color="#444444")
        if at < len(_STEPS) - 1:
            _arrow(axes, (at + 0.905, 0.83), (at + 0.98, 0.83))
    _arrow(axes, (4.44, -0.22), (0.44, -0.22), "arc3,rad=-0.07")
    axes.text(2.44, -0.62, "every event once an epoch; the learning rate falls to 0", ha="center", size=10)
    for first, last, name, colour in _SEAMS:
        axes.plot([first, last - 0.04], [1.5, 1.5], color=colour, lw=3, solid_capstyle="butt")
        axes.text((first + last - 0.04) / 2, 1.6, f"seam: {name}", ha="center", color=colour, size=11)
    return figure


def _arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], style: str = "arc3") -> None:
    arrow = FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=16, lw=1.6, color="#444444")
    arrow.set_connectionstyle(style)
    axes.add_patch(arrow)


# --- blocks ----------------------------------------------------------------------------------------------


def blocks() -> Figure:
    """Which users and items each of three threads has, round by round."""
    figure, panels = plt.subplots(1, 3, figsize=(9, 3.2))
    colours = [BLUE, ORANGE, GREEN]
    for turn, axes in enumerate(panels):
        for thread in range(3):
            column = (thread + turn) % 3
            axes.add_patch(Rectangle((column, 2 - thread), 1, 1, color=colours[thread], alpha=0.8))
            axes.text(
                column + 0.5, 2.5 - thread, f"thread {thread + 1}", ha="center", va="center", color="white"
            )
        axes.set(
            xlim=(0, 3), ylim=(0, 3), aspect="equal", title=f"round {turn + 1}", xlabel="blocks of items"
        )
        axes.set(xticks=[1, 2], yticks=[1, 2], xticklabels=[], yticklabels=[])
        axes.grid(color=GREY, lw=1)
        axes.tick_params(length=0)
    panels[0].set_ylabel("ranges of users")
    return figure


PICTURES: dict[str, Callable[[], Figure]] = {
    "loss-auc": auc,
    "loss-owpc": owpc,
    "loss-warp": warp,
    "loss-kos": kos,
    "max-norm": max_norm,
    "loop": loop,
    "blocks": blocks,
}


def main(names: list[str]) -> None:
    """Draws some of the pictures, or all."""
    plt.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False})
    IMAGES.mkdir(exist_ok=True)
    for name in names or PICTURES:
        figure = PICTURES[name]()
        figure.tight_layout()
        figure.savefig(IMAGES / f"{name}.png", dpi=130, metadata={"Software": None})
        plt.close(figure)
        print(IMAGES / f"{name}.png")


if __name__ == "__main__":
    main(sys.argv[1:])
