"""How well a model ranks what is in a test log among its whole catalogue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from topwise.data import Events, Judgments
from topwise.evaluation.cases import Cases
from topwise.evaluation.judged import DEFAULT_METRICS as DEFAULT_JUDGED
from topwise.evaluation.judged import MAX_GRADE, Scorer, evaluate_judged
from topwise.evaluation.metrics import Metric, parse_metrics
from topwise.evaluation.ranking import Ranker, check_count, check_model, known_ids, rank, use_threads
from topwise.evaluation.report import Report

DEFAULT_METRICS = ("recall@10", "ndcg@10", "map", "mean_rank")


def evaluate(
    model: Ranker | Scorer | npt.NDArray[Any],
    test: Events | Judgments,
    metrics: str | Sequence[str] | None = None,
    exclude: Events | Sequence[Events] | None = None,
    *,
    convention: str = "standard",
    max_grade: float = MAX_GRADE,
    confidence: float = 0.95,
    bootstrap: int = 1000,
    seed: int = 0,
    threads: int | None = None,
) -> Report:
    """Ranks each item of the test log among the model's whole catalogue, and averages over contexts.

    A context is a user, a query, or a pair of both, as the model has it. The items that a context has in
    `exclude` (the training log, say, or several logs) are left out of its list; where contexts are pairs, a
    log without queries leaves out all that a user has in it. Items with equal scores
    count with the mean of their best and their worst order. Items that the model does not know are never
    found; contexts that it does not know are ranked by what it has for unknown ids. Both are counted in the
    report. The report's intervals come from `bootstrap` draws of contexts.

    recall@k, precision@k, hit@k, capped_recall@k; ndcg, map and mrr with @k or without; auc, rank_loss,
    mean_rank, max_rank; and the names of ir-measures: R@k, P@k, Success@k, nDCG@k, AP, RR. Without `metrics`
    they are recall@10, ndcg@10, map and mean_rank.

    On `Judgments`, the model is anything with `score(judged)`, or an array of scores, and each query orders
    its own rows: ndcg, map, mrr and err with @k or without; mean_ndcg; precision@k, recall@k, hit@k and
    capped_recall@k, by the `convention` "standard", "letor4" or "mslr". `max_grade` is that of err.
    """
    _check_confidence(confidence)
    resamples, seed = check_count("bootstrap", bootstrap), check_count("seed", seed, 0)
    if isinstance(test, Judgments):
        if exclude is not None:
            raise ValueError("exclude is for events; judgments have their rows: leave it out")
        return evaluate_judged(
            cast(Scorer, model),
            test,
            parse_metrics(DEFAULT_JUDGED if metrics is None else metrics),
            convention,
            max_grade,
            confidence=float(confidence),
            resamples=resamples,
            seed=seed,
        )
    if convention != "standard":
        raise ValueError(f"convention={convention!r} is for judgments; events have only 'standard'")
    wanted = parse_metrics(DEFAULT_METRICS if metrics is None else metrics)
    _check_for_events(wanted)
    check_model(model)
    model = cast(Ranker, model)
    n_threads = use_threads(threads)
    cases = Cases.from_log(test, model.roles, model.item_vocabulary, exclude)
    ranking = rank(model, cases, n_threads)
    values = np.stack([metric.values(ranking) for metric in wanted])
    return Report(
        metrics=wanted,
        values=values,
        context_ids=cases.contexts,
        relevant=cases.relevant,
        unseen_contexts=_unseen_contexts(model, cases),
        unseen_items=cases.unseen_items,
        excluded_events=cases.excluded_events,
        repeated_events=cases.repeated_events,
        confidence=float(confidence),
        resamples=resamples,
        seed=seed,
    )


def _unseen_contexts(model: Ranker, cases: Cases) -> int:
    """The contexts of which the model does not know an id, so far as it can tell."""
    unseen = np.zeros(len(cases), dtype=bool)
    for role, ids in cases.contexts.items():
        vocabulary = known_ids(model, role)
        if vocabulary is not None:
            unseen |= vocabulary.codes(ids) < 0
    return int(np.count_nonzero(unseen))


def _check_for_events(metrics: tuple[Metric, ...]) -> None:
    for metric in metrics:
        if metric.needs_grades:
            raise ValueError(f"{metric.name} is for judgments (tw.Judgments), and this is a log of events")


def _check_confidence(confidence: Any) -> None:
    if isinstance(confidence, bool) or not isinstance(confidence, int | float | np.integer | np.floating):
        raise TypeError(f"confidence must be a number such as 0.95, got {confidence!r}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, got {confidence}")
