"""LCR: what a query and a user together are worth, and what they cost.

python benchmarks/context_models.py                  both logs: quality, then the time of an event
python benchmarks/context_models.py --log foursquare  one of them

Quality is recall@k over single triples, ranked among the whole catalogue with nothing left out, as in the
paper. Settings are chosen on a validation part, by recall@10; then every method is fitted on all that is not
test, with three seeds. dim is 50.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from common import arguments, bar, interval, save_part, table

import topwise as tw

DIM = 50
PARTS = ("time", "quality")
SEEDS = (0, 1, 2)
KS = (5, 10, 30, 50)
EPOCHS = 15
ALONE = ("query × item", "user × item")
SUM = "query × item + user × item"
WHOLE = "query × user × item"
FORMS = ("diagonal", "lowrank", "full")
# The paper's tables 1, 2 and 4: recall@10, recall@10 of AUC, recall@30 by dimension.
PAPER = {ALONE[0]: 9.49, ALONE[1]: 14.0, SUM: 15.1, WHOLE: 16.6}
PAPER_AUC = {ALONE[0]: 6.32, ALONE[1]: 11.0, SUM: 12.1}
DIMS = (10, 50, 100)
NORMS = {
    "foursquare": (0.9, 1.05, 1.2, 1.4),
    "lastfm": (1.2, 1.4, 1.6, 1.9),
}
AUC_NORMS = (0.9, 1.2, 1.6, 2.2)
INTERACTION_NORMS = (0.5, 1.0, 2.0)


@dataclass(frozen=True)
class Parts:
    """A log of triples in three parts."""

    train: tw.Events
    validation: tw.Events
    rest: tw.Events
    test: tw.Events


def foursquare(data: Path) -> Parts:
    """(previous venue, user, venue) within an hour; one day in five is test, one of the others validation."""
    log = tw.datasets.foursquare_nyc(data / "foursquare-nyc").log
    rest, test = tw.split.every_nth_day(tw.sessions.consecutive(log, "1h"), 5)
    train, validation = tw.split.every_nth_day(rest, 5, offset=1)
    return Parts(train, validation, rest, test)


def lastfm(data: Path) -> Parts:
    """(tag, user, artist), parted at random."""
    log = tw.datasets.lastfm_hetrec_tags(data / "lastfm-hetrec2011").log
    rest, test = tw.split.by_fraction(log, test=0.2, seed=0)
    train, validation = tw.split.by_fraction(rest, test=0.2, seed=1)
    return Parts(train, validation, rest, test)


LOGS: dict[str, Callable[[Path], Parts]] = {"foursquare": foursquare, "lastfm": lastfm}


def without(log: tw.Events, role: str) -> tw.Events:
    """The same events with a side left out."""
    kept = {name: log.vocabulary(name) for name in log.roles if name != role}
    return replace(log, vocabularies=kept, **{role: None})


@dataclass
class ByPair:
    """A model that is asked for pairs, and looks at what it knows of them."""

    model: tw.LCR
    roles: tuple[str, ...] = ("user", "query")

    @property
    def item_vocabulary(self) -> Any:
        return self.model.item_vocabulary

    def item_vectors(self) -> Any:
        return self.model.item_vectors()

    def context_vectors(self, users: Any = None, queries: Any = None) -> Any:
        asked = {"user": ("users", users), "query": ("queries", queries)}
        return self.model.context_vectors(**dict(asked[role] for role in self.model.roles))


def quality(model: tw.LCR, test: tw.Events) -> dict[int, float]:
    """recall@k over triples."""
    report = tw.evaluate(ByPair(model), test, metrics=[f"recall@{k}" for k in KS], bootstrap=1)
    found = {k: report.per_context(f"recall@{k}") * report.relevant for k in KS}
    return {k: float(hits.sum() / report.relevant.sum()) for k, hits in found.items()}


def fit(method: str, log: tw.Events, settings: dict[str, Any]) -> tw.LCR:
    """A fitted model of one of the methods."""
    if method in ALONE:
        log = without(log, "user" if method == ALONE[0] else "query")
    elif method == SUM:
        settings = {**settings, "interaction": "none"}
    return tw.LCR(**{"dim": DIM, "epochs": EPOCHS, **settings}).fit(log, progress=False)


def grid(log: str, loss: str, quick: bool) -> list[dict[str, Any]]:
    """The C to choose from."""
    norms = AUC_NORMS if loss == "auc" else NORMS[log]
    norms = norms[1:2] if quick else norms
    return [{"max_norm": norm} for norm in norms]


def tuned(method: str, log: str, parts: Parts, loss: str, threads: int, quick: bool) -> dict[str, Any]:
    """The best settings on validation."""
    fixed = {"loss": loss, "threads": threads}

    def value(settings: dict[str, Any]) -> float:
        return quality(fit(method, parts.train, {**fixed, **settings}), parts.validation)[10]

    if method != WHOLE:
        return fixed | max(grid(log, loss, quick), key=value)
    # C with the full form first; then the other forms and balls with that C.
    settings = max(({"interaction": "full", **of} for of in grid(log, loss, quick)), key=value)
    if not quick:
        others = [
            {**settings, "interaction": form, "interaction_norm": bound}
            for form in FORMS
            for bound in INTERACTION_NORMS
        ]
        settings = max(others, key=value)
    return fixed | settings


def tables(name: str, parts: Parts, asked: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Tables 1, 2 and 4 of the paper on one log."""
    rows = []
    seeds = SEEDS[:1] if asked.quick else SEEDS

    def measure(method: str, loss: str, settings: dict[str, Any]) -> dict[str, Any]:
        found = [quality(fit(method, parts.rest, {**settings, "seed": seed}), parts.test) for seed in seeds]
        row = {"log": name, "method": method, "loss": loss, "dim": settings.get("dim", DIM)}
        for k in KS:
            row[f"R@{k}"], row[f"± {k}"] = interval([run[k] for run in found])
        row["settings"] = ", ".join(
            f"{key} {of}" for key, of in settings.items() if key not in ("loss", "threads", "dim")
        )
        rows.append(row)
        print(f"  {name} {method}, {loss}, dim {row['dim']}: R@10 {row['R@10']:.4f}", flush=True)
        return row

    chosen = {}
    for method in (*ALONE, SUM, WHOLE):
        chosen[method] = tuned(method, name, parts, "warp", asked.threads, asked.quick)
        measure(method, "warp", chosen[method])
    for method in PAPER_AUC:
        measure(method, "auc", tuned(method, name, parts, "auc", asked.threads, asked.quick))
    for dim in () if asked.quick else DIMS:
        for method in (SUM, WHOLE):
            if dim != DIM:
                measure(method, "warp", {**chosen[method], "dim": dim})
    print("\n" + table(list(rows[0]), [list(row.values()) for row in rows]))
    return rows, bars(name, rows, asked.quick)


