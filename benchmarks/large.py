"""The large catalogue: a generated log of Last.fm-1K's size, 177,000 items and 5.4 million events.

Time to LightFM's best recall@10, and the peak memory of each side, which runs in a process of its own. A
tenth of the distinct (user, item) pairs is held out with all of their events. LightFM gets the same events,
and its settings are tried on the same split: max_sampled 10 and 200, its best pass.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np
from common import arguments, bar, save, table

import topwise as tw

DIM = 64
PASSES = (1, 2, 3, 5, 8, 12)
EPOCHS = (1, 2, 3, 5)
TRIALS = (20, 50, 200)
SAMPLED = (10, 200)
NORM = 2.0


def parts(quick: bool) -> tuple[tw.Events, tw.Events]:
    """What is learned from and what is held out."""
    log = tw.datasets.lastfm_like(n_events=400_000 if quick else 5_400_000).log
    pairs = log.codes("user").astype(np.int64) * log.n("item") + log.item
    distinct, place = np.unique(pairs, return_inverse=True)
    held = (np.random.default_rng(0).random(len(distinct)) < 0.1)[place]
    return log.take(~held), log.take(held)


def memory() -> float:
    """The most memory that this process has had, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def recall(model: Any, train: tw.Events, test: tw.Events) -> float:
    return float(tw.evaluate(model, test, metrics=["recall@10"], exclude=train)["recall@10"])


def run_ours(threads: int, quick: bool, trials: int) -> list[dict[str, Any]]:
    """A whole fit of each number of epochs."""
    train, test = parts(quick)
    base = memory()
    rows = []
    for epochs in EPOCHS[:2] if quick else EPOCHS:
        loss = tw.WARP(max_trials=trials)
        model = tw.MatrixFactorization(dim=DIM, loss=loss, epochs=epochs, max_norm=NORM, threads=threads)
        started = time.perf_counter()
        model.fit(train, progress=False)
        seconds = time.perf_counter() - started
        peak = memory()
        rows.append(row(f"topwise WARP {trials}", epochs, seconds, recall(model, train, test), base, peak))
    return rows


def run_lightfm(threads: int, quick: bool, sampled: int) -> list[dict[str, Any]]:
    """One run, measured after some passes."""
    import lightfm
    from scipy import sparse

    train, test = parts(quick)
    base = memory()
    shape = (train.n("user"), train.n("item"))
    events = sparse.coo_matrix((np.ones(len(train), np.float32), (train.user, train.item)), shape=shape)
    model = lightfm.LightFM(no_components=DIM, loss="warp", max_sampled=sampled, random_state=0)
    rows, seconds, before = [], 0.0, 0
    judge = tw.MatrixFactorization(dim=DIM, item_bias=True, epochs=1, max_norm=1.0, learning_rate=1e-6)
    peak = base
    for passes in PASSES[:2] if quick else PASSES:
        started = time.perf_counter()
        model.fit_partial(events, epochs=passes - before, num_threads=threads)
        seconds += time.perf_counter() - started
        before = passes
        peak = memory()
        if not hasattr(judge, "items_"):
            judge.fit(train, progress=False)  # gives LightFM's vectors the same evaluation as ours
        assert judge.context_ is not None
        bias, items = model.get_item_representations()
        judge.items_.rows[:, : DIM + 1] = np.column_stack([items, bias])
        judge.context_.rows[:, :DIM] = model.get_user_representations()[1]
        rows.append(row(f"LightFM WARP {sampled}", passes, seconds, recall(judge, train, test), base, peak))
    return rows


def row(side: str, passes: int, seconds: float, recall: float, base: float, peak: float) -> dict[str, Any]:
    return {
        "side": side,
        "passes": passes,
        "seconds": seconds,
        "recall@10": recall,
        "log, GB": base,
        "peak, GB": peak,
    }


def in_own_process(side: str, most: int, threads: int, quick: bool) -> list[dict[str, Any]]:
    command = [
        sys.executable,
        __file__,
        "--side",
        side,
        str(most),
        "--threads",
        str(threads),
        *(["--quick"] if quick else []),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return rows


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--side", nargs=2, help="run one side here, with its most trials, and print its rows")
    asked = parser.parse_args()
    if asked.side:
        run = {"ours": run_ours, "lightfm": run_lightfm}[asked.side[0]]
        print(json.dumps(run(asked.threads, asked.quick, int(asked.side[1]))))
        return
    tried = [("ours", trials) for trials in TRIALS] + [("lightfm", sampled) for sampled in SAMPLED]
    rows = [r for side, most in tried for r in in_own_process(side, most, asked.threads, asked.quick)]
    print(table(list(rows[0]), [list(r.values()) for r in rows]))
    ours = [r for r in rows if r["side"].startswith("topwise")]
    theirs = max((r for r in rows if r not in ours), key=lambda r: r["recall@10"])
    reached = [r["seconds"] for r in ours if r["recall@10"] >= theirs["recall@10"]]
    ratio = min(reached) / theirs["seconds"] if reached else float("inf")
    judged = [bar("our time to LightFM's best recall@10, over its own", ratio, 0.1, larger=False)]
    memories = max(r["peak, GB"] for r in ours) / max(r["peak, GB"] for r in rows if r not in ours)
    judged.append(bar("our peak memory over LightFM's", memories, 1.0, larger=False))
    if not asked.quick:
        save("large", rows=rows, bars=judged)


if __name__ == "__main__":
    main()
