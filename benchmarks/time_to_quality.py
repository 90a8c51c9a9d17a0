"""Time to quality on MovieLens-1M: how long until LightFM's best recall@10, and until ALS's.

Our schedule ends at a rate of 0, so a point of our curve is a whole fit of so many epochs, timed from the log
to the model; a point of a peer is a pass of one run, which is kinder to it. Means of three random splits.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from common import RESULTS, arguments, bar, save, table
from ours import BEST, Topwise
from peer_quality import Found, curve
from peers import CHOSEN
from trials import SEEDS, Quality, Trial, read

LOG = "movielens-1m"
OURS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30)
OURS_AT_BEST = (2, 4, 8, 15)
FASTEST = Topwise(max_norm=1.95, violators=1, learning_rate=1.0, balance=0.25)
"""The settings that reach ALS's best in the least time, on the validation parts of the three splits."""

PEERS = {"LightFM WARP": (1, 2, 3, 5, 8, 12, 16, *range(20, 61, 10)), "implicit ALS": tuple(range(1, 21))}


def first_at(points: list[Found], recall: float) -> Found | None:
    """The first point as good as that."""
    return next((p for p in sorted(points, key=lambda p: p.seconds) if p.recall >= recall), None)


def means(runs: list[list[Found]]) -> list[Found]:
    """The mean time and quality of each number of passes over the splits."""
    return [
        replace(
            same[0],
            seconds=sum(p.seconds for p in same) / len(same),
            quality=Quality.mean(p.quality for p in same),
        )
        for same in zip(*runs, strict=True)
    ]


def picture(curves: dict[str, list[Found]], path: Path) -> None:
    """All curves in one, on a logarithmic axis of time."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 4.8), constrained_layout=True)
    for name, points in curves.items():
        axes.plot(
            [p.seconds for p in points], [p.recall for p in points], marker="o", markersize=3.5, label=name
        )
    axes.set_xscale("log")
    axes.set_xlabel("seconds of training (2 threads)")
    axes.set_ylabel("recall@10, whole catalogue")
    axes.set_title("MovieLens-1M, ratings of 4 and more: time to quality")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=120)


def main() -> None:
    asked = arguments(__doc__).parse_args()
    pairs = read(LOG, asked.data)
    trials = [Trial.random(pairs, seed) for seed in (SEEDS[:1] if asked.quick else SEEDS)]
    curves: dict[str, list[Found]] = {}
    best, _ = BEST[LOG]
    curve(replace(FASTEST, threads=asked.threads), trials[0], [1])  # what is done once in a process
    for name, side, passes in (
        ("topwise WARP", FASTEST, OURS),
        ("topwise OWPC, best settings", best, OURS_AT_BEST),
    ):
        ours = replace(side, threads=asked.threads)
        curves[name] = means([curve(ours, trial, passes[::4] if asked.quick else passes) for trial in trials])
    for peer, _ in CHOSEN[LOG]:
        if peer.name in PEERS and not (asked.quick and peer.name == "LightFM WARP"):
            side = replace(peer, threads=asked.threads)
            curves[peer.name] = means([curve(side, trial, PEERS[peer.name]) for trial in trials])
    rows: list[dict[str, Any]] = [
        {"side": name, "passes": p.passes, "seconds": p.seconds, "recall": p.recall, "ndcg": p.quality.ndcg}
        for name, points in curves.items()
        for p in points
    ]
    print(table(list(rows[0]), [list(row.values()) for row in rows]))
    judged = []
    own = [p for name, points in curves.items() if name.startswith("topwise") for p in points]
    for name, share in (("LightFM WARP", 0.1), ("implicit ALS", 1.0)):
        if name in curves:
            top = max(curves[name], key=lambda p: p.recall)
            reached = first_at(own, top.recall)
            ratio = reached.seconds / top.seconds if reached else float("inf")
            print(
                f"{name}: best {top.recall:.4f} after {top.seconds:.2f} s; ours {reached and reached.seconds}"
            )
            judged.append(
                bar(f"our time to the best recall of {name}, over its own", ratio, share, larger=False)
            )
    if not asked.quick:
        RESULTS.mkdir(exist_ok=True)
        picture(curves, RESULTS / "time-to-quality.png")
        settings = {p.name: p.settings() for p, _ in CHOSEN[LOG]}
        settings |= {"topwise WARP": FASTEST.settings(), "topwise OWPC, best settings": best.settings()}
        save("time_to_quality", rows=rows, bars=judged, settings=settings)


if __name__ == "__main__":
    main()