def bars(name: str, rows: list[dict[str, Any]], quick: bool) -> list[dict[str, Any]]:
    """The signs of the paper's claims, each with the paper's size in its name."""
    by = {(row["method"], row["loss"], row["dim"]): row for row in rows}

    def r10(method: str, loss: str = "warp") -> float:
        return float(by[method, loss, DIM]["R@10"])

    alone = max(ALONE, key=r10)
    found = [
        bar(f"{name}: sum of two terms over the better one, R@10 (paper 1.08)", r10(SUM) / r10(alone), 1),
        bar(f"{name}: query × user × item over the sum, R@10 (paper 1.10)", r10(WHOLE) / r10(SUM), 1),
    ]
    for method, paper in PAPER_AUC.items():
        size = PAPER[method] / paper
        ratio = r10(method) / r10(method, "auc")
        found.append(bar(f"{name}: {method}, WARP over AUC, R@10 (paper {size:.2f})", ratio, 1))
    if not quick:
        for method, size in ((SUM, 31.3 / 22.3), (WHOLE, 33.3 / 23.3)):
            r30 = [float(by[method, "warp", dim]["R@30"]) for dim in (DIMS[0], DIMS[-1])]
            found.append(
                bar(f"{name}: {method}, dim 100 over 10, R@30 (paper {size:.2f})", r30[1] / r30[0], 1)
            )
    return found


def timing(logs: dict[str, Parts], quick: bool) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The time of an event beside matrix factorisation of the same dimension, on one thread.

    With AUC every step has one trial, and with a margin that nothing reaches each has a violator, so that the
    models do the same work; with WARP's trials, a model that ranks better looks on for longer.
    """
    rows, judged = [], []
    for name, parts in logs.items():
        for what, loss in (("AUC", tw.AUC()), ("AUC, all violate", tw.AUC(margin=50.0))):
            sides: dict[str, Any] = {
                "MatrixFactorization": (tw.MatrixFactorization, {}, without(parts.rest, "query"))
            }
            for form in ("none", *FORMS):
                sides[f"LCR, {form}"] = (tw.LCR, {"interaction": form}, parts.rest)
            best = dict.fromkeys(sides, np.inf)
            shares = dict.fromkeys(sides, 0.0)
            for _ in range(2 if quick else 7):
                for side, (kind, more, log) in sides.items():
                    model = kind(dim=DIM, loss=loss, epochs=3, max_norm=1.2, threads=1, **more)
                    records = model.fit(log, progress=False).history_records_
                    best[side] = min(best[side], *(record["seconds"] / len(log) for record in records))
                    shares[side] = records[-1]["violators"]
            for side, seconds in best.items():
                ratio = seconds / best["MatrixFactorization"]
                row = {"log": name, "loss": what, "side": side, "ns an event": 1e9 * seconds, "ratio": ratio}
                rows.append(row | {"violators": shares[side]})
                bound = {"LCR, diagonal": 1.5, "LCR, full": DIM / 8}.get(side)
                if bound is not None:
                    judged.append(bar(f"{name}, {what}: {side}, time over MF", ratio, bound, larger=False))
    print("\n" + table(list(rows[0]), [list(row.values()) for row in rows]))
    return rows, judged


def cut(parts: Parts, events: int) -> Parts:
    """The first events of each part."""
    return Parts(*(part.take(np.arange(min(events, len(part)))) for part in vars(parts).values()))


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--log", nargs="+", choices=list(LOGS), default=list(LOGS))
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    asked = parser.parse_args()
    logs = {name: LOGS[name](asked.data) for name in asked.log}
    if asked.quick:
        logs = {name: cut(parts, 10_000) for name, parts in logs.items()}
    if "quality" in asked.only:
        rows, judged = [], []
        for name, parts in logs.items():
            some, found = tables(name, parts, asked)
            rows += some
            judged += found
        if not asked.quick:
            save_part("context_models", judged, rows=rows)
    if "time" in asked.only:
        times, judged = timing(logs, asked.quick)
        if not asked.quick:
            save_part("context_models", judged, tables={"Time of an event": times})


if __name__ == "__main__":
    main()
