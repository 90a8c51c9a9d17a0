"""Two stages on MovieLens-1M: a MatrixFactorization alone, and its candidates re-ranked, end to end.

Every held-out film is ranked among the whole catalogue, with what a user had before left out. "time" has the
latest fifth of the likes as test; "random" a random fifth, at a first stage that was tuned for just that.
"""

from __future__ import annotations

import time
from typing import Any

from common import arguments, bar, save, table

import topwise as tw
from topwise.evaluation import compare

WANTED = 1.03
METRICS = ("ndcg@10", "recall@10", "map")


def measure(name: str, train: tw.Events, test: tw.Events, films: Any, asked: Any) -> dict[str, Any]:
    """The first stage alone, and both."""
    epochs = 5 if asked.quick else 20
    # For later events the norm is found on the log itself; for random ones it is known from tuning.
    norm = 1.9 if name == "random" or asked.quick else "auto"
    alone = tw.MatrixFactorization(dim=64, max_norm=norm, epochs=epochs, threads=asked.threads)
    started = time.perf_counter()
    alone.fit(train, progress=False)
    first_seconds = time.perf_counter() - started
    model = tw.TwoStage(alone, candidates=100, split=name, threads=asked.threads)
    started = time.perf_counter()
    model.fit(train, item_features=films.item_features, progress=False)
    seconds = time.perf_counter() - started
    first = tw.evaluate(alone, test, metrics=METRICS, exclude=train)
    both = tw.evaluate(model, test, metrics=METRICS, exclude=train)
    users = both.contexts.tolist()[:1000]
    started = time.perf_counter()
    model.recommend(users=users, k=10, exclude=train)
    serving = (time.perf_counter() - started) / len(users)
    print(f"{name}: {compare(both, first, 'ndcg@10')}")
    return {
        "split": name,
        "first alone, ndcg@10": first["ndcg@10"],
        "two stages, ndcg@10": both["ndcg@10"],
        "ratio": both["ndcg@10"] / first["ndcg@10"],
        "recall@10, first": first["recall@10"],
        "recall@10, two": both["recall@10"],
        "map, first": first["map"],
        "map, two": both["map"],
        "first, s": first_seconds,
        "two, s": seconds,
        "ms a user": 1e3 * serving,
    }


def main() -> None:
    asked = arguments(__doc__).parse_args()
    films = tw.datasets.movielens_1m(asked.data / "movielens-1m")
    log = films.log
    if asked.quick:
        log = log.take(log.user % 5 == 0)
    splits = {"time": tw.split.by_time(log, 0.2), "random": tw.split.by_fraction(log, 0.2, seed=0)}
    rows = [measure(name, train, test, films, asked) for name, (train, test) in splits.items()]
    # Users of whom nothing is known have no tastes to match: those with a history by themselves.
    train, test = splits["time"]
    known = test.take(_known(train, test))
    rows.append(measure("time", train, known, films, asked) | {"split": "time, known users"})
    print(table(list(rows[0]), [list(row.values()) for row in rows]))
    bars = [
        bar(f"{row['split']}: ndcg@10 of two stages over the first alone", row["ratio"], WANTED)
        for row in rows
    ]
    if not asked.quick:
        save("two_stage", rows=rows, bars=bars)


def _known(train: tw.Events, test: tw.Events) -> Any:
    import numpy as np

    seen = np.zeros(train.n("user"), dtype=bool)
    seen[train.codes("user")] = True
    return seen[test.codes("user")]


if __name__ == "__main__":
    main()
