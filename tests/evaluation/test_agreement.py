"""On real events: the same values as ir-measures and scikit-learn."""

from __future__ import annotations

from pathlib import Path

import ir_measures
import numpy as np
import pytest
from sklearn.metrics import (
    label_ranking_average_precision_score,
    label_ranking_loss,
    ndcg_score,
    roc_auc_score,
)
from vector_model import VectorModel

from topwise import datasets
from topwise.data import Events, split
from topwise.evaluation import evaluate, write_qrels, write_run

NAMES = [
    "R@10",
    "R@50",
    "P@5",
    "P@20",
    "Success@1",
    "Success@10",
    "nDCG",
    "nDCG@10",
    "AP",
    "AP@10",
    "RR",
    "RR@10",
]
Split = tuple[Events, Events]


@pytest.fixture(scope="module")
def parts(data_root: Path) -> Split:
    log = datasets.movielens_100k(data_root / "movielens-100k").log
    train, test = split.by_fraction(log, test=0.2, seed=0)
    return train, test.take(test.user < 150)  # ir-measures takes its time


def model_for(log: Events, ties: bool) -> VectorModel:
    """Whole-number vectors, whose products are exact in any order of summing; the last factor unties them."""
    model = VectorModel.random(log.vocabulary("item"), dim=9, highest=4, user=log.vocabulary("user"))
    unique = np.random.default_rng(0).permutation(log.n("item")) / 4096
    model.rows["user"][:, -1] = 1
    model.item_rows[:, -1] = 0 if ties else unique
    return model


def measured(run: Path, qrels: Path) -> dict[str, dict[str, float]]:
    """ir-measures' values by name and context."""
    values: dict[str, dict[str, float]] = {name: {} for name in NAMES}
    measures = {ir_measures.parse_measure(name): name for name in NAMES}
    read = list(ir_measures.read_trec_qrels(str(qrels))), list(ir_measures.read_trec_run(str(run)))
    for metric in ir_measures.iter_calc(list(measures), *read):
        values[measures[metric.measure]][metric.query_id] = metric.value
    return values


@pytest.mark.parametrize("excluding", [True, False])
def test_equal_to_ir_measures(parts: Split, excluding: bool, tmp_path: Path) -> None:
    train, test = parts
    exclude = train if excluding else None
    model = model_for(test, ties=False)
    write_run(model, tmp_path / "run", k=test.n("item"), exclude=exclude)
    write_qrels(test, tmp_path / "qrels", exclude=exclude)
    report = evaluate(model, test, NAMES, exclude)
    for name, theirs in measured(tmp_path / "run", tmp_path / "qrels").items():
        ours = dict(zip(report.contexts, report.per_context(name), strict=True))
        assert ours == pytest.approx(theirs, abs=1e-9), name
        assert report[name] == pytest.approx(np.mean(list(theirs.values())), abs=1e-9)


def test_items_that_the_model_does_not_know_count_as_in_ir_measures(parts: Split, tmp_path: Path) -> None:
    train, test = parts
    common = np.bincount(train.item, minlength=train.n("item")) >= 20
    model = model_for(test, ties=False)
    known = VectorModel(
        type(model.item_vocabulary)(model.item_vocabulary.ids[common]),
        model.item_rows[common],
        user=(model.vocabularies["user"], model.rows["user"]),
    )
    write_run(known, tmp_path / "run", k=test.n("item"), exclude=train)
    write_qrels(test, tmp_path / "qrels", exclude=train)
    report = evaluate(known, test, NAMES, exclude=train)
    assert report.unseen_items > 30
    for name, theirs in measured(tmp_path / "run", tmp_path / "qrels").items():
        assert report[name] == pytest.approx(np.mean(list(theirs.values())), abs=1e-9), name


def test_ties_are_the_mean_of_two_orders_by_ir_measures(parts: Split, tmp_path: Path) -> None:
    train, test = parts
    model = model_for(test, ties=True)
    write_qrels(test, tmp_path / "qrels", exclude=train)
    report = evaluate(model, test, NAMES, exclude=train)
    vocabulary = test.vocabulary("user")
    scores = model.context_vectors(users=vocabulary.ids) @ model.item_vectors().T
    scores[train.user, train.item] = -np.inf
    relevant = np.zeros(scores.shape)
    relevant[test.user, test.item] = 1
    both = []
    for direction in (1, -1):
        order = np.lexsort([direction * -relevant, -scores], axis=1)
        run = [
            f"{vocabulary.ids[user]} Q0 {test.vocabulary('item').ids[item]} {place + 1} {-place} tied"
            for user in np.unique(test.user)
            for place, item in enumerate(order[user])
            if np.isfinite(scores[user, item])
        ]
        (tmp_path / "run").write_text("\n".join(run))
        both.append(measured(tmp_path / "run", tmp_path / "qrels"))
    for name in NAMES:
        best, worst = (np.mean(list(values[name].values())) for values in both)
        assert report[name] == pytest.approx((best + worst) / 2, abs=1e-9), name
    assert np.mean(list(both[0]["RR"].values())) > np.mean(list(both[1]["RR"].values())) * 1.1


@pytest.mark.parametrize("ties", [False, True])
def test_equal_to_scikit_learn(parts: Split, ties: bool) -> None:
    train, test = parts
    model = model_for(test, ties)
    report = evaluate(model, test, ["auc", "rank_loss", "ndcg", "ndcg@10", "map"], exclude=train)
    relevant, left_out = test.matrix(), train.matrix()
    everything = np.arange(test.n("item"))
    for row, user in enumerate(report.contexts):
        code = int(test.vocabulary("user").codes(user)[0])
        listed = np.setdiff1d(everything, left_out.row(code))
        scores = (model.context_vectors(users=[user]) @ model.item_vectors().T)[:, listed].astype(np.float64)
        truth = np.isin(listed, relevant.row(code))[None, :]

        def ours(name: str, row: int = row) -> float:
            return float(report.per_context(name)[row])

        assert ours("auc") == pytest.approx(roc_auc_score(truth[0], scores[0]), abs=1e-9)
        if ties:  # scikit-learn has other rules for them in what follows
            continue
        assert ours("rank_loss") == pytest.approx(100 * label_ranking_loss(truth, scores), abs=1e-9)
        assert ours("ndcg") == pytest.approx(ndcg_score(truth, scores), abs=1e-9)
        assert ours("ndcg@10") == pytest.approx(ndcg_score(truth, scores, k=10), abs=1e-9)
        assert ours("map") == pytest.approx(label_ranking_average_precision_score(truth, scores), abs=1e-9)
