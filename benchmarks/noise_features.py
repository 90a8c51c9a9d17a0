"""Robustness: MQ2008 with 50, 200 and 500 features that say nothing, and what each ranker loses by them.

The added features are normal noise, the same in all folds' parts. Settings are chosen on validation at every
amount; L-GMML keeps all but its t and λ from the clean data. NDCG@10 by LETOR 4.0's convention.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from common import RESULTS, arguments, save, table
from ltr import Fit, local, rankers

import topwise as tw
from topwise.datasets.letor import Fold

AMOUNTS = (0, 50, 200, 500)
SIDES = ("GMML", "L-GMML", "RankSVM", "ListNet", "LambdaMART", "GBRT")


def noisy(judged: tw.Judgments, amount: int, seed: int) -> tw.Judgments:
    """With so many more features."""
    noise = np.random.default_rng([seed, amount]).normal(size=(len(judged), amount))
    return judged.with_features(np.hstack([judged.dense(), noise.astype(np.float32)]))


def with_noise(fold: Fold, amount: int) -> Fold:
    parts = (fold.train, fold.validation, fold.test)
    return Fold(*(noisy(part, amount, number) for number, part in enumerate(parts)))


def geometry_alone(clean: tw.LGMML, threads: int) -> Fit:
    """L-GMML with the settings of the clean data, but for those of its metrics."""
    found = clean.settings_
    fixed = {name: getattr(found, name) for name in ("scale", "init", "margin", "learning_rate")}
    model = local(threads).set_params(**fixed, rank=found.rank or "full", unseen=clean.unseen_)
    return lambda fold: model.clone().fit(fold.train, fold.validation)


def ndcg(model: Any, fold: Fold) -> float:
    report = tw.evaluate(model.score(fold.test), fold.test, metrics="ndcg@10", convention="letor4")
    return float(report["ndcg@10"])


def picture(rows: list[dict[str, Any]], path: Path) -> None:
    """What is left of each ranker's quality."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.4), constrained_layout=True)
    for row in rows:
        axes.plot(AMOUNTS, [row[f"+{n}"] for n in AMOUNTS], marker="o", label=row["ranker"])
    axes.set(xlabel="features of noise added to 46", ylabel="NDCG@10 (LETOR 4.0)", title="MQ2008 under noise")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=120)


def main() -> None:
    asked = arguments(__doc__).parse_args()
    folds = list(tw.datasets.letor_folds(asked.data / "letor4-mq2008"))[: 1 if asked.quick else None]
    amounts = AMOUNTS[:2] if asked.quick else AMOUNTS
    fits = {name: fit for name, fit in rankers(asked.threads, asked.quick).items() if name in SIDES}
    values: dict[str, list[float]] = {name: [] for name in fits}
    clean: list[Any] = []
    for amount in amounts:
        found: dict[str, list[float]] = {name: [] for name in fits}
        for number, fold in enumerate(folds):
            harder = with_noise(fold, amount) if amount else fold
            for name, fit in fits.items():
                again = geometry_alone(clean[number], asked.threads) if name == "L-GMML" and amount else fit
                model = again(harder)
                if name == "L-GMML" and not amount:
                    clean.append(model)
                found[name].append(ndcg(model, harder))
        for name in fits:
            values[name].append(float(np.mean(found[name])))
        print(amount, {name: round(figures[-1], 4) for name, figures in values.items()}, flush=True)
    rows = [
        {
            "ranker": name,
            **{f"+{n}": value for n, value in zip(amounts, figures, strict=True)},
            "kept": figures[-1] / figures[0],
        }
        for name, figures in values.items()
    ]
    print(table(list(rows[0]), [list(row.values()) for row in rows]))
    if not asked.quick:
        picture(rows, RESULTS / "noise-features.png")
        save("noise_features", rows=rows)


if __name__ == "__main__":
    main()
