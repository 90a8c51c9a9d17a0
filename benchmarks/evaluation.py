"""Evaluating all users of MovieLens-1M against the full catalogue: topwise, LightFM, implicit.

LightFM: precision_at_k and recall_at_k by predict_rank. implicit: ranking_metrics_at_k. Best of some repeats.
"""

from __future__ import annotations

from dataclasses import replace

from common import arguments, bar, best_seconds, save, table
from peers import CHOSEN
from scipy import sparse
from threadpoolctl import threadpool_limits
from trials import Trial, read

import topwise as tw


def main() -> None:
    asked = arguments(__doc__).parse_args()
    trial = Trial.random(read("movielens-1m", asked.data), 0)
    train, test = trial.log.take(trial.in_train), trial.log.take(trial.in_test)
    threads = asked.threads
    model = tw.MatrixFactorization(epochs=3, max_norm=1.9, threads=threads).fit(train, progress=False)
    metrics = ["recall@10", "precision@10", "ndcg@10", "map"]
    repeats = 3 if asked.quick else 10
    ours = best_seconds(
        lambda: tw.evaluate(model, test, metrics=metrics, exclude=train, threads=threads), repeats
    )
    rows = [("topwise evaluate, 4 metrics, full ranks", ours, 1.0)]

    peers = {peer.name: replace(peer, threads=threads) for peer, _ in CHOSEN["movielens-1m"]}
    from implicit.cpu.als import AlternatingLeastSquares
    from implicit.evaluation import ranking_metrics_at_k

    known, held = sparse.csr_matrix(trial.train), sparse.csr_matrix(trial.test)
    with threadpool_limits(1, "blas"):
        als = AlternatingLeastSquares(factors=64, iterations=2, num_threads=threads, random_state=0)
        als.fit(known, show_progress=False)
        implicit = best_seconds(
            lambda: ranking_metrics_at_k(als, known, held, K=10, show_progress=False, num_threads=threads),
            repeats,
        )
    rows.append(("implicit ranking_metrics_at_k, top 10", implicit, implicit / ours))

    import lightfm
    from lightfm.evaluation import precision_at_k

    light = lightfm.LightFM(no_components=64, loss="warp", random_state=0)
    light.fit(sparse.coo_matrix(trial.train), epochs=1, num_threads=threads)
    light_seconds = best_seconds(
        lambda: precision_at_k(light, held, train_interactions=known, k=10, num_threads=threads),
        1 if asked.quick else 2,
    )
    rows.append(("LightFM precision_at_k", light_seconds, light_seconds / ours))
    print(table(["side", "seconds", "over ours"], rows))
    judged = [
        bar("LightFM's time over ours", light_seconds / ours, 50),
        bar("implicit's time over ours", implicit / ours, 3),
    ]
    if not asked.quick:
        save(
            "evaluation",
            rows=rows,
            bars=judged,
            settings={name: peer.settings() for name, peer in peers.items()},
        )


if __name__ == "__main__":
    main()
