"""Exact top-k by dot product: queries per second on one thread, against faiss and numpy.

python benchmarks/topk.py           177,000 items of 50 dimensions, k = 20
python benchmarks/topk.py --quick   a tenth of the items, two repeats

Items point everywhere alike. Their norms are spread log-normally by sigma: learned rows differ in length too,
popular items having longer ones. All sides return the same lists, which is checked before any time counts.
Time is the processor's, which on one thread is the clock's less what other programs took.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import faiss
import numpy as np
from common import bar, save
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from topwise import _core

Floats = NDArray[np.float32]
Ints = NDArray[np.integer[Any]]
Search = Callable[[Floats], tuple[Ints, Floats]]

DIM, K = 50, 20
SIGMAS = (0.0, 0.2, 0.5, 1.0)
BATCHES = (1, 32, 1000)
NUMPY_CHUNK = 16

SETTINGS = {
    "topwise": "ItemIndex, threads=1",
    "faiss": f"IndexFlatIP, faiss-cpu {faiss.__version__}, omp_set_num_threads(1)",
    "numpy": f"matmul, argpartition, sort by {NUMPY_CHUNK} queries, numpy {np.__version__}, 1 BLAS thread",
}


@dataclass(frozen=True)
class Row:
    """One line of the table: queries per second of each side."""

    sigma: float
    batch: int
    topwise: float
    faiss: float
    numpy: float

    def __str__(self) -> str:
        return (
            f"{self.sigma:5.1f} {self.batch:6d} {self.topwise:12,.0f} {self.faiss:10,.0f} {self.numpy:10,.0f}"
            f" {self.topwise / self.faiss:10.1f}x {self.topwise / self.numpy:10.1f}x"
        )


def make_items(rng: np.random.Generator, count: int, sigma: float) -> Floats:
    directions = rng.standard_normal((count, DIM))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return (directions * np.exp(sigma * rng.standard_normal((count, 1)))).astype(np.float32)


def topwise_search(items: Floats) -> Search:
    index = _core.ItemIndex(items)
    nothing = np.zeros(0, np.int32)

    def search(queries: Floats) -> tuple[Ints, Floats]:
        return index.search(queries, K, np.zeros(len(queries) + 1, np.int64), nothing, None, 1)

    return search


def faiss_search(items: Floats) -> Search:
    faiss.omp_set_num_threads(1)
    index = faiss.IndexFlatIP(DIM)
    index.add(items)

    def search(queries: Floats) -> tuple[Ints, Floats]:
        scores, found = index.search(queries, K)
        return found, scores

    return search


def numpy_search(items: Floats) -> Search:
    columns = np.ascontiguousarray(items.T)

    def head(queries: Floats) -> tuple[Ints, Floats]:
        scores = queries @ columns
        found = np.argpartition(scores, -K, axis=1)[:, -K:]
        best = np.take_along_axis(scores, found, axis=1)
        order = np.argsort(-best, axis=1)
        return np.take_along_axis(found, order, axis=1), np.take_along_axis(best, order, axis=1)

    def search(queries: Floats) -> tuple[Ints, Floats]:
        parts = [head(queries[i : i + NUMPY_CHUNK]) for i in range(0, len(queries), NUMPY_CHUNK)]
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])

    return search


def check_same_lists(sides: dict[str, Search], queries: Floats) -> None:
    """The lists may differ only where two items' scores are as good as equal."""
    found, scores = sides["topwise"](queries)
    for name, search in sides.items():
        others, other_scores = search(queries)
        np.testing.assert_allclose(other_scores, scores, rtol=1e-4, atol=1e-5)
        agreement = float(np.mean(others == found))
        if agreement < 0.999:
            raise AssertionError(f"{name} agrees on only {agreement:.4f} of the lists' places")


def queries_per_second(sides: dict[str, Search], queries: Floats, repeats: int) -> dict[str, float]:
    """The best of some repeats, the sides taking turns."""
    calls = max(1, 40 // len(queries))
    best = dict.fromkeys(sides, float("inf"))
    for _ in range(repeats):
        for name, search in sides.items():
            start = time.process_time()
            for _ in range(calls):
                search(queries)
            best[name] = min(best[name], (time.process_time() - start) / calls)
    return {name: len(queries) / seconds for name, seconds in best.items()}


def run(count: int, repeats: int, seed: int) -> list[Row]:
    rng = np.random.default_rng(seed)
    queries = rng.standard_normal((max(BATCHES), DIM)).astype(np.float32)
    print(f"{count:,} items of {DIM} dimensions, k = {K}, one thread, queries per second, best of {repeats}")
    for name, settings in SETTINGS.items():
        print(f"  {name}: {settings}")
    sides_shown = f"{'topwise':>12} {'faiss':>10} {'numpy':>10}"
    print(f"{'sigma':>5} {'batch':>6} {sides_shown} {'/ faiss':>11} {'/ numpy':>11}")
    rows = []
    for sigma in SIGMAS:
        items = make_items(rng, count, sigma)
        sides = {
            "topwise": topwise_search(items),
            "faiss": faiss_search(items),
            "numpy": numpy_search(items),
        }
        check_same_lists(sides, queries[:100])
        for batch in BATCHES:
            row = Row(sigma, batch, **queries_per_second(sides, queries[:batch], repeats))
            rows.append(row)
            print(row, flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the items, two repeats")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    count, repeats = (17_700, 2) if arguments.quick else (177_000, 5)
    with threadpool_limits(1):
        rows = run(count, repeats, arguments.seed)
    judged = [
        bar("queries per second over faiss, the least of all", min(r.topwise / r.faiss for r in rows), 1),
        bar(
            "queries per second over faiss at sigma ≥ 0.5, the least",
            min(r.topwise / r.faiss for r in rows if r.sigma >= 0.5),
            3,
        ),
    ]
    if not arguments.quick:
        save(
            "topk", items=count, dim=DIM, k=K, settings=SETTINGS, rows=[asdict(r) for r in rows], bars=judged
        )


if __name__ == "__main__":
    main()
