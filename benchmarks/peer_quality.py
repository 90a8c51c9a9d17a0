"""The quality of the peers alone: the bars that topwise has to clear.

python benchmarks/peer_quality.py --data DATA          every peer at its chosen settings, on the three splits
python benchmarks/peer_quality.py --data DATA --tune   the search that chose them, on validation
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path

import numpy as np
from peers import CHOSEN, PEERS, Peer
from trials import LOGS, SEEDS, Ints, Quality, Trial, measure, read

HEADER = (
    f"{'log':14} {'peer':13} {'part':10} {'recall':>8} {'capped':>8} {'ndcg':>8} {'seconds':>9}  settings"
)
SEARCH_USERS = 8000
"""A search measures at most so many users: enough to tell settings apart."""


@dataclass(frozen=True)
class Found:
    """A peer after some passes: the training seconds spent, and the quality reached."""

    peer: Peer
    passes: int
    seconds: float
    quality: Quality

    @property
    def recall(self) -> float:
        return self.quality.recall

    def line(self, log: str, part: str) -> str:
        q = self.quality
        numbers = f"{q.recall:8.4f} {q.capped:8.4f} {q.ndcg:8.4f} {self.seconds:9.2f}"
        return (
            f"{log:14} {self.peer.name:13} {part:10} {numbers}  {self.peer.settings()}, passes {self.passes}"
        )


def curve(peer: Peer, trial: Trial, passes: Sequence[int], users: Ints | None = None) -> list[Found]:
    """Fit once, and measure after each of these passes."""
    found: list[Found] = []

    def report(count: int, seconds: float) -> None:
        found.append(Found(peer, count, seconds, measure(peer, trial, users)))

    peer.fit(trial, passes, report)
    return found


def candidates(kind: type[Peer], trial: Trial) -> Iterator[Peer]:
    """Every point of a peer's grid; kinds of confidence only where the log has strengths."""
    grid = dict(kind.grid)
    if bool((trial.strengths.data == 1).all()):
        grid = {name: values[:1] if name == "confidence" else values for name, values in grid.items()}
    for point in itertools.product(*grid.values()):
        yield replace(kind(), **dict(zip(grid, point, strict=True)))


def search(log: str, kind: type[Peer], trial: Trial, threads: int) -> None:
    """Print every grid point at its best number of passes, and the best of all once more."""
    users = some(trial.users, SEARCH_USERS)
    tops = []
    for peer in candidates(kind, trial):
        points = curve(replace(peer, threads=threads), trial, kind.stages, users)
        tops.append(max(points, key=attrgetter("recall")))
        print(tops[-1].line(log, "validation"), flush=True)
    print(max(tops, key=attrgetter("recall")).line(log, "best"), flush=True)


def some(users: Ints, most: int) -> Ints:
    """At most this many of the users, the same ones every time."""
    if len(users) <= most:
        return users
    return np.sort(np.random.default_rng(0).choice(users, most, replace=False))


def compare(log: str, peer: Peer, passes: int, trials: dict[int, Trial]) -> None:
    """Print a peer on the test part of every split, and its means."""
    runs = []
    for seed, trial in trials.items():
        runs += curve(peer, trial, [passes])
        print(runs[-1].line(log, f"test {seed}"), flush=True)
    quality = Quality.mean(run.quality for run in runs)
    seconds = float(np.mean([run.seconds for run in runs]))
    print(Found(peer, passes, seconds, quality).line(log, "test mean"), flush=True)


def main() -> None:
    names = [kind.name for kind in PEERS]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with a folder for each log")
    parser.add_argument("--log", nargs="+", choices=list(LOGS), default=list(LOGS))
    parser.add_argument("--peer", nargs="+", choices=names, default=names)
    parser.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--tune", action="store_true", help="search the grids, on the first seed's validation part"
    )
    asked = parser.parse_args()
    print(HEADER)
    for log in asked.log:
        pairs = read(log, asked.data)
        if asked.tune:
            validation = Trial.random(pairs, asked.seeds[0]).validation()
            for kind in PEERS:
                if kind.name in asked.peer:
                    search(log, kind, validation, asked.threads)
        else:
            trials = {seed: Trial.random(pairs, seed) for seed in asked.seeds}
            for peer, passes in CHOSEN[log]:
                if peer.name in asked.peer:
                    compare(log, replace(peer, threads=asked.threads), passes, trials)


if __name__ == "__main__":
    main()
