from __future__ import annotations

import json
import time

import numpy as np
import pytest
from scipy import stats
from vector_model import VectorModel

from topwise.data import Events
from topwise.evaluation import Report, evaluate
from topwise.evaluation.resampling import bootstrap_intervals


@pytest.fixture(scope="module")
def report() -> Report:
    rng = np.random.default_rng(0)
    model = VectorModel.random(range(200), user=range(100))
    test = Events.from_arrays(user=rng.integers(0, 101, 1000), item=rng.integers(0, 205, 1000))
    return evaluate(model, test, ["R@10", "nDCG@10", "map", "mean_rank"])


def test_names_in_any_spelling(report: Report) -> None:
    assert list(report) == ["recall@10", "ndcg@10", "map", "mean_rank"]
    assert len(report) == 4
    assert report["R@10"] == report["recall@10"] == report.per_context("Recall@10").mean()
    assert report.interval("AP") == report.interval("map")
    assert "nDCG@10" in report
    assert "ndcg@5" not in report
    assert "nothing" not in report
    with pytest.raises(ValueError, match="ndcg@5 was not evaluated, only recall@10, ndcg@10, map, mean_rank"):
        report["ndcg@5"]
    with pytest.raises(ValueError, match="unknown metric"):
        report["nothing"]


def test_values_of_contexts_stand_beside_their_ids(report: Report) -> None:
    assert sorted(report.contexts) == list(range(101))
    assert report.per_context("map").shape == report.contexts.shape == (report.n_contexts,)
    assert report.unseen_contexts == 1
    assert report.unseen_items == 5


def test_as_a_dictionary_and_as_a_table(report: Report) -> None:
    read = json.loads(json.dumps(report.to_dict()))
    assert read["metrics"]["recall@10"]["mean"] == report["recall@10"]
    assert tuple(read["metrics"]["map"]["interval"]) == report.interval("map")
    assert read["n_contexts"] == 101
    assert read["n_relevant"] == report.n_relevant
    assert read["unseen_items"] == 5
    lines = repr(report).splitlines()
    assert lines[0].split() == ["metric", "mean", "95", "%", "interval"]
    assert lines[1].split()[:2] == ["recall@10", f"{report['recall@10']:.4f}"]
    assert lines[5] == f"101 contexts (user), {report.n_relevant} items to find"
    assert "contexts unknown to the model: 1" in lines
    assert not any("exclude" in line for line in lines)


def test_intervals_are_left_until_somebody_asks() -> None:
    model = VectorModel.random(range(5), user=range(3))
    report = evaluate(model, Events.from_arrays(user=[0, 1], item=[1, 2]))
    assert "_intervals" not in vars(report)
    low, high = report.interval("map")
    assert low <= report["map"] <= high
    assert "_intervals" in vars(report)


def test_intervals_repeat_with_the_seed_and_widen_with_confidence() -> None:
    values = np.random.default_rng(0).random((2, 300))
    narrow, wide = (bootstrap_intervals(values, confidence, 1000, 0) for confidence in (0.8, 0.99))
    assert np.array_equal(narrow, bootstrap_intervals(values, 0.8, 1000, 0))
    assert not np.array_equal(narrow, bootstrap_intervals(values, 0.8, 1000, 1))
    assert (wide[:, 0] < narrow[:, 0]).all()
    assert (wide[:, 1] > narrow[:, 1]).all()


def test_intervals_agree_with_scipy() -> None:
    values = np.random.default_rng(1).exponential(size=80)
    ours = bootstrap_intervals(values[None, :], 0.95, 20_000, 0)[0]
    scipys = stats.bootstrap((values,), np.mean, method="percentile", n_resamples=20_000, rng=1)
    assert ours == pytest.approx(list(scipys.confidence_interval), abs=0.01)


def test_many_contexts_are_drawn_in_groups_with_the_same_interval() -> None:
    values = np.random.default_rng(2).exponential(size=(1, 100_001))
    low, high = bootstrap_intervals(values, 0.95, 4000, 0)[0]
    spread = 1.96 * values.std() / np.sqrt(values.size)
    assert low == pytest.approx(values.mean() - spread, abs=0.05 * spread)
    assert high == pytest.approx(values.mean() + spread, abs=0.05 * spread)


def test_one_context_has_an_interval_without_width() -> None:
    report = evaluate(VectorModel.random(range(5), user=[0]), Events.from_arrays(user=[0], item=[1]), "mrr")
    assert report.interval("mrr") == (report["mrr"], report["mrr"])


def test_the_bootstrap_is_cheap() -> None:
    values = np.random.default_rng(0).random((4, 6000))
    seconds = []
    for _ in range(3):
        start = time.process_time()
        bootstrap_intervals(values, 0.95, 1000, 0)
        seconds.append(time.process_time() - start)
    assert min(seconds) < 0.5  # 0.05 on an idle machine
