"""Latent Structured Ranking: its speed, lists for a large catalogue, the claims of its paper.

1. The time of an event in step 1 with lists of 20, over that of a MatrixFactorization of the same dimension.
2. The lists of 177,000 queries over as many items: seconds, and what the process grew by.
3. Step 0, step 1, step 2 and a step 0 of twice the dimension, on held-out events: three seeds, each with its
   own split into train, validation and test (80/10/10). The settings of each row are chosen by ndcg@10 on the
   first seed's validation events, among as many settings for each, every step on the chosen one before it.

python benchmarks/lists.py --only speed large quality --logs wikispeedia corel5k
"""

from __future__ import annotations

import gc
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from common import arguments, bar, interval, save_part, saved, table
from trials import read

import topwise as tw
from topwise.data import Csr
from topwise.models.lists import ListMaker

DIM, K, SEEDS = 50, 20, (0, 1, 2)
WANTED = 2.5
METRICS = ("recall@5", "recall@10", "recall@30", "ndcg@10", "mean_rank")


@dataclass
class Task:
    """A log with the features that go with it, and where to look for the settings."""

    log: tw.Events
    norms: tuple[float, ...]
    epochs: int = 20
    query_features: tw.Features | None = None
    item_features: tw.Features | None = None
    list_norms: tuple[float, ...] = (0.15, 0.3)

    def split(self, seed: int) -> tuple[tw.Events, tw.Events, tw.Events]:
        """By pairs; or by queries, where these have features and are asked for as new ones."""
        rng = np.random.default_rng(seed)
        if self.query_features is None:
            place = rng.random(len(self.log))
        else:
            place = rng.random(self.log.n("query"))[self.log.codes("query")]
        parts = (place < 0.8, (place >= 0.8) & (place < 0.9), place >= 0.9)
        train, validation, test = (self.log.take(part) for part in parts)
        return train, validation, test

    def fit(self, model: Any, train: tw.Events) -> Any:
        return model.fit(train, query_features=self.query_features, progress=False)

    def measure(self, model: Any, train: tw.Events, judges: tw.Events) -> dict[str, float]:
        exclude = train if self.query_features is None else None
        report = tw.evaluate(model, judges, metrics=list(METRICS), exclude=exclude, bootstrap=10)
        return {name: report[name] for name in METRICS}


# --- logs ---------------------------------------------------------------------------------------------------


def beauty(root: Path) -> Task:
    """Each item of a user and the one after it, as the paper pairs consecutive artists."""
    log = tw.datasets.amazon_beauty(root / "amazon-beauty-seq" / "beauty.txt").log
    user, ids = log.codes("user"), log.ids("item")
    follows = user[1:] == user[:-1]
    pairs = tw.Events.from_arrays(query=ids[:-1][follows], item=ids[1:][follows])
    return Task(pairs, (0.9, 1.0, 1.1, 1.2), epochs=15)


def wikispeedia(root: Path) -> Task:
    loaded = tw.datasets.wikispeedia_links(root / "wikispeedia")
    return Task(loaded.log, (1.5, 1.65, 1.8, 1.95), item_features=loaded.item_features)


def plays(root: Path) -> Task:
    log = read("lastfm-hetrec", root)
    ids = {"user": log.vocabulary("user"), "item": log.vocabulary("item")}
    return Task(tw.Events(item=log.item, user=log.codes("user"), vocabularies=ids), (1.3, 1.45, 1.6, 1.75))


def movielens(root: Path) -> Task:
    return Task(read("movielens-1m", root), (1.7, 1.8, 1.9, 2.05))


def labels(x: Csr, y: Csr, norms: tuple[float, ...], epochs: int) -> Task:
    """Rows of unit length, and their labels."""
    assert x.values is not None
    lengths = np.sqrt(np.bincount(x.row_of_entries(), x.values.astype(np.float64) ** 2, len(x)))
    unit = (x.values / np.maximum(lengths, 1e-12)[x.row_of_entries()]).astype(np.float32)
    features = tw.Features.from_matrix(
        np.arange(len(x)), Csr(x.indptr, x.indices, x.n_cols, unit), identity=False
    )
    log = tw.Events.from_arrays(query=y.row_of_entries(), item=y.indices)
    return Task(log, norms, epochs, query_features=features, list_norms=(0.3, 0.6))


def corel5k(root: Path) -> Task:
    x, y = tw.datasets.mulan_arff(root / "corel5k" / "Corel5k-train-sparse.arff", 374)
    return labels(x, y, (1.0, 1.2, 1.4, 1.7), 20)


def delicious(root: Path) -> Task:
    x, y = tw.datasets.mulan_arff(root / "delicious" / "delicious-train.arff", 983)
    return labels(x, y, (1.6, 2.0, 2.4, 2.8), 15)


