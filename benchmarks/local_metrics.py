"""L-GMML by the number of metrics and by dimension: the paper's figures 2, 3 and 4, and a fit of MSLR's size.

Figure 2: Gaussian classes, each a query whose relevant documents are its points, with Δ_q of its own. Every
local metric is made of one class; the gain in NDCG@10, on new points, is over one global metric with as many
anchors, so that it is the metrics' own.
Figure 3: NDCG@10 and time by m on MQ2008's five folds, other settings as each fold chose them at m = 50.
Figure 4: time of a fit and of scoring a row by dimension, m = 10, on generated judgments.
MSLR: 723,000 generated documents of 136 features, m = 50, settings chosen on validation, in its own process.

python benchmarks/local_metrics.py --only gaussians metrics dimensions mslr
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from common import RESULTS, arguments, bar, best_seconds, interval, save, table
from ltr import local, quality

import topwise as tw

PARTS = ("gaussians", "metrics", "dimensions", "mslr")
CLASSES = (10, 50, 100)
SEEDS = (0, 1, 2)
POINTS, OTHERS, WIDTH = 30, 300, 10
SHARES = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
"""Of the number of classes: the m tried."""
COUNTS = (1, 5, 10, 20, 50, 100, 200)
DIMENSIONS = (10, 30, 100, 300, 1000)
MINUTES, GIGABYTES = 15, 6


# --- figure 2 -----------------------------------------------------------------------------------------------


def gaussians(classes: int, seed: int) -> tuple[tw.Judgments, tw.Judgments]:
    """Training and test points of classes with a place and a shape of their own; a query a class.

    A query's candidates are its own points and some of the others.
    """
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(classes, WIDTH))
    shapes = rng.normal(size=(classes, WIDTH, WIDTH)) / np.sqrt(WIDTH)

    def part() -> tw.Judgments:
        points = centres[:, None] + rng.normal(size=(classes, POINTS, WIDTH)) @ shapes
        features, labels = [], []
        for own in range(classes):
            rest = np.delete(points, own, axis=0).reshape(-1, WIDTH)
            chosen = rest[rng.choice(len(rest), min(OTHERS, len(rest)), replace=False)]
            features.append(np.concatenate([points[own], chosen]))
            labels.append(np.arange(len(features[-1])) < POINTS)
        groups = [len(each) for each in features]
        return tw.Judgments.from_arrays(
            np.concatenate(features).astype(np.float32), np.concatenate(labels), groups=groups
        )

    return part(), part()


def own_ndcg(metrics: int, size: int, train: tw.Judgments, test: tw.Judgments, threads: int) -> float:
    """NDCG@10 on new points of the classes that were learned, by metrics of so many classes each."""
    model = tw.LGMML(
        metrics,
        queries_per_metric=size,
        judges=1,
        unseen="mean",
        rank="full",
        t=0.5,
        regularization=0.1,
        scale=0.3,
        init=0.1,
        margin=0.1,
        learning_rate=0.1,
        threads=threads,
    ).fit(train)
    return float(tw.evaluate(model.score(test, own=True), test, metrics="ndcg@10")["ndcg@10"])


def figure_2(threads: int, quick: bool) -> list[dict[str, Any]]:
    rows = []
    for classes in CLASSES[:1] if quick else CLASSES:
        problems = [gaussians(classes, seed) for seed in SEEDS]
        for m in sorted({max(1, round(share * classes)) for share in SHARES}):
            local_ones = [own_ndcg(m, 1, *problem, threads) for problem in problems]
            one_global = [own_ndcg(m, classes, *problem, threads) for problem in problems]
            gain, width = interval([100 * (a / b - 1) for a, b in zip(local_ones, one_global, strict=True)])
            rows.append(
                {
                    "classes": classes,
                    "m": m,
                    "ndcg@10, local": float(np.mean(local_ones)),
                    "ndcg@10, global": float(np.mean(one_global)),
                    "gain, %": gain,
                    "gain ±": width,
                }
            )
    return rows


def off_peak(rows: list[dict[str, Any]]) -> float:
    """How many times the number of classes, or the other way round, the m of the largest gain is, at most."""
    factors = []
    for classes in {row["classes"] for row in rows}:
        own = [row for row in rows if row["classes"] == classes]
        factor = max(own, key=lambda row: row["gain, %"])["m"] / classes
        factors.append(max(factor, 1 / factor))
    return max(factors)


# --- figures 3 and 4 ----------------------------------------------------------------------------------------


def figure_3(data: Path, threads: int, quick: bool) -> list[dict[str, Any]]:
    folds = list(tw.datasets.letor_folds(data / "letor4-mq2008"))[: 1 if quick else None]
    models = [local(threads, 10 if quick else 50, "shared").fit(f.train, f.validation) for f in folds]
    rows = []
    for m in COUNTS[:3] if quick else COUNTS:
        values, seconds = [], 0.0
        for fold, found in zip(folds, models, strict=True):
            settings = vars(found.settings_) | {"rank": found.settings_.rank or "full"}
            model = found.clone().set_params(**settings, metrics=m)
            seconds += best_seconds(lambda model=model, fold=fold: model.fit(fold.train), 2) / len(folds)
            values.append(quality(model, fold.test)[0])
        rows.append({"m": m, "ndcg@10": float(np.mean(values)), "fit, s": seconds})
    return rows


def figure_4(threads: int, quick: bool) -> list[dict[str, Any]]:
    rows = []
    for d in DIMENSIONS[:3] if quick else DIMENSIONS:
        judged = tw.datasets.judgments_like(200, 20, d)
        row: dict[str, Any] = {"dimension": d}
        for rank in (1, "full"):
            model = tw.LGMML(10, rank=rank, unseen="shared", threads=threads)
            row[f"fit, rank {rank}, s"] = best_seconds(partial(model.fit, judged), 2)
            scoring = best_seconds(partial(model.score, judged), 3)
            row[f"score, rank {rank}, µs a row"] = 1e6 * scoring / len(judged)
        rows.append(row)
    return rows


def picture(found: dict[str, list[dict[str, Any]]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (gains, counts, costs) = pyplot.subplots(1, 3, figsize=(13, 4), constrained_layout=True)
    for classes in CLASSES:
        rows = [row for row in found["gaussians"] if row["classes"] == classes]
        at = [row["m"] for row in rows]
        (line,) = gains.plot(at, [row["gain, %"] for row in rows], marker="o", label=f"{classes} classes")
        gains.axvline(classes, color=line.get_color(), linestyle=":")
    gains.set(
        xscale="log",
        xlabel="metrics m",
        ylabel="gain of NDCG@10 over a global metric, %",
        title="Gaussian classes",
    )
    gains.legend()
    at = [row["m"] for row in found["metrics"]]
    counts.plot(at, [row["ndcg@10"] for row in found["metrics"]], marker="o", color="C0")
    counts.set(xscale="log", xlabel="metrics m", title="MQ2008, five folds")
    counts.set_ylabel("NDCG@10", color="C0")
    seconds = counts.twinx()
    seconds.plot(at, [row["fit, s"] for row in found["metrics"]], marker="s", color="C1")
    seconds.set_ylabel("fit, s", color="C1")
    at = [row["dimension"] for row in found["dimensions"]]
    for rank in (1, "full"):
        costs.plot(
            at, [r[f"fit, rank {rank}, s"] for r in found["dimensions"]], marker="o", label=f"rank {rank}"
        )
    costs.set(xscale="log", yscale="log", xlabel="features", ylabel="fit, s", title="m = 10, 4,000 rows")
    costs.legend()
    for axes in (gains, counts, costs):
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120)


# --- MSLR's size --------------------------------------------------------------------------------------------


def mslr(threads: int, quick: bool) -> dict[str, Any]:
    """One fit, in this process."""
    queries = 60 if quick else 6000
    judged = tw.datasets.judgments_like(queries, 121, 136, 5)
    validation = tw.datasets.judgments_like(queries // 3, 121, 136, 5, seed=1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    started = time.perf_counter()
    model = tw.LGMML(50, threads=threads).fit(judged, validation)
    seconds = time.perf_counter() - started
    return {
        "documents": len(judged),
        "minutes": seconds / 60,
        "peak, GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        "of it before the fit, GB": before,
        "settings": f"{model.settings_}, unseen {model.unseen_}",
    }


def mslr_apart(threads: int, quick: bool) -> dict[str, Any]:
    """The same in a process of its own, whose memory is its own."""
    command = [sys.executable, __file__, "--mslr-here", "--threads", str(threads)]
    done = subprocess.run(
        command + (["--quick"] if quick else []), stdout=subprocess.PIPE, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--mslr-here", action="store_true", help="that fit alone, in this process")
    asked = parser.parse_args()
    threads, quick = asked.threads, asked.quick
    if asked.mslr_here:
        print(json.dumps(mslr(threads, quick)))
        return
    found: dict[str, list[dict[str, Any]]] = {}
    bars: list[dict[str, Any]] = []
    if "gaussians" in asked.only:
        found["gaussians"] = figure_2(threads, quick)
    if "metrics" in asked.only:
        found["metrics"] = figure_3(asked.data, threads, quick)
    if "dimensions" in asked.only:
        found["dimensions"] = figure_4(threads, quick)
    if "mslr" in asked.only:
        found["mslr"] = [mslr_apart(threads, quick)]
    for name, rows in found.items():
        print(f"\n{name}\n" + table(list(rows[0]), [list(row.values()) for row in rows]))
    if "gaussians" in found:
        bars.append(
            bar("m of the largest gain, off the classes", off_peak(found["gaussians"]), 2, larger=False)
        )
    if "mslr" in found:
        bars.append(bar("minutes of MSLR's size", found["mslr"][0]["minutes"], MINUTES, larger=False))
        bars.append(bar("GB of MSLR's size", found["mslr"][0]["peak, GB"], GIGABYTES, larger=False))
    if not quick and set(asked.only) == set(PARTS):
        picture(found, RESULTS / "local-metrics.png")
        tables = {
            "NDCG@10 and time by m, MQ2008": found["metrics"],
            "Time by dimension": found["dimensions"],
            "A fit of MSLR's size": found["mslr"],
        }
        save("local_metrics", rows=found["gaussians"], tables=tables, bars=bars)


if __name__ == "__main__":
    main()
