"""GMML and L-GMML: what a score is made of, rules for unseen queries, files, errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import topwise as tw


def place(seed: int, n_queries: int = 30) -> tw.Judgments:
    """Relevant documents lie near one place in two of four features."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_queries * 12, 4))
    far = np.hypot(x[:, 0] - 1, x[:, 1])
    return tw.Judgments.from_arrays(x, np.digitize(-far, [-1.0, -0.5]), groups=[12] * n_queries)


TRAIN, TEST = place(0), place(1)
RULES = ["ones", "mean", "shared", "kernel"]


def small(**params: Any) -> tw.LGMML:
    return tw.LGMML(**{"metrics": 6, "epochs": 5, "seed": 0, **params})


def ndcg(model: Any) -> float:
    return float(tw.evaluate(model, TEST, metrics=["ndcg@5"])["ndcg@5"])


def test_a_gmml_is_a_distance_from_its_anchor() -> None:
    model = tw.GMML(t=0.5, regularization=0.1, normalize=None).fit(TRAIN)
    metric = model.metric_
    np.testing.assert_allclose(metric, metric.T)
    assert np.linalg.eigvalsh(metric).min() > 0
    relevant = TRAIN.dense()[TRAIN.labels > 0]
    order = np.argsort(np.argsort(-model.score(TEST)))
    found = []
    for anchor in relevant:
        d = TEST.dense() - anchor
        found.append(np.array_equal(np.argsort(np.argsort(np.einsum("ij,jk,ik->i", d, metric, d))), order))
    assert sum(found) == 1


@pytest.mark.parametrize("unseen", RULES)
def test_each_rule_learns(unseen: str) -> None:
    chance = float(tw.evaluate(np.zeros(len(TEST)), TEST, metrics=["ndcg@5"])["ndcg@5"])
    model = small(unseen=unseen).fit(TRAIN)
    assert model.unseen_ == unseen
    assert ndcg(model) > chance + 0.1


def test_a_score_is_what_it_is_made_of() -> None:
    model = small(unseen="shared").fit(TRAIN)
    qid = TEST.qids[3]
    explained = model.explain(TEST, qid)
    rows = TEST.rows(3)
    np.testing.assert_allclose(explained.by_anchor.sum(axis=1), model.score(TEST)[rows], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(
        explained.by_feature.sum(axis=1), model.score(TEST)[rows], rtol=1e-4, atol=1e-6
    )
    assert (model.delta(TEST) >= 0).all()


@pytest.mark.parametrize("normalize", ["standard", "l2", "minmax", None])
@pytest.mark.parametrize("params", [{}, {"rank": "full"}, {"scale": 20.0}, {"unseen": "kernel"}], ids=str)
def test_scores_are_those_of_equation_13(normalize: str | None, params: dict[str, Any]) -> None:
    def widened(judged: tw.Judgments) -> tw.Judgments:  # by features far from 0, the last one constant
        apart = np.column_stack([judged.dense() * [1, 10, 0.1, 1] + [0, 500, 0, -3], np.full(len(judged), 7)])
        return judged.with_features(apart.astype(np.float32))

    train, test = widened(TRAIN), widened(TEST)
    model = small(normalize=normalize, regularization=0.1, **params).fit(train)
    scaled = test if normalize is None else tw.Normalize(normalize).fit(train).transform(test)
    x = scaled.dense().astype(np.float64)
    weights = model.delta(test).astype(np.float64)[test.query_of_rows()]
    expected = np.zeros(len(x))
    for number, anchor in enumerate(model.metrics_.anchors.astype(np.float64)):
        z = np.sqrt(np.einsum("nd,de,ne->n", x - anchor, model.metrics_.metric(number), x - anchor))
        expected -= weights[:, number] * np.exp(-z) * z
    np.testing.assert_allclose(model.score(test), expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())


def test_validation_chooses_the_rule() -> None:
    model = small().fit(TRAIN, TEST.take(range(10)))
    assert model.unseen_ in RULES


@pytest.mark.parametrize("unseen", RULES)
def test_files(unseen: str, tmp_path: Path) -> None:
    model = small(unseen=unseen).fit(TRAIN)
    model.save(tmp_path / "local.safetensors")
    loaded = tw.load(tmp_path / "local.safetensors")
    np.testing.assert_array_equal(loaded.score(TEST), model.score(TEST))


def test_the_number_of_threads_changes_nothing() -> None:
    one, two = (small(threads=threads, unseen="shared").fit(TRAIN).score(TEST) for threads in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_a_query_without_anything_relevant_is_left_out() -> None:
    labels = TRAIN.labels.copy()
    labels[TRAIN.rows(0)] = 0
    judged = tw.Judgments.from_arrays(TRAIN.dense(), labels, groups=TRAIN.lengths())
    assert np.isfinite(small().fit(judged).score(TEST)).all()


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"metrics": 0}, "metrics"),
        ({"unseen": "twos"}, "unseen"),
        ({"t": 2.0}, "between 0"),
        ({"negatives": "all"}, "negatives"),
        ({"learning_rate": -1.0}, "learning_rate"),
    ],
)
def test_wrong_parameters(params: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        small(**params).fit(TRAIN)


def test_nothing_to_learn_from() -> None:
    same = tw.Judgments.from_arrays(TRAIN.dense(), np.zeros(len(TRAIN)), groups=TRAIN.lengths())
    for model in (small(), tw.GMML()):
        with pytest.raises(ValueError, match="nothing to learn"):
            model.fit(same)
