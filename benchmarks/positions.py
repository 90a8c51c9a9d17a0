"""K-OS: the position that is trained trades the top of the list against the worst ranked of a user's items.

WARP, and K-OS with K = 5 and position 1 … 5, on MovieLens-1M and Last.fm plays: three random splits, max_norm
of each chosen on the first split's validation part by precision@10. Ranks are among all items but the known
ones. The slides' figures, of Google Music's artists, are relative to WARP.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from common import arguments, bar, interval, save, table
from tastes import log_of
from trials import SEEDS, Trial

import topwise as tw

DIM, K, EPOCHS = 50, 5, 25
METRICS = ("mean_rank", "max_rank", "precision@10", "recall@10")
NORMS = {"movielens-1m": (1.7, 1.9, 2.1), "lastfm-hetrec": (1.4, 1.6, 1.8)}
SLIDES = {
    "WARP": "",
    "K-OS k=1": "rank +195 %, max rank +224 %, p@10 −1.3 %",
    "K-OS k=2": "rank +88 %, max rank +110 %, p@10 +1 %",
    "K-OS k=3": "rank +23 %, max rank +32 %, p@10 −1 %",
    "K-OS k=4": "rank −7.7 %, max rank −6.4 %, p@10 −3 %",
    "K-OS k=5": "rank −16 %, max rank −18 %, p@10 −14 %",
}


def loss_of(name: str) -> tw.losses.Loss:
    return tw.WARP() if name == "WARP" else tw.KOS(k=K, position=int(name[-1]))


def measure(name: str, norm: float, trial: Trial, seed: int, threads: int, epochs: int) -> dict[str, float]:
    train = trial.log.take(trial.in_train)
    model = tw.MatrixFactorization(
        dim=DIM, loss=loss_of(name), epochs=epochs, max_norm=norm, threads=threads, seed=seed
    ).fit(train, progress=False)
    report = tw.evaluate(model, trial.log.take(trial.in_test), metrics=METRICS, exclude=train, bootstrap=1)
    return {metric: float(report[metric]) for metric in METRICS}


def compare(log: str, data: Any, threads: int, quick: bool) -> list[dict[str, Any]]:
    pairs, epochs = log_of(log, data), 3 if quick else EPOCHS
    trials = [Trial.random(pairs, seed) for seed in (SEEDS[:1] if quick else SEEDS)]
    validation = trials[0].validation()
    rows: list[dict[str, Any]] = []
    for name in SLIDES:
        tried = {
            c: measure(name, c, validation, 0, threads, epochs)["precision@10"]
            for c in (NORMS[log][1:2] if quick else NORMS[log])
        }
        norm = max(tried, key=lambda c: tried[c])
        found = [measure(name, norm, trial, s, threads, epochs) for s, trial in enumerate(trials)]
        row: dict[str, Any] = {"log": log, "loss": name, "max_norm": norm}
        for metric in METRICS:
            row[metric], row[f"{metric} ±"] = interval([one[metric] for one in found])
        first = rows[0] if rows else row
        for metric in METRICS[:3]:
            row[f"{metric} over WARP"] = f"{100 * (row[metric] / first[metric] - 1):+.1f} %"
        rows.append(row | {"slides": SLIDES[name]})
        print(
            f"  {log} {name}: {row['mean_rank']:.1f} {row['max_rank']:.1f} {row['precision@10']:.4f}",
            flush=True,
        )
    return rows


def falls(log: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The steps from k to k + 1 at which a measure falls, of K − 1."""
    found = []
    for metric in ("mean_rank", "max_rank", "precision@10"):
        values = [row[metric] for row in rows if row["loss"] != "WARP"]
        steps = sum(after < before for before, after in pairwise(values))
        found.append(bar(f"{log}: steps of k at which {metric} falls, of {K - 1}", steps, K - 1))
    return found


def main() -> None:
    asked = arguments(__doc__).parse_args()
    rows, bars = [], []
    for log in list(NORMS)[-1:] if asked.quick else NORMS:
        own = compare(log, asked.data, asked.threads, asked.quick)
        rows += own
        bars += falls(log, own)
    print(table(list(rows[0]), [list(row.values()) for row in rows]))
    if not asked.quick:
        save("positions", rows=rows, bars=bars)


if __name__ == "__main__":
    main()
