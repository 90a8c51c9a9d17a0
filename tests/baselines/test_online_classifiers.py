"""One-vs-rest and the multiclass Rank SVM: steps against finite differences, optima against scikit-learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.sparse import csr_array
from sklearn.svm import LinearSVC

import topwise as tw
from topwise import baselines
from topwise.baselines.multiclass import ranking_push
from topwise.baselines.one_vs_rest import LabelRows, _without
from topwise.baselines.online import Hinge, Rows, passes
from topwise.datasets import multilabel

Doubles = npt.NDArray[np.float64]


def examples(n: int = 60, n_labels: int = 7, seed: int = 0) -> tuple[Doubles, Doubles]:
    """Rows of unit length, and labels that depend on them; each label has a positive and a negative."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 6)) * (rng.random((n, 6)) < 0.7)
    x[:, 0] += 0.5
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y = (x @ rng.normal(size=(6, n_labels)) + 0.3 * rng.normal(size=(n, n_labels)) > 0.6).astype(float)
    y[0], y[1] = 1, 0
    y[1, 0] = 1
    return x, y


def logged(x: Doubles, y: Doubles) -> tuple[tw.Events, tw.Features]:
    row, label = np.nonzero(y)
    return tw.Events.from_arrays(item=label, query=row), tw.Features.from_matrix(range(len(x)), x)


def weights_of(model: Any) -> tuple[Doubles, Doubles]:
    order = model.item_vocabulary.codes(range(len(model.item_vocabulary)))
    return model.weights_[:, order].astype(float), model.offsets_[order].astype(float)


def objective(
    w: Doubles, b: Doubles, x: Doubles, y: Doubles, penalty: float, squared: bool = True
) -> Doubles:
    """Of each label: Σ of the hinges and the penalty."""
    sign = np.where(y > 0, 1, -1)
    hinge = np.maximum(1 - sign * (x @ w + b), 0)
    return (hinge**2 if squared else hinge).sum(axis=0) + 0.5 * penalty * len(x) * (w**2).sum(axis=0)


def test_one_vs_rest_comes_to_the_optimum_of_each_label() -> None:
    x, y = examples()
    y[y.sum(axis=1) == 0, 3] = 1  # an example without labels is none
    log, features = logged(x, y)
    penalty = 0.01
    model = baselines.OneVsRest(epochs=400, regularization=penalty, learning_rate=0.2, batch=4)
    found = objective(*weights_of(model.fit(log, query_features=features)), x, y, penalty)
    for label in range(7):
        # LIBLINEAR's ½‖w‖² + C Σ hinge², its offset (almost) without a penalty.
        best = LinearSVC(C=1 / (penalty * 60), intercept_scaling=100, tol=1e-8, max_iter=200_000)
        best.fit(x, y[:, label])
        least = objective(best.coef_.T, best.intercept_, x, y[:, [label]], penalty)[0]
        assert found[label] <= least * 1.02 + 1e-6


def test_a_step_goes_down_the_gradient() -> None:
    x, y = examples()
    rng = np.random.default_rng(1)
    for squared in (False, True):
        rows = Rows(6, 7, offset=0.3)
        rows.rows[:] = rng.normal(size=(6, 7))
        rows.factor = 0.5
        w, b = 0.5 * rows.rows.astype(float), rows.offsets.astype(float)
        one, of_one = x[[5]], y[[5]]
        sign = np.where(of_one > 0, 1, -1).astype(np.float32)
        scores = rows.scores(csr_array(one.astype(np.float32)))
        np.testing.assert_allclose(scores, one @ w + b, rtol=1e-5)
        push = sign * Hinge(squared).push(sign * scores)
        rows.step(csr_array(one.astype(np.float32)), csr_array(push), rate=0.1, penalty=0.2)
        moved, offsets = rows.finished()
        for label in range(7):
            slopes = np.zeros(7)
            for place in range(7):
                nudge = np.zeros(7)
                nudge[place] = 1e-6
                up, down = (
                    objective(w + s * nudge[:6, None], b + s * nudge[6], one, of_one, 0.0, squared)[label]
                    for s in (1, -1)
                )
                slopes[place] = (up - down) / 2e-6
            np.testing.assert_allclose(
                moved[:, label], w[:, label] * (1 - 0.02) - 0.1 * slopes[:6], atol=1e-4
            )
            np.testing.assert_allclose(offsets[label], b[label] - 0.1 * slopes[6], atol=1e-4)


