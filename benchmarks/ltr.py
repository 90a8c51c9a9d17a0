"""Learning to rank on MQ2008: five folds, LETOR 4.0's own convention, mean and fold by fold.

python benchmarks/ltr.py            the rankers, then the time to equal quality of trees and of L-GMML
python benchmarks/ltr.py --quick    one fold, few settings

Settings are chosen on each fold's validation part, never on its test part. The published figures are quoted
from memory of LETOR's page, not measured here; a correct RankSVM on these folds lands near its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from common import arguments, bar, best_seconds, save, table

import topwise as tw
from topwise.baselines import GBRT, LambdaMART, ListNet, RankSVM
from topwise.metric_learning import RULES

METRICS = ("ndcg@10", "map", "mean_ndcg", "precision@10")
PUBLISHED = {
    "RankSVM": (0.2279, 0.4696),
    "ListNet": (0.2303, 0.4775),
    "AdaRank-NDCG": (0.2307, 0.4824),
    "RankBoost": (0.2255, 0.4775),
}
NEAR = 0.01
TREES = (5, 10, 20, 40, 80, 160, 320)
COUNTS = (5, 10, 25, 50, 100, 200)
EUCLID = 1e9
"""So large a λ leaves nothing of S and D: the metric is the identity."""

Fit = Callable[[Any], Any]


def chosen(forms: Sequence[tw.models.FeatureRanker]) -> Fit:
    """The one of some settings that is best on validation."""

    def fit(fold: Any) -> Any:
        fitted = [form.clone().fit(fold.train, fold.validation) for form in forms]
        return max(fitted, key=lambda model: model.evaluate(fold.validation, "ndcg@10")["ndcg@10"])

    return fit


def trees(kind: type[LambdaMART] | type[GBRT], threads: int, quick: bool) -> list[tw.models.FeatureRanker]:
    """Settings for few queries: small trees of large leaves, to full size."""
    sizes = [(8, 50)] if quick else [(4, 50), (8, 50), (8, 200), (16, 100), (31, 50)]
    rates = [0.1] if quick else [0.02, 0.05]
    return [
        kind(leaves=leaves, min_rows=rows, learning_rate=rate, threads=threads)
        for leaves, rows in sizes
        for rate in rates
    ]


def local(threads: int, metrics: int = 50, unseen: str | None = None) -> tw.LGMML:
    """L-GMML, which chooses its other settings on validation itself."""
    return tw.LGMML(metrics, unseen=unseen, convention="letor4", threads=threads)


def rankers(threads: int, quick: bool) -> dict[str, Fit]:
    """Everybody, and how they are fitted on a fold."""

    def by(model: tw.models.FeatureRanker) -> Fit:
        return lambda fold: model.clone().fit(fold.train, fold.validation)

    sides = {
        "Euclid": by(tw.GMML(regularization=EUCLID, threads=threads)),
        "GMML": by(tw.GMML(t=None, convention="letor4", threads=threads)),
        **{f"L-GMML, Δ by {rule}": by(local(threads, unseen=rule)) for rule in RULES},
        "L-GMML": by(local(threads)),
        "L-GMML, 200 metrics": by(local(threads, 200)),
        "RankSVM": chosen([RankSVM(normalize=None), RankSVM(normalize="standard")]),
        "ListNet": chosen([ListNet(normalize=None), ListNet(normalize="standard")]),
        "LambdaMART": chosen(trees(LambdaMART, threads, quick)),
        "GBRT": chosen(trees(GBRT, threads, quick)),
        "LambdaMART, 5000 trees": lambda fold: LambdaMART.paper(threads=threads).fit(fold.train),
        "GBRT, 5000 trees": lambda fold: GBRT.paper(threads=threads).fit(fold.train),
    }
    if quick:
        sides = {n: fit for n, fit in sides.items() if n in ("Euclid", "GMML", "RankSVM", "LambdaMART")}
        sides["L-GMML"] = by(local(threads, 10, "shared"))
    return sides


@dataclass
class Measured:
    """A ranker over all folds."""

    name: str
    models: list[Any]
    values: list[list[float]]
    fitting: float
    scoring: float
    """Seconds a fold, and microseconds a row: the best of some runs over all rows of a fold."""

    @property
    def row(self) -> dict[str, Any]:
        means = np.mean(self.values, axis=0)
        return {
            "ranker": self.name,
            **dict(zip(METRICS, map(float, means), strict=True)),
            "fit and choose, s": self.fitting,
            "score, µs a row": self.scoring,
        }


def quality(model: Any, judged: tw.Judgments) -> list[float]:
    report = tw.evaluate(model.score(judged), judged, metrics=METRICS, convention="letor4")
    return [float(report[metric]) for metric in METRICS]


def measure(name: str, fit: Fit, folds: list[Any]) -> Measured:
    """A ranker on the test part of every fold."""
    models, fitting, scoring = [], 0.0, 0.0
    for fold in folds:
        started = time.perf_counter()
        model = fit(fold)
        fitting += (time.perf_counter() - started) / len(folds)
        # Of more rows than a fold has, so that the call itself does not count.
        rows = tw.Judgments.from_arrays(
            np.tile(fold.train.dense(), (10, 1)),
            np.zeros(10 * len(fold.train)),
            groups=[10 * len(fold.train)],
        )
        if getattr(model, "unseen_", None) != "kernel":  # which looks at whole queries
            seconds = best_seconds(lambda model=model, rows=rows: model.score(rows), 3)
            scoring += 1e6 * seconds / len(rows) / len(folds)
        models.append(model)
    values = [quality(model, fold.test) for model, fold in zip(models, folds, strict=True)]
    found = Measured(name, models, values, fitting, scoring)
    print(f"  {name}: {' '.join(f'{v:.4f}' for v in np.mean(values, axis=0))}", flush=True)
    return found


def curve(folds: list[Any], fits: Sequence[tuple[int, Fit]]) -> list[dict[str, float]]:
    """For each size the seconds of one fit, without any choosing, and the quality; means over folds."""
    points = []
    for size, fit in fits:
        seconds, values = 0.0, []
        for fold in folds:
            seconds += best_seconds(lambda fold=fold, fit=fit: fit(fold), 2) / len(folds)
            values.append(quality(fit(fold), fold.test)[0])
        points.append({"size": size, "seconds": seconds, "ndcg@10": float(np.mean(values))})
    return points


def time_to_equal(folds: list[Any], tree: Measured, metric: Measured) -> tuple[list[Any], list[Any], float]:
    """Both with the settings that each fold has chosen; our time to what both reach, over theirs."""
    at = {id(fold): number for number, fold in enumerate(folds)}

    def of_trees(count: int) -> Fit:
        def fit(fold: Any) -> Any:
            settings = tree.models[at[id(fold)]].clone().set_params(trees=count, patience=None)
            return settings.fit(fold.train)

        return fit

    def of_metrics(count: int) -> Fit:
        def fit(fold: Any) -> Any:
            found = metric.models[at[id(fold)]]
            settings = vars(found.settings_) | {"rank": found.settings_.rank or "full"}
            return found.clone().set_params(**settings, metrics=count, unseen=found.unseen_).fit(fold.train)

        return fit

    ours = curve(folds, [(count, of_metrics(count)) for count in COUNTS])
    theirs = curve(folds, [(count, of_trees(count)) for count in TREES])
    both = min(max(p["ndcg@10"] for p in points) for points in (ours, theirs))
    first = [min(p["seconds"] for p in points if p["ndcg@10"] >= both) for points in (ours, theirs)]
    return ours, theirs, first[0] / first[1]


def grouped(root: Path, threads: int, quick: bool) -> list[dict[str, Any]]:
    """LightGBM's example: 300 features, rows grouped by a file of counts. A fifth of train is validation."""
    folder = root / "lightgbm-lambdarank"
    parts = []
    for name in ("rank.train", "rank.test"):
        groups = np.loadtxt(folder / f"{name}.query", dtype=int)
        parts.append(tw.Judgments.read_svmlight(folder / f"{name}.gz", groups=groups, n_features=301))
    rest, test = parts
    held = np.random.default_rng(0).permutation(rest.n_queries)
    cut = rest.n_queries // 5
    train, validation = rest.take(np.sort(held[cut:])), rest.take(np.sort(held[:cut]))

    @dataclass
    class Parts:
        train: tw.Judgments
        validation: tw.Judgments

    rows = []
    for name, fit in rankers(threads, quick).items():
        if name in ("GMML", "L-GMML", "RankSVM", "LambdaMART", "GBRT"):
            model = fit(Parts(train, validation))
            report = tw.evaluate(model.score(test), test, metrics=["ndcg@10", "map"])
            rows.append({"ranker": name, "ndcg@10": report["ndcg@10"], "map": report["map"]})
    return rows


