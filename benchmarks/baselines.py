"""Baselines of annotation on EURLex-4K: their quality, and their training time beside scikit-learn's.

One-vs-rest in scikit-learn is LIBLINEAR's squared hinge, label by label. It is fitted for some random labels
of those that occur, and the time for all follows from theirs; `--all` fits all of them, which takes long.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from common import arguments, bar, save, table
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

import topwise as tw
from topwise import baselines
from topwise.data import Csr
from topwise.datasets import multilabel
from topwise.features.weighting import unit_rows

METRICS = ("precision@1", "precision@3", "precision@5", "mean_rank")
PUBLISHED = 0.79
"""About the least that is published for P@1 of linear one-vs-rest by squared hinges."""


def read(root: Path, most: int | None) -> tuple[tw.Events, tw.Events, tw.Features, Csr, Csr]:
    """Logs of train and test, the features of both, and the train part as matrices."""
    parts = [multilabel(root / "eurlex-4k" / f"eurlex_{part}.txt") for part in ("train", "test")]
    if most is not None:
        parts = [(x.take(np.arange(most)), y.take(np.arange(most))) for x, y in parts]
    (x, y), (x_test, y_test) = parts
    train = tw.Events.from_arrays(item=y.indices, query=y.row_of_entries())
    test = tw.Events.from_arrays(item=y_test.indices, query=y_test.row_of_entries() + len(x))
    rows = np.concatenate([x.row_of_entries(), x_test.row_of_entries() + len(x)])
    columns = np.concatenate([x.indices, x_test.indices])
    assert x.values is not None
    assert x_test.values is not None
    values = np.concatenate([x.values, x_test.values])
    both = Csr.from_coordinates(rows, columns, (len(x) + len(x_test), x.n_cols), values)
    return train, test, tw.Features.from_matrix(range(len(both)), both, identity=False), x, y


def measure(model: Any, train: tw.Events, test: tw.Events, features: tw.Features) -> dict[str, Any]:
    started = time.perf_counter()
    model.fit(train, query_features=features)
    seconds = time.perf_counter() - started
    report = tw.evaluate(model, test, metrics=METRICS)
    return {"method": repr(model), **{name: report[name] for name in METRICS}, "seconds": seconds}


def liblinear_seconds(x: Csr, y: Csr, n_labels: int | None) -> tuple[float, int, int]:
    """The seconds for all labels that occur, from those for some; how many were fitted, and occur."""
    rows, labels = unit_rows(x.to_scipy()).astype(np.float64), y.to_scipy().tocsc()
    rows.indices, rows.indptr = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
    occurring = np.flatnonzero(np.diff(labels.indptr))
    some = occurring
    if n_labels is not None and n_labels < len(occurring):
        some = np.random.default_rng(0).choice(occurring, n_labels, replace=False)
    started = time.perf_counter()
    for label in some:
        LinearSVC(C=1.0).fit(rows, labels[:, [label]].toarray().ravel() > 0)
    return (time.perf_counter() - started) * len(occurring) / len(some), len(some), len(occurring)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--all", action="store_true", help="fit scikit-learn's classifier of every label")
    asked = parser.parse_args()
    train, test, features, x, y = read(asked.data, 1000 if asked.quick else None)
    models = (
        baselines.NearestMeans("cosine"),
        baselines.OneVsRest("equal", batch=64),
        baselines.OneVsRest(epochs=3, batch=32),
        baselines.MulticlassRankSVM(epochs=2),
        baselines.MulticlassRankSVM("hardest", epochs=3),
    )
    with threadpool_limits(1):
        rows = [measure(model, train, test, features) for model in models]
        sample = None if asked.all else 20 if asked.quick else 200
        seconds, fitted, occurring = liblinear_seconds(x, y, sample)
    print(table(list(rows[0]), [list(row.values()) for row in rows]))
    print(f"one-vs-rest in scikit-learn: {seconds:.0f} s for {occurring} labels, from {fitted} of them")
    if asked.quick:  # a cut says nothing of the bars
        return
    own = next(row for row in rows if row["method"].startswith("OneVsRest(epochs"))
    bars = [
        bar("P@1 of one-vs-rest, all negatives", own["precision@1"], PUBLISHED),
        bar("scikit-learn's time for one-vs-rest over ours", seconds / own["seconds"], 1.0),
    ]
    timing = {"scikit_learn_seconds": seconds, "fitted": fitted, "occurring": occurring}
    save("baselines", rows=rows, **timing, bars=bars)


if __name__ == "__main__":
    main()
