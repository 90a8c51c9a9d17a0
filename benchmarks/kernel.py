"""The training kernel: steps and negatives per second, and their share of the memory bandwidth.

A trial reads the negative's row; a step reads and writes three rows. The bandwidth is what the same number of
threads reads of an array far larger than the caches, in the same run.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from common import arguments, best_seconds, save, table
from trials import Trial, read

import topwise as tw

DIM = 64
ROW = 4 * DIM


def bandwidth(threads: int) -> float:
    """Bytes per second that so many threads read together."""
    arrays = [np.ones(64_000_000, dtype=np.float32) for _ in range(threads)]
    with ThreadPoolExecutor(threads) as pool:
        seconds = best_seconds(lambda: list(pool.map(np.max, arrays)), 5)
    return sum(array.nbytes for array in arrays) / seconds


def measure(
    name: str, log: tw.Events, loss: tw.AUC | tw.WARP, threads: int, available: float
) -> dict[str, Any]:
    """The fastest epoch of a few."""
    model = tw.MatrixFactorization(dim=DIM, loss=loss, epochs=3, max_norm=1.9, threads=threads)
    model.fit(log, progress=False)
    record = min(model.history_records_, key=lambda r: r["seconds"])
    steps = len(log) / record["seconds"]
    trials = steps * record["trials"]
    traffic = trials * ROW + steps * record["violators"] * 6 * ROW
    return {
        "log": name,
        "loss": type(loss).__name__,
        "threads": threads,
        "steps/s": steps,
        "negatives/s": trials,
        "GB/s": traffic / 1e9,
        "memory GB/s": available / 1e9,
        "share": traffic / available,
    }


def main() -> None:
    asked = arguments(__doc__).parse_args()
    trial = Trial.random(read("movielens-1m", asked.data), 0)
    logs = {
        "MovieLens-1M (rows fit the caches)": trial.log.take(trial.in_train),
        "177,000 items (45 MB of rows)": tw.datasets.lastfm_like(
            n_events=300_000 if asked.quick else 2_000_000
        ).log,
    }
    rows = []
    for threads in sorted({1, asked.threads}):
        available = bandwidth(threads)
        for name, log in logs.items():
            for loss in (tw.AUC(), tw.WARP(max_trials=100)):
                rows.append(measure(name, log, loss, threads, available))
    print(table(list(rows[0]), [list(row.values()) for row in rows]))
    if not asked.quick:
        save("kernel", rows=rows)


if __name__ == "__main__":
    main()
