from __future__ import annotations

import numpy as np
import pytest

from topwise.evaluation.metrics import Metric, Ranking, check_metric, parse_metrics


def ranking_of(greater: list[int], equal: list[int], length: int, missing: int = 0) -> Ranking:
    """One list, by the counts of the kernel for each relevant item."""
    return Ranking.from_counts(
        np.array(greater, dtype=np.int32),
        np.array(equal, dtype=np.int32),
        np.array([0, len(greater)]),
        np.array([len(greater) + missing]),
        np.array([length]),
    )


def value(name: str, ranking: Ranking) -> float:
    return float(Metric.parse(name).values(ranking)[0])


# The relevant items stand at ranks 1, 3 and 6 of 10, and are given in another order.
PLAIN = ranking_of([3, 0, 1], [0, 0, 0], 10)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("recall@3", 2 / 3),
        ("precision@3", 2 / 3),
        ("precision@20", 3 / 20),
        ("capped_recall@2", 1 / 2),
        ("capped_recall@20", 1),
        ("hit@1", 1),
        ("map", (1 / 1 + 2 / 3 + 3 / 6) / 3),
        ("map@5", (1 / 1 + 2 / 3) / 3),
        ("mrr", 1),
        ("ndcg", (1 + 1 / 2 + 1 / np.log2(7)) / (1 + 1 / np.log2(3) + 1 / 2)),
        ("ndcg@2", 1 / (1 + 1 / np.log2(3))),
        ("mean_rank", 10 / 3),
        ("max_rank", 6),
        ("auc", 1 - 4 / 21),
        ("rank_loss", 100 * 4 / 21),
    ],
)
def test_values_of_a_list_worked_by_hand(name: str, expected: float) -> None:
    assert value(name, PLAIN) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("hit@1", (1 + 0) / 2),
        ("recall@2", (2 / 2 + 1 / 2) / 2),
        ("mrr", (1 + 1 / 2) / 2),
        ("map", ((1 + 1) / 2 + (1 / 2 + 2 / 3) / 2) / 2),
        ("mean_rank", ((1 + 2) / 2 + (2 + 3) / 2) / 2),
        ("max_rank", (2 + 3) / 2),
        ("auc", (1 + 2 / 4) / 2),
        ("rank_loss", 25),
    ],
)
def test_a_tie_counts_as_the_mean_of_its_best_and_worst_order(name: str, expected: float) -> None:
    tied_at_the_top = ranking_of(
        [0, 0], [1, 1], 4
    )  # two relevant items and another one share the first place
    assert value(name, tied_at_the_top) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("recall@10", 1 / 3),
        ("recall@100", 1 / 3),  # a missing item is not found at any rank
        ("map", 1 / 3),
        ("ndcg", 1 / (1 + 1 / np.log2(3) + 1 / 2)),
        ("mean_rank", (1 + 11 + 12) / 3),
        ("max_rank", 12),
        ("auc", 1 / 3),
        ("rank_loss", 200 / 3),
    ],
)
def test_missing_items_are_never_found_and_rank_behind_the_list(name: str, expected: float) -> None:
    assert value(name, ranking_of([0], [0], 10, missing=2)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("name", "expected"), [("mrr", 0), ("max_rank", 5), ("mean_rank", 5), ("auc", 0)])
def test_a_list_with_nothing_relevant_in_it(name: str, expected: float) -> None:
    assert value(name, ranking_of([], [], 4, missing=1)) == expected


def test_a_list_of_relevant_items_alone_has_no_pair_in_the_wrong_order() -> None:
    everything = ranking_of([0, 0], [0, 0], 2)
    assert value("auc", everything) == 1
    assert value("rank_loss", everything) == 0
    assert value("map", everything) == 1


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("recall@10", "recall@10"),
        ("Recall@10", "recall@10"),
        ("R@10", "recall@10"),
        ("P@5", "precision@5"),
        ("Success@1", "hit@1"),
        ("nDCG@10", "ndcg@10"),
        ("nDCG", "ndcg"),
        ("AP", "map"),
        ("AP@100", "map@100"),
        ("RR", "mrr"),
        ("RR@10", "mrr@10"),
        ("ndcg@010", "ndcg@10"),
        (" map @ 3 ", "map@3"),
        ("AUC", "auc"),
    ],
)
def test_spellings(spelling: str, name: str) -> None:
    assert check_metric(spelling) == Metric.parse(spelling).name == name
    assert Metric.parse(spelling) == Metric.parse(name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("recal@10", "did you mean 'recall@10'"),
        ("recal", "did you mean 'recall@10'"),
        ("mean_ranks@3", "did you mean 'mean_rank'"),
        ("ndgc", "did you mean 'ndcg'"),
        ("qqqq", "'qqqq': there are recall@k, precision@k, hit@k, capped_recall@k, ndcg"),
        ("", "unknown metric ''"),
        ("recall@", "unknown metric 'recall@'"),
        ("recall@1@2", "k must be a whole number"),
        ("recall", "recall needs a cutoff: write it as recall@10"),
        ("R", "recall needs a cutoff"),
        ("auc@10", "auc looks at the whole list"),
        ("ndcg@0", "k must be at least 1 and at most 2147483647, got 'ndcg@0'"),
        ("ndcg@-3", "k must be at least 1"),
        ("ndcg@10000000000000000000000", "at most 2147483647"),
        ("ndcg@ten", "k must be a whole number"),
        ("ndcg@1.5", "k must be a whole number"),
    ],
)
def test_names_that_are_no_metric(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Metric.parse(text)


def test_lists_of_names() -> None:
    assert [m.name for m in parse_metrics(["R@10", "map", "recall@10"])] == ["recall@10", "map"]
    assert [m.name for m in parse_metrics("auc")] == ["auc"]
    with pytest.raises(ValueError, match="at least one of recall@k"):
        parse_metrics([])
    with pytest.raises(TypeError, match="metrics must be names"):
        parse_metrics(10)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="by its name"):
        parse_metrics([10])  # type: ignore[list-item]


def test_which_metrics_fall_as_models_get_better() -> None:
    falling = [
        m
        for m in ("recall@1", "auc", "mean_rank", "max_rank", "rank_loss")
        if Metric.parse(m).lower_is_better
    ]
    assert falling == ["mean_rank", "max_rank", "rank_loss"]
