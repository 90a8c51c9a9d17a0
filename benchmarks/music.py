"""Songs like a song, on CAL500: MAP and training time of metric learners, by the paper's protocol (table 3).

A song's relevant songs are the ten of the training set that share most labels with it: neither symmetric nor
transitive, as in the paper's CAL10K. Songs are 68 numbers of their sound; every model measures from the query
song. Three random 40/30/30 splits; settings are chosen on the second part, and the training time is that of
one fit with them.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from common import arguments, bar, interval, save, table

import topwise as tw
from topwise.baselines import MLR, RMLR
from topwise.metric_learning import similarity_judgments

SEEDS = (0, 1, 2)
RELEVANT = 10
SHARES = (0.4, 0.7)
FASTER = 50
LABELS = 174


def songs(root: Path) -> tuple[Any, Any]:
    """Features and labels, a row a song."""
    x, y = tw.datasets.mulan_arff(root / "cal500" / "cal500.arff", LABELS)
    return x.to_scipy().toarray(), y.to_scipy().toarray()


def parts(x: Any, y: Any, seed: int) -> list[tw.Judgments]:
    """Training, validation and test songs asked, each among all training songs."""
    place = np.random.default_rng(seed).permutation(len(x)) / len(x)
    trained = place < SHARES[0]
    sound = (x - x[trained].mean(axis=0)) / np.maximum(x[trained].std(axis=0), 1e-9)
    likeness = y @ y[trained].T
    found = []
    for chosen in (trained, (place >= SHARES[0]) & (place < SHARES[1]), place >= SHARES[1]):
        own = np.arange(int(trained.sum())) if chosen is trained else None
        like = likeness[chosen].astype(float)
        if own is not None:
            np.fill_diagonal(like, -1)
        nearest = np.argsort(-like, axis=1, kind="stable")[:, :RELEVANT]
        found.append(similarity_judgments(sound[chosen], sound[trained], list(nearest), same=own))
    return found


def forms(threads: int) -> dict[str, tuple[Any, list[dict[str, Any]]]]:
    """Each method, and the settings to choose from."""
    query: dict[str, Any] = {"anchors": "query", "normalize": None, "metric": "map"}
    weights = (0.01, 0.1, 1.0, 10.0)
    metric = [{"t": t, "regularization": w} for t in (0.25, 0.5, 0.75) for w in weights]
    costs = [{"C": c} for c in (10.0, 100.0, 1000.0)]
    return {
        "Euclid": (tw.GMML(regularization=1e9, threads=threads, **query), [{}]),
        "GMML": (tw.GMML(threads=threads, **query), metric),
        "L-GMML": (
            tw.LGMML(10, rank="full", margin=0.1, threads=threads, unseen="shared", **query),
            [
                {**each, "scale": scale, "init": 1.0, "learning_rate": 0.03}
                for each in metric
                for scale in (0.1, 0.3)
            ],
        ),
        "MLR": (MLR(loss="map", **query), costs),
        "R-MLR": (RMLR(loss="map", **query), costs),
    }


def main() -> None:
    asked = arguments(__doc__).parse_args()
    x, y = songs(asked.data)
    found: dict[str, list[tuple[float, float]]] = {}
    for seed in SEEDS[:1] if asked.quick else SEEDS:
        train, validation, test = parts(x, y, seed)
        for name, (model, grid) in forms(asked.threads).items():
            tried = []
            for settings in grid[:1] if asked.quick else grid:
                fitted = model.clone().set_params(**settings).fit(train)
                tried.append((tw.evaluate(fitted, validation, metrics="map")["map"], settings))
            settings = max(tried, key=lambda pair: pair[0])[1]
            started = time.perf_counter()
            best = model.clone().set_params(**settings).fit(train)
            seconds = time.perf_counter() - started
            quality = float(tw.evaluate(best, test, metrics="map")["map"])
            found.setdefault(name, []).append((quality, seconds))
            print(f"  split {seed} {name}: map {quality:.4f}, {seconds:.2f} s, {settings}", flush=True)
    rows = []
    for name, runs in found.items():
        mean, width = interval([quality for quality, _ in runs])
        rows.append(
            {"method": name, "map": mean, "map ±": width, "fit, s": float(np.mean([s for _, s in runs]))}
        )
    print(table(list(rows[0]), [list(row.values()) for row in rows]))
    seconds = {row["method"]: row["fit, s"] for row in rows}
    bars = [
        bar(f"R-MLR's training time over {name}'s", seconds["R-MLR"] / seconds[name], FASTER)
        for name in ("GMML", "L-GMML")
    ]
    if not asked.quick:
        save("music", rows=rows, bars=bars)


if __name__ == "__main__":
    main()
