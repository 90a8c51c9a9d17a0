"""Two threads over one: MovieLens-1M and the large generated catalogue, at equal quality.

Best of some interleaved repeats of the epochs themselves; the quality of both must agree.
"""

from __future__ import annotations

from typing import Any

from common import arguments, bar, save, table
from trials import Trial, read

import topwise as tw

WANTED = 1.7
LEAST_QUALITY = 0.98


def epochs_seconds(model: tw.MatrixFactorization, log: tw.Events) -> float:
    """The seconds that the epochs of a fit took."""
    model.fit(log, progress=False)
    return float(sum(record["seconds"] for record in model.history_records_))


def measure(
    name: str, train: tw.Events, test: tw.Events, settings: dict[str, Any], repeats: int
) -> dict[str, Any]:
    """Both numbers of threads in turn, and the quality each reaches."""
    seconds = {1: float("inf"), 2: float("inf")}
    quality = {}
    for _ in range(repeats):
        for threads in seconds:
            model = tw.MatrixFactorization(threads=threads, **settings)
            seconds[threads] = min(seconds[threads], epochs_seconds(model, train))
            if threads not in quality:
                quality[threads] = tw.evaluate(model, test, metrics=["recall@10"], exclude=train)["recall@10"]
    return {
        "log": name,
        "1 thread, s": seconds[1],
        "2 threads, s": seconds[2],
        "speed-up": seconds[1] / seconds[2],
        "recall@10, 1": quality[1],
        "recall@10, 2": quality[2],
        "events/s, 2": len(train) * settings["epochs"] / seconds[2],
    }


def main() -> None:
    asked = arguments(__doc__).parse_args()
    trial = Trial.random(read("movielens-1m", asked.data), 0)
    large = tw.datasets.lastfm_like(n_events=300_000 if asked.quick else 5_400_000).log
    large_train, large_test = tw.split.by_fraction(large, test=0.1, seed=0)
    rows = [
        measure(
            "MovieLens-1M",
            trial.log.take(trial.in_train),
            trial.log.take(trial.in_test),
            {"epochs": 10, "max_norm": 1.9},
            1 if asked.quick else 5,
        ),
        measure(
            "177,000 items",
            large_train,
            large_test,
            {"epochs": 2, "max_norm": 2.0, "loss": tw.WARP(max_trials=50)},
            1 if asked.quick else 3,
        ),
    ]
    print(table(list(rows[0]), [list(row.values()) for row in rows]))
    judged = []
    for row in rows:
        judged.append(bar(f"{row['log']}: two threads over one", row["speed-up"], WANTED))
        judged.append(
            bar(
                f"{row['log']}: quality of two over one",
                row["recall@10, 2"] / row["recall@10, 1"],
                LEAST_QUALITY,
            )
        )
    if not asked.quick:
        save("threads", rows=rows, bars=judged)


if __name__ == "__main__":
    main()