def smoke(root: Path, threads: int) -> dict[str, Any]:
    """Two raw, unscaled queries of MSLR: the one learned from, the other scored."""
    judged = tw.Judgments.read_svmlight(root / "mslr-web10k-sample" / "two-queries-355rows.txt.gz")
    first, second = judged.take([0]), judged.take([1])
    found = {}
    for name, model in (
        ("L-GMML", tw.LGMML(10, threads=threads)),
        ("RankSVM", RankSVM(normalize="standard")),
    ):
        scores = model.fit(first).score(second)
        if not np.isfinite(scores).all() or scores.std() == 0:
            raise ValueError(f"{name} does not tell the rows apart")
        found[name] = tw.evaluate(scores, second, metrics="ndcg@10", convention="mslr")["ndcg@10"]
    return found


def main() -> None:
    asked = arguments(__doc__).parse_args()
    threads, quick = asked.threads, asked.quick
    folds = list(tw.datasets.letor_folds(asked.data / "letor4-mq2008"))[: 1 if quick else None]
    measured = {name: measure(name, fit, folds) for name, fit in rankers(threads, quick).items()}
    rows = [side.row for side in measured.values()]
    print(table(list(rows[0]), [list(row.values()) for row in rows]))
    print(
        "\nndcg@10 by fold\n"
        + table(
            ["ranker", *(f"fold {n + 1}" for n in range(len(folds)))],
            [[name, *(values[0] for values in side.values)] for name, side in measured.items()],
        )
    )
    print(
        "\npublished, quoted from memory of LETOR's page\n"
        + table(["ranker", "ndcg@10", "map"], [[name, *figures] for name, figures in PUBLISHED.items()])
    )
    ours, theirs, ratio = time_to_equal(folds, measured["LambdaMART"], measured["L-GMML"])
    for name, points in (("L-GMML by metrics", ours), ("LambdaMART by trees", theirs)):
        print(f"\n{name}\n" + table(list(points[0]), [list(point.values()) for point in points]))
    other = grouped(asked.data, threads, quick)
    print("\nlightgbm-lambdarank\n" + table(list(other[0]), [list(row.values()) for row in other]))
    print("\nmslr-web10k-sample, one query after the other:", smoke(asked.data, threads), "\n")
    row = {side["ranker"]: side for side in rows}
    off = max(
        abs(row["RankSVM"][metric] - figure)
        for metric, figure in zip(("ndcg@10", "map"), PUBLISHED["RankSVM"], strict=True)
    )
    bars = [
        bar("RankSVM's distance from its published figures", off, NEAR, larger=False),
        bar("L-GMML's time to equal ndcg@10 over LambdaMART's", ratio, 1.0, larger=False),
        bar(
            "L-GMML's time of scoring a row over LambdaMART's",
            row["L-GMML"]["score, µs a row"] / row["LambdaMART"]["score, µs a row"],
            1.0,
            larger=False,
        ),
    ]
    if not quick:
        published = [
            {"ranker": f"{name} (quoted)", "ndcg@10": n, "map": m} for name, (n, m) in PUBLISHED.items()
        ]
        tables = {
            "NDCG@10 by fold": [
                {"ranker": name, **{f"fold {n}": values[0] for n, values in enumerate(side.values, 1)}}
                for name, side in measured.items()
            ],
            "Published, quoted from memory": published,
            "Time to quality: L-GMML by metrics": ours,
            "Time to quality: LambdaMART by trees": theirs,
            "LightGBM's example (300 features, 201 + 50 queries)": other,
        }
        save("ltr", rows=rows, tables=tables, bars=bars)


if __name__ == "__main__":
    main()