@pytest.mark.parametrize("dense", [False, True])
def test_sparse_and_dense_steps_are_the_same(dense: bool) -> None:
    rng = np.random.default_rng(2)
    x = csr_array((rng.normal(size=(4, 30)) * (rng.random((4, 30)) < 0.3)).astype(np.float32))
    push = (rng.normal(size=(4, 50)) * (rng.random((4, 50)) < (0.9 if dense else 0.04))).astype(np.float32)
    rows = Rows(30, 50, offset=None)
    rows.factor = 0.0002  # below what is put back into the rows
    rows.rows[:] = 1
    rows.step(x, csr_array(push), rate=0.5, penalty=1.2)
    expected = 0.0002 * 0.4 + 0.5 * x.toarray().T @ push
    moved, offsets = rows.finished()
    np.testing.assert_allclose(moved, expected, atol=1e-5)
    assert (offsets == 0).all()


def test_blocks_of_labels_do_not_matter() -> None:
    x, y = examples()
    log, features = logged(x, y)
    answers = [
        weights_of(baselines.OneVsRest(epochs=3, block=block).fit(log, query_features=features))
        for block in (1, 3, 512)
    ]
    for other in answers[1:]:
        np.testing.assert_allclose(other[0], answers[0][0], atol=1e-5)
        np.testing.assert_allclose(other[1], answers[0][1], atol=1e-5)