def eurlex(root: Path) -> Task:
    x, y = tw.datasets.multilabel(root / "eurlex-4k" / "eurlex_train.txt")
    return labels(x, y, (1.2, 1.5, 1.8, 2.2), 15)


LOGS: dict[str, Callable[[Path], Task]] = {
    "wikispeedia": wikispeedia,
    "amazon-beauty": beauty,
    "lastfm-plays": plays,
    "corel5k": corel5k,
    "delicious": delicious,
    "movielens-1m": movielens,
    "eurlex-4k": eurlex,
}
USUAL = tuple(LOGS)


# --- 1. speed -----------------------------------------------------------------------------------------------


def speed(root: Path, threads: int, quick: bool) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Both models in turn, the best of some runs; each at about its best norm."""
    rows, judged = [], []
    for name, norm in (("movielens-1m", 1.9), ("wikispeedia", 1.8), ("amazon-beauty", 1.1)):
        log = LOGS[name](root).log
        if quick:
            log = log.take(np.arange(0, len(log), 10))
        for used in sorted({1, threads}):
            seconds = {"MatrixFactorization": float("inf"), "LaSR": float("inf")}
            shared = {"dim": 64, "epochs": 3 if quick else 10, "max_norm": norm, "threads": used}
            for _ in range(1 if quick else 3):
                base = tw.MatrixFactorization(**shared).fit(log, progress=False)
                model = tw.LaSR(**shared, base=base, list_size=K).fit(log, progress=False)
                for one in (base, model):
                    took = sum(record["seconds"] for record in one.history_records_)
                    seconds[type(one).__name__] = min(seconds[type(one).__name__], took)
            events = len(log) * shared["epochs"]
            ratio = seconds["LaSR"] / seconds["MatrixFactorization"]
            rows.append(
                {
                    "log": name,
                    "threads": used,
                    "MF, µs an event": 1e6 * seconds["MatrixFactorization"] / events,
                    "LaSR t=1, µs an event": 1e6 * seconds["LaSR"] / events,
                    "ratio": ratio,
                    "trials, MF": base.history_records_[-1]["trials"],
                    "trials, LaSR": model.history_records_[-1]["trials"],
                }
            )
            judged.append(bar(f"{name}, {used} threads: LaSR over MF, time", ratio, WANTED, larger=False))
    print(table(list(rows[0]), [list(row.values()) for row in rows]))
    return rows, judged


# --- 2. lists of a large catalogue --------------------------------------------------------------------------


def large(threads: int, quick: bool) -> dict[str, Any]:
    """The lists of all items as queries, by a model of consecutive plays."""
    n_items, n_events = (20_000, 200_000) if quick else (177_000, 3_000_000)
    log = tw.datasets.lastfm_like(n_items=n_items, n_events=n_events).log
    order = np.argsort(log.codes("user"), kind="stable")
    user, item = log.codes("user")[order], log.item[order]
    follows = user[1:] == user[:-1]
    items = log.vocabulary("item")
    pairs = tw.Events(
        item=item[1:][follows], query=item[:-1][follows], vocabularies={"query": items, "item": items}
    )
    base = tw.MatrixFactorization(
        dim=DIM, epochs=2, max_norm=1.5, threads=threads, loss=tw.WARP(max_trials=50)
    )
    base.fit(pairs, progress=False)
    base._retriever()
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.perf_counter()
    own = np.arange(len(items))
    lists = ListMaker(base, items, K).of_ids(items.ids, own, threads, True)
    seconds = time.perf_counter() - started
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert (lists != own[:, None]).all()
    row = {
        "queries": len(lists),
        "items": n_items,
        "k": K,
        "threads": threads,
        "seconds": seconds,
        "lists/s": len(lists) / seconds,
        "lists, MB": lists.nbytes / 1e6,
        "peak grew by, MB": grown,
    }
    print(table(list(row), [list(row.values())]))
    return row


# --- 3. the claims ------------------------------------------------------------------------------------------


def chosen(task: Task, models: list[Any], train: tw.Events, judges: tw.Events) -> tuple[Any, Any]:
    """The best of some models by ndcg@10 on the judges: as it was made, and fitted."""
    best, winner = -1.0, None
    for model in models:
        fitted = task.fit(model.clone(), train)
        value = task.measure(fitted, train, judges)["ndcg@10"]
        if value > best:
            best, winner = value, (model, fitted)
    assert winner is not None
    return winner


def rows_of(task: Task, threads: int) -> dict[str, dict[str, list[float]]]:
    """The metrics on test of each row, for each seed."""
    shared: dict[str, Any] = {"epochs": task.epochs, "threads": threads}
    plain = tw.MatrixFactorization if task.query_features is None else tw.Wsabie
    train, judges, _ = task.split(SEEDS[0])
    step0, first = chosen(task, [plain(dim=DIM, max_norm=c, **shared) for c in task.norms], train, judges)
    wide, _ = chosen(task, [plain(dim=2 * DIM, max_norm=c, **shared) for c in task.norms], train, judges)
    steps, fitted = [], first
    for _ in (1, 2):
        tried = [
            tw.LaSR(
                dim=DIM, max_norm=step0.max_norm * share, list_norm=norm, list_size=K, base=fitted, **shared
            )
            for share in (1.0, 0.92)
            for norm in task.list_norms
        ]
        assert len(tried) == len(task.norms), "every row is tuned with the same effort"
        best, fitted = chosen(task, tried, train, judges)
        steps.append(best)
    found: dict[str, dict[str, list[float]]] = {}
    for seed in SEEDS:
        train, judges, test = task.split(seed)
        base = task.fit(step0.clone().set_params(seed=seed), train)
        models = {
            "t = 0": base,
            "t = 0, twice the dim": task.fit(wide.clone().set_params(seed=seed), train),
        }
        for number, step in enumerate(steps, start=1):
            base = task.fit(step.clone().set_params(seed=seed, base=base), train)
            models[f"t = {number}"] = base
        if task.query_features is None:
            models["SVD"] = svd(train)
            models["t = 1 on SVD"] = task.fit(
                steps[0].clone().set_params(seed=seed, base=models["SVD"]), train
            )
        for name, model in models.items():
            for metric, value in task.measure(model, train, test).items():
                found.setdefault(name, {}).setdefault(metric, []).append(value)
    settings = [f"C={m.max_norm:.3g}" for m in (step0, wide)] + [
        f"C={m.max_norm:.3g} list_norm={m.list_norm}" for m in steps
    ]
    print(f"  chosen: t=0 {settings[0]}, twice {settings[1]}, t=1 {settings[2]}, t=2 {settings[3]}")
    return found


def svd(train: tw.Events) -> tw.MatrixFactorization:
    """The truncated SVD of which is with which."""
    from scipy.sparse.linalg import svds

    role = train.context_role
    matrix = train.matrix(role).to_scipy().astype(np.float64)
    u, s, vt = svds(matrix, k=DIM, random_state=0)
    contexts: dict[str, Any] = {
        {"user": "users", "query": "queries"}[role]: train.vocabulary(role).ids,
        f"{role}_vectors": u * s,
    }
    return tw.MatrixFactorization.from_vectors(train.vocabulary("item").ids, vt.T, **contexts)


def quality(root: Path, names: list[str], threads: int, quick: bool) -> None:
    """The claims on each log, saved as each is done."""
    rows = [row for row in saved("lists").get("rows", []) if row["log"] not in names]
    for name in names:
        print(f"\n{name}", flush=True)
        task = LOGS[name](root)
        if quick:
            task.epochs, task.norms = 2, task.norms[:4]
            task.log = task.log.take(np.arange(0, len(task.log), 8))
        found = rows_of(task, threads)
        here = []
        for row, metrics in found.items():
            shown: dict[str, Any] = {"log": name, "row": row}
            for metric, values in metrics.items():
                mean, half = interval(values)
                shown[metric] = f"{mean:.4g} ± {half:.2g}"
                if metric == "ndcg@10":
                    against = np.array(values) / np.array(found["t = 0"][metric]) - 1
                    gain, spread = interval(against.tolist())
                    shown["ndcg over t = 0"] = f"{gain:+.1%} ± {spread:.1%}"
            here.append(shown)
        print(table(list(here[0])[1:], [list(row.values())[1:] for row in here]), flush=True)
        rows += here
        if not quick:
            save_part("lists", [], rows=rows)


def consistency(root: Path, threads: int) -> str:
    """What structure does to the lists of Wikispeedia, by categories."""
    task = wikispeedia(root)
    model = tw.LaSR(dim=DIM, max_norm=1.8, epochs=task.epochs, list_size=K, threads=threads)
    report = model.fit(task.log, progress=False).consistency(k=10, item_features=task.item_features)
    print(f"\nconsistency and diversity, wikispeedia\n{report!r}")
    return repr(report)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--only", nargs="+", choices=("speed", "large", "quality"))
    parser.add_argument("--logs", nargs="+", choices=tuple(LOGS), default=list(USUAL))
    asked = parser.parse_args()
    parts = asked.only or ("speed", "large", "quality")
    if "speed" in parts:
        times, bars = speed(asked.data, asked.threads, asked.quick)
        if not asked.quick:
            save_part("lists", bars, tables={"Time of an event, step 1": times})
    if "large" in parts:
        found = large(asked.threads, asked.quick)
        if not asked.quick:
            save_part("lists", [], tables={"Lists of a large catalogue": [found]})
    if "quality" in parts:
        logs = ["wikispeedia", "corel5k"] if asked.quick else asked.logs
        quality(asked.data, logs, asked.threads, asked.quick)
        report = consistency(asked.data, asked.threads)
        if not asked.quick:
            save_part("lists", [], text=report)


if __name__ == "__main__":
    main()
