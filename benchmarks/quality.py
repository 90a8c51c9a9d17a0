"""Quality beside the peers: recall@10 and ndcg@10 on three logs, three random 80/20 splits each.

python benchmarks/quality.py           all peers, our best settings, our defaults
python benchmarks/quality.py --tune    the search for our best settings, on validation
"""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from typing import Any

from common import arguments, bar, interval, save, table
from ours import BEST, DEFAULT, Topwise
from peer_quality import candidates, curve, some
from peers import CHOSEN, Peer
from trials import LOGS, SEEDS, Trial, read

# There EASE inverts a matrix of 40,000 rows: seven minutes a split on two cores.
FEWER_SPLITS = {("amazon-beauty", "EASE"): 1}
MARGIN = 1.07
DEFAULT_SHARE = 0.97


def sides(log: str) -> list[tuple[str, Peer, int]]:
    """Everybody with the settings and passes chosen for this log."""
    peers = [(peer.name, peer, passes) for peer, passes in CHOSEN[log]]
    return [*peers, ("topwise, best", *BEST[log]), ("topwise, defaults", *DEFAULT)]


def run(log: str, trials: list[Trial], threads: int, without: list[str]) -> list[dict[str, Any]]:
    """Every side on every split."""
    rows = []
    for name, peer, passes in sides(log):
        if name in without:
            continue
        some_trials = trials[: FEWER_SPLITS.get((log, name))]
        found = [curve(replace(peer, threads=threads), trial, [passes])[0] for trial in some_trials]
        recall, recall_width = interval([f.quality.recall for f in found])
        ndcg, ndcg_width = interval([f.quality.ndcg for f in found])
        capped, _ = interval([f.quality.capped for f in found])
        rows.append(
            {
                "log": log,
                "side": name,
                "recall": recall,
                "recall ±": recall_width,
                "ndcg": ndcg,
                "ndcg ±": ndcg_width,
                "capped": capped,
                "splits": len(found),
                "first split": (found[0].quality.recall, found[0].quality.ndcg),
                "settings": f"{peer.settings()}, passes {passes}",
            }
        )
        print(f"  {log} {name}: recall {recall:.4f} ndcg {ndcg:.4f}", flush=True)
    return rows


def bars(log: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """7 % above the best of LightFM, ALS and BPR, not below EASE, and the defaults near the best settings."""
    side = {row["side"]: row for row in rows}
    ours, default = side["topwise, best"], side["topwise, defaults"]
    found = []
    for measure in ("recall", "ndcg"):
        rivals = max(side[name][measure] for name in ("LightFM WARP", "implicit ALS", "implicit BPR"))
        found.append(
            bar(f"{log}: {measure}@10 over the best of LightFM, ALS, BPR", ours[measure] / rivals, MARGIN)
        )
        if "EASE" in side:
            found.append(bar(f"{log}: {measure}@10 over EASE", over_ease(side, measure), 1))
        found.append(
            bar(f"{log}: {measure}@10 of defaults over best", default[measure] / ours[measure], DEFAULT_SHARE)
        )
    return found


def over_ease(side: dict[str, dict[str, Any]], measure: str) -> float:
    """On the same splits: all of them, or the first alone."""
    ours, ease = side["topwise, best"], side["EASE"]
    if ease["splits"] == ours["splits"]:
        return float(ours[measure] / ease[measure])
    number = ("recall", "ndcg").index(measure)
    return float(ours["first split"][number] / ease["first split"][number])


def tune(log: str, trial: Trial, threads: int) -> None:
    """The search over our own grid, by the same protocol as the peers'."""
    users = some(trial.users, 8000)
    tops = []
    for peer in candidates(Topwise, trial):
        points = curve(replace(peer, threads=threads), trial, Topwise.stages, users)
        tops.append(max(points, key=attrgetter("recall")))
        print(tops[-1].line(log, "validation"), flush=True)
    print(max(tops, key=attrgetter("recall")).line(log, "best"), flush=True)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--log", nargs="+", choices=list(LOGS), default=list(LOGS))
    parser.add_argument("--tune", action="store_true", help="search our own settings, on validation")
    parser.add_argument(
        "--without", nargs="+", default=[], help="sides to leave out, as EASE on a small machine"
    )
    asked = parser.parse_args()
    seeds = SEEDS[:1] if asked.quick else SEEDS
    logs = ["lastfm-hetrec"] if asked.quick else asked.log
    rows: list[dict[str, Any]] = []
    for log in logs:
        pairs = read(log, asked.data)
        if asked.tune:
            tune(log, Trial.random(pairs, SEEDS[0]).validation(), asked.threads)
            continue
        some_rows = run(log, [Trial.random(pairs, seed) for seed in seeds], asked.threads, asked.without)
        rows += some_rows
        judged = bars(log, some_rows)
        for row in some_rows:
            del row["first split"]
        if not asked.quick:
            save(f"quality-{log}", rows=some_rows, bars=judged)
    if rows:
        print("\n" + table(list(rows[0]), [list(row.values()) for row in rows]))


if __name__ == "__main__":
    main()