@pytest.mark.parametrize("negatives", ["all", "equal"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_no_rate_is_too_large_to_stay_finite(negatives: str, loss: str) -> None:
    x, y = examples()
    log, features = logged(np.abs(x), y)  # all alike, which is the worst
    model = baselines.OneVsRest(negatives, loss=loss, learning_rate=30.0, epochs=20, batch=32)
    model.fit(log, query_features=features)
    assert np.isfinite(model.weights_).all()
    for wrong, message in (
        ({"negatives": "some"}, "negatives must be one of 'all', 'equal', got 'some'"),
        ({"loss": "log"}, "loss must be one of 'hinge', 'squared_hinge'"),
        ({"epochs": 0}, "epochs must be at least 1"),
        ({"learning_rate": 0}, "learning_rate must be above 0"),
        ({"regularization": -1}, "regularization must be at least 0"),
        ({"block": 0}, "block must be at least 1"),
    ):
        with pytest.raises(ValueError, match=message):
            model.clone().set_params(**wrong).fit(log, query_features=features)


def test_a_rate_that_forgets_everything_at_once_is_told() -> None:
    x, y = examples()
    log, features = logged(x, y)
    with pytest.raises(ValueError, match="OneVsRest has diverged: lower learning_rate"):
        baselines.OneVsRest(learning_rate=1e30, loss="hinge", epochs=2, regularization=1.0).fit(
            log, query_features=features
        )


def test_label_rows_learn_one_label_from_one_example() -> None:
    x, _ = examples()
    rng = np.random.default_rng(3)
    rows = LabelRows(6, 7)
    rows.rows[:] = rng.normal(size=(7, 6))
    rows.offsets[:] = rng.normal(size=7)
    rows.factors[:] = 0.5
    w, b = 0.5 * rows.rows.astype(float), rows.offsets.astype(float)
    labels = np.array([2, 5, 2])
    rows.step(csr_array(x[:3].astype(np.float32)), labels, -1.0, Hinge(False), 0.1, 0.0)
    expected_w, expected_b = w.copy(), b.copy()
    for row, label in enumerate(labels):
        if 1 + x[row] @ w[label] + b[label] > 0:  # a negative that stands above −1
            expected_w[label] -= 0.1 * x[row]
            expected_b[label] -= 0.1
    assert not np.array_equal(expected_w, w)
    moved, offsets = rows.finished()
    np.testing.assert_allclose(moved.T, expected_w, atol=1e-5)
    np.testing.assert_allclose(offsets, expected_b, atol=1e-5)


def test_drawn_negatives_lack_the_label() -> None:
    _, y = examples()
    y[:, 4] = 1  # nobody lacks it
    row, label = np.nonzero(y)
    positives = np.sort(row * 7 + label)
    labels = np.repeat(np.arange(7), 600)
    drawn, fair = _without(labels, positives, 60, 7, np.random.default_rng(0))
    assert (y[drawn[fair], labels[fair]] == 0).all()
    np.testing.assert_array_equal(np.unique(labels[~fair]), [4])
    lacking = np.flatnonzero(y[:, 2] == 0)
    assert set(drawn[labels == 2]) == set(lacking), "all of them are drawn in the end"


def test_passes_take_each_example_once_an_epoch() -> None:
    steps = list(passes(10, 3, 4, 0.6, np.random.default_rng(0)))
    for epoch in range(3):
        own = np.concatenate([some for some, _ in steps[3 * epoch : 3 * epoch + 3]])
        np.testing.assert_array_equal(np.sort(own), np.arange(10))
    np.testing.assert_allclose([rate for _, rate in steps], 0.6 * (1 - np.arange(9) / 9))


@pytest.mark.parametrize("hardest", [True, False])
def test_the_ranking_push_is_a_gradient(hardest: bool) -> None:
    rng = np.random.default_rng(4)
    scores = rng.normal(size=(8, 6))
    y = rng.random((8, 6)) < 0.4
    y[0] = False
    y[1] = True

    def loss(values: Doubles, among: Doubles) -> float:
        """Crammer & Singer's, or Weston & Watkins' as a mean over those that violated before."""
        total = 0.0
        for row in range(8):
            for label in np.flatnonzero(y[row]):
                others = np.flatnonzero(~y[row])
                was = 1 - among[row, label] + among[row, others]
                now = np.maximum(1 - values[row, label] + values[row, others], 0)
                if (was > 0).any():
                    total += now.max() if hardest else now[was > 0].mean()
        return total

    push = ranking_push(scores.astype(np.float32), csr_array(y.astype(np.float32)), hardest)
    for row in range(8):
        for label in range(6):
            nudge = np.zeros((8, 6))
            nudge[row, label] = 1e-6
            slope = (loss(scores + nudge, scores) - loss(scores - nudge, scores)) / 2e-6
            np.testing.assert_allclose(push[row, label], -slope, atol=1e-5)
    assert (push[:2] == 0).all(), "nothing to rank without positives, or without others"
    assert np.abs(push).max() > 0


@pytest.mark.parametrize("violators", ["all", "hardest"])
def test_the_rank_svm_separates_what_can_be_separated(violators: str) -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(80, 6))
    y = np.eye(5)[np.argmax(x @ rng.normal(size=(6, 5)), axis=1)]
    log, features = logged(x, y)
    model = baselines.MulticlassRankSVM(violators, epochs=60, regularization=0.0)
    report = tw.evaluate(model.fit(log, query_features=features), log, metrics=["hit@1"])
    assert report["hit@1"] > 0.97
    assert (model.offsets_ == 0).all()
    with pytest.raises(ValueError, match="violators must be one of 'all', 'hardest', got 'few'"):
        baselines.MulticlassRankSVM("few").fit(log, query_features=features)


def test_a_cut_of_eurlex(data_root: Path) -> None:
    x, y = multilabel(data_root / "eurlex-4k" / "eurlex_test.txt")
    ids = np.arange(1200)
    train, test = (
        tw.Events.from_arrays(item=part.indices, query=rows[part.row_of_entries()])
        for rows in (ids[:1000], ids[1000:])
        for part in (y.take(rows),)
    )
    features = tw.Features.from_matrix(ids, x.take(ids), identity=False)
    found = {}
    for model in (
        baselines.NearestMeans("cosine"),
        baselines.OneVsRest("equal"),
        baselines.OneVsRest(epochs=3),
        baselines.MulticlassRankSVM("hardest", epochs=2),
    ):
        report = tw.evaluate(model.fit(train, query_features=features), test, metrics=["precision@1"])
        found[repr(model)] = report["precision@1"]
    means, equal, every, ranked = found.values()
    assert 0.3 < means < equal
    assert equal - 0.05 < every
    assert means < ranked
