"""MaxMF: what T tastes cost beside one vector a user, and what they bring.

python benchmarks/tastes.py           time per event beside MatrixFactorization; T = 1 … 10 on two logs
python benchmarks/tastes.py --tune    the search for each T's max_norm, on validation, the same grid for all

Ranks are among all items but the known ones. The slides' figures, of Google Music and YouTube, are relative
to T = 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from common import arguments, bar, interval, save_part, table
from trials import SEEDS, Trial, read

import topwise as tw

DIM = 50
PARTS = ("time", "quality")
EPOCHS = 25
MOST_RATIO = 2.0
TASTES = (1, 2, 3, 5, 10)
GRID = (1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2.0)
SMOOTH = (0.0, 0.6)
METRICS = ("mean_rank", "max_rank", "precision@10", "recall@10")
SLIDES = {
    2: "rank −3 to −8 %, p@10 +10 to +13 %",
    3: "rank −4 to −12 %, p@10 −0.2 to +21 %",
    5: "rank −8 to −9 %, p@10 +1.3 to +23 %",
    10: "rank −11 to −17 %, p@10 +3 to +32 %",
}

# Of each log: max_norm by T, for the maximum and for the smoothed one; see `--tune`.
CHOSEN: dict[str, dict[float, dict[int, float]]] = {
    "movielens-1m": {
        0.0: {1: 1.9, 2: 1.9, 3: 1.7, 5: 1.8, 10: 1.8},
        0.6: {2: 1.9, 3: 1.9, 5: 1.9, 10: 1.9},
    },
    "lastfm-hetrec": {
        0.0: {1: 1.6, 2: 1.6, 3: 1.6, 5: 1.6, 10: 1.6},
        0.6: {2: 1.6, 3: 1.6, 5: 1.6, 10: 1.6},
    },
}


def log_of(name: str, root: Any) -> tw.Events:
    """Distinct pairs of a log, all alike."""
    return replace(read(name, root), weight=None)


def model_of(tastes: int, smooth: float, max_norm: float, seed: int, threads: int, epochs: int) -> tw.MaxMF:
    """A model with T tastes at its settings."""
    return tw.MaxMF(
        dim=DIM, epochs=epochs, tastes=tastes, smooth=smooth, max_norm=max_norm, seed=seed, threads=threads
    )


def quality(model: tw.MaxMF, trial: Trial) -> dict[str, float]:
    """The metrics of a fit on a trial."""
    train = trial.log.take(trial.in_train)
    model.fit(train, progress=False)
    report = tw.evaluate(model, trial.log.take(trial.in_test), metrics=METRICS, exclude=train)
    return {name: float(report[name]) for name in METRICS}


def time_per_event(
    trial: Trial, tastes: Sequence[int], repeats: int, smooth: float = 0
) -> list[dict[str, Any]]:
    """Nanoseconds an event of the best epoch of some interleaved runs: same settings, one thread."""
    train = trial.log.take(trial.in_train)
    sides: dict[str, Any] = {"MatrixFactorization": None, **{f"MaxMF T={t}": t for t in tastes}}
    best = dict.fromkeys(sides, float("inf"))
    trials = {}
    for _ in range(repeats):
        for name, count in sides.items():
            shared: dict[str, Any] = {"dim": DIM, "epochs": 3, "max_norm": 1.8, "threads": 1, "seed": 0}
            model = tw.MatrixFactorization(**shared)
            if count is not None:
                model = tw.MaxMF(tastes=count, smooth=smooth, **shared)
            model.fit(train, progress=False)
            fastest = min(record["seconds"] for record in model.history_records_)
            best[name] = min(best[name], fastest / len(train) * 1e9)
            trials[name] = model.history_records_[-1]["trials"]
    plain = best["MatrixFactorization"]
    return [
        {"model": name, "smooth": smooth, "ns an event": ns, "over plain": ns / plain, "trials": trials[name]}
        for name, ns in best.items()
    ]


def compare(name: str, trials: list[Trial], threads: int, epochs: int, smooth: float) -> list[dict[str, Any]]:
    """Every T on every split, beside T = 1."""
    rows: list[dict[str, Any]] = []
    first: dict[str, float] = {}
    for tastes in TASTES if smooth == 0 else TASTES[1:]:
        norm = CHOSEN[name][smooth][tastes]
        found = [
            quality(model_of(tastes, smooth, norm, seed, threads, epochs), trial)
            for seed, trial in enumerate(trials)
        ]
        row: dict[str, Any] = {"log": name, "T": tastes, "smooth": smooth, "max_norm": norm}
        for metric in METRICS:
            row[metric], row[f"{metric} ±"] = interval([one[metric] for one in found])
        rows.append(row)
        print(
            f"  {name} T={tastes} smooth={smooth}: {row['mean_rank']:.1f} {row['precision@10']:.4f}",
            flush=True,
        )
    first = _plain(name, trials, threads, epochs) if smooth else {m: rows[0][m] for m in METRICS}
    for row in rows:
        for metric in ("mean_rank", "precision@10"):
            row[f"{metric} over T=1"] = f"{100 * (row[metric] / first[metric] - 1):+.1f} %"
        row["slides"] = SLIDES.get(row["T"], "")
    return rows


_PLAIN: dict[str, dict[str, float]] = {}


def _plain(name: str, trials: list[Trial], threads: int, epochs: int) -> dict[str, float]:
    """The means of T = 1, fitted once."""
    if name not in _PLAIN:
        norm = CHOSEN[name][0.0][1]
        found = [
            quality(model_of(1, 0, norm, seed, threads, epochs), trial) for seed, trial in enumerate(trials)
        ]
        _PLAIN[name] = {metric: interval([one[metric] for one in found])[0] for metric in METRICS}
    return _PLAIN[name]


def tune(name: str, trial: Trial, threads: int) -> None:
    """Every T over the same grid, by precision@10 on validation."""
    for smooth in SMOOTH:
        for tastes in TASTES if smooth == 0 else TASTES[1:]:
            found = {c: quality(model_of(tastes, smooth, c, 0, threads, EPOCHS), trial) for c in GRID}
            for norm, values in found.items():
                print(f"  {name} T={tastes} smooth={smooth} max_norm={norm} {values}", flush=True)
            best = max(found, key=lambda c: found[c]["precision@10"])
            print(f"{name} T={tastes} smooth={smooth}: max_norm {best}", flush=True)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--tune", action="store_true", help="search max_norm for each T, on validation")
    parser.add_argument("--log", nargs="+", choices=list(CHOSEN), default=list(CHOSEN))
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    asked = parser.parse_args()
    logs = {name: log_of(name, asked.data) for name in asked.log}
    if asked.tune:
        for name, log in logs.items():
            tune(name, Trial.random(log, SEEDS[0]).validation(), asked.threads)
        return
    seeds, repeats, epochs = (SEEDS[:1], 1, 2) if asked.quick else (SEEDS, 5, EPOCHS)
    if "time" in asked.only:
        timed = next(iter(logs.values()))
        times = time_per_event(Trial.random(timed, 0), (1, 5) if asked.quick else TASTES, repeats)
        times += time_per_event(Trial.random(timed, 0), (5,), repeats, smooth=SMOOTH[1])[1:]
        print(table(list(times[0]), [list(row.values()) for row in times]))
        of_five = next(row for row in times if row["model"] == "MaxMF T=5" and row["smooth"] == 0)
        judged = [
            bar("time per event, T = 5 over MatrixFactorization", of_five["over plain"], MOST_RATIO, False)
        ]
        if not asked.quick:
            save_part("tastes", judged, tables={"Time": times})
    if "quality" in asked.only:
        rows = []
        for name, log in logs.items():
            trials = [Trial.random(log, seed) for seed in seeds]
            for smooth in SMOOTH[:1] if asked.quick else SMOOTH:
                rows += compare(name, trials, asked.threads, epochs, smooth)
        print("\n" + table(list(rows[0]), [list(row.values()) for row in rows]))
        if not asked.quick:
            save_part("tastes", [], rows=rows)


if __name__ == "__main__":
    main()
