"""SVD, NMF, their mix, EASE, popularity, iALS and BPR against slow and obvious numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import sparse

import topwise as tw
from topwise import baselines
from topwise.baselines.ease import ItemWeights, _inverse
from topwise.models import NotFittedError

Doubles = npt.NDArray[np.float64]


def random_log(
    n_users: int = 14, n_items: int = 9, share: float = 0.35, seed: int = 0
) -> tuple[tw.Events, Doubles]:
    """A log with weights, and its matrix: all have item 0; the last user and item are without events."""
    rng = np.random.default_rng(seed)
    matrix = np.where(rng.random((n_users, n_items)) < share, rng.integers(1, 5, (n_users, n_items)), 0)
    matrix[:, 0] = rng.integers(1, 5, n_users)
    matrix[:, -1] = matrix[-1] = 0
    matrix[-1, -1] = 1  # so that both are in the vocabularies
    users, items = np.nonzero(np.ones_like(matrix))
    log = tw.Events.from_arrays(item=items, user=users, weight=matrix.ravel())
    train = log.take((log.ids("user") != n_users - 1) & (log.weight > 0))
    matrix[-1, -1] = 0
    return train, matrix.astype(float)


def scores(model: Any, count: int, **ids: Any) -> npt.NDArray[np.float32]:
    """Scores of users 0, 1, ... and items 0, 1, ... in this order."""
    block = model.score_block(users=range(count), **ids)
    return block[:, model.item_vocabulary.codes(range(len(model.item_vocabulary)))]


def filled(matrix: Doubles, values: str) -> Doubles:
    return {"binary": (matrix > 0) * 1.0, "count": matrix, "log": np.log1p(matrix)}[values]


@pytest.mark.parametrize("values", ["binary", "count", "log"])
def test_svd_is_the_best_approximation_of_its_rank(values: str) -> None:
    log, matrix = random_log()
    wanted = filled(matrix, values)
    left, sizes, right = np.linalg.svd(wanted)
    best = (left[:, :3] * sizes[:3]) @ right[:3]
    model = baselines.SVD(3, values=values).fit(log)
    np.testing.assert_allclose(scores(model, 13), best[:13], atol=1e-5)
    np.testing.assert_allclose(model.singular_values_, sizes[:3], rtol=1e-6)
    mean = best[:13][matrix[:13].any(axis=1)].mean(axis=0)
    np.testing.assert_allclose(scores(model, 14)[13], mean, atol=1e-5)


def test_log_odds_weigh_the_errors_of_the_columns() -> None:
    log, matrix = random_log()
    known = (matrix > 0) * 1.0
    n_users = int(known.any(axis=1).sum())
    share = (known.sum(axis=0) + 0.5) / (n_users + 1)
    weights = np.maximum(np.log((1 - share) / share), 0)
    assert (weights == 0).any(), "some items are popular enough to count nothing"
    model = baselines.SVD(2, columns="log_odds").fit(log)
    found = scores(model, 13).astype(float)

    def loss(guess: Doubles) -> float:
        return float((weights * (known[:13] - guess) ** 2).sum())

    # Eckart & Young: what is left of the weighted matrix are its other singular values.
    sizes = np.linalg.svd(known * np.sqrt(weights), compute_uv=False)
    np.testing.assert_allclose(loss(found), (sizes[2:] ** 2).sum(), rtol=1e-4)
    uniform = scores(baselines.SVD(2).fit(log), 13).astype(float)
    assert loss(found) < loss(uniform)


def test_svd_at_full_and_beyond_its_rank() -> None:
    log, matrix = random_log()
    np.testing.assert_allclose(scores(baselines.SVD(9).fit(log), 13), matrix[:13] > 0, atol=1e-5)
    twins = tw.Events.from_arrays(item=[0, 1, 0, 1, 2, 3, 2], user=[0, 0, 1, 1, 2, 2, 3])
    model = baselines.SVD(4).fit(twins)
    assert np.isfinite(model.item_vectors()).all()
    np.testing.assert_allclose(scores(model, 4)[0], [1, 1, 0, 0], atol=1e-5)
    with pytest.raises(ValueError, match="dim must be at most 9, the smaller side"):
        model.set_params(dim=10).fit(log)
    with pytest.raises(NotFittedError):
        model.recommend(users=0)
    for wrong, message in (
        ({"dim": 0}, "dim must be at least 1, got 0"),
        ({"values": "rank"}, "values must be one of 'binary', 'count', 'log', got 'rank'"),
        ({"columns": "idf"}, "columns must be one of 'uniform', 'log_odds', got 'idf'"),
    ):
        with pytest.raises(ValueError, match=message):
            baselines.SVD(2).set_params(**wrong).fit(log)
    everybody = tw.Events.from_arrays(item=[0, 0, 1, 1], user=[0, 1, 0, 1])
    with pytest.raises(ValueError, match="leaves no weight"):
        baselines.SVD(1, columns="log_odds").fit(everybody)


def test_nmf_satisfies_the_conditions_of_an_optimum() -> None:
    log, matrix = random_log()
    model = baselines.NMF(3, iterations=3000, tolerance=1e-7, values="count").fit(log)
    assert (model.contexts_ >= 0).all()
    assert (model.items_ >= 0).all()
    order = model.item_vocabulary.codes(range(9))
    left = model.context_vectors(users=range(13)).astype(float)
    right = model.item_vectors()[order].astype(float)
    error = left @ right.T - matrix[:13]
    assert (error**2).sum() < (matrix**2).sum() / 2
    for slope, factor in ((error @ right, left), (error.T @ left, right)):
        # Karush, Kuhn & Tucker: no descent into the cone, and none along what is not 0.
        assert slope.min() > -1e-2
        assert np.abs(slope * factor).max() < 1e-2
    with pytest.raises(ValueError, match="regularization must be at least 0 and finite, got -1"):
        baselines.NMF(2, regularization=-1).fit(log)
    with pytest.raises(ValueError, match="dim must be at most 9"):
        baselines.NMF(10).fit(log)


@pytest.mark.parametrize("form", ["primal", "dual", "auto"])
def test_ease_regresses_each_item_on_the_others(form: str) -> None:
    log, matrix = random_log()
    known = (matrix > 0) * 1.0
    weights = np.zeros((9, 9))
    for item in range(8):
        others = np.array([other for other in range(8) if other != item])
        x = known[:, others]
        weights[others, item] = np.linalg.solve(x.T @ x + 2.5 * np.eye(7), x.T @ known[:, item])
    model = baselines.EASE(2.5, form=form).fit(log)
    expected = known @ weights
    np.testing.assert_allclose(scores(model, 13), expected[:13], atol=1e-4)
    mean = expected[:13][known[:13].any(axis=1)].mean(axis=0)
    np.testing.assert_allclose(scores(model, 14)[13], mean, atol=1e-4)


@pytest.mark.parametrize("block", [1, 7, 40, 64])
def test_the_inverse_by_blocks(block: int) -> None:
    rows = sparse.random_array((40, 60), density=0.1, rng=np.random.default_rng(0), format="csr")
    gram = sparse.csr_array(rows @ rows.T)
    inverse = _inverse(gram, 0.5, block)
    np.testing.assert_array_equal(inverse, inverse.T)
    np.testing.assert_allclose(inverse, np.linalg.inv(gram.toarray() + 0.5 * np.eye(40)), atol=1e-5)
    with pytest.raises(ValueError, match="leaves the matrix singular in float32: raise it"):
        _inverse(sparse.csr_array(-gram), 1e-3, block)


def test_ease_takes_the_smaller_form() -> None:
    log, _ = random_log(n_users=6, n_items=20)
    assert baselines.EASE(1.0).fit(log).weights_.left.shape == (6, 6)
    wide, _ = random_log(n_users=30, n_items=5)
    weights = baselines.EASE(1.0).fit(wide).weights_
    assert isinstance(weights, ItemWeights)
    assert weights.right.shape == (4, 4)
    for wrong, message in (
        ({"regularization": 0}, "regularization must be above 0"),
        ({"form": "both"}, "form must be one of"),
    ):
        with pytest.raises(ValueError, match=message):
            baselines.EASE().set_params(**wrong).fit(log)


def test_popularity_counts() -> None:
    log = tw.Events.from_arrays(item=list("aabbbc"), user=list("121113"), weight=[1, 1, 2, 1, 1, 9])
    for values, expected in (("binary", [2, 1, 1]), ("count", [2, 4, 9])):
        model = baselines.Popularity(values=values).fit(log)
        np.testing.assert_allclose(model.score_block(users=["1", "new"]), [expected] * 2)
    assert baselines.Popularity().fit(log).recommend(users="1", k=3)[0].tolist() == ["a", "b", "c"]


def test_ials_solves_for_its_items() -> None:
    log, matrix = random_log(30, 12)
    model = baselines.IALS(3, regularization=0.7, alpha=4.0, epochs=300, threads=1).fit(log)
    users = model.context_vectors(users=range(29)).astype(float)
    order = model.item_vocabulary.codes(range(12))
    items = model.item_vectors()[order].astype(float)
    known = matrix[:29] > 0
    for item in range(11):
        confidence = np.where(known[:, item], 4.0, 1.0)
        gram = (users * confidence[:, None]).T @ users + 0.7 * np.eye(3)
        solved = np.linalg.solve(gram, users.T @ (confidence * known[:, item]))
        np.testing.assert_allclose(items[item], solved, atol=0.02 * np.abs(items).max())
    with pytest.raises(ValueError, match="alpha must be above 0"):
        baselines.IALS(alpha=0).fit(log)


def test_bpr_puts_positives_above_the_others() -> None:
    log, _ = random_log(30, 12)
    model = baselines.BPR(8, 0.1, 0.001, epochs=300, threads=1).fit(log)
    report = tw.evaluate(model, log, metrics=["auc"])
    popularity = tw.evaluate(baselines.Popularity().fit(log), log, metrics=["auc"])
    assert report["auc"] > 0.95 > popularity["auc"]
    with pytest.raises(ValueError, match="learning_rate must be above 0"):
        baselines.BPR(learning_rate=0).fit(log)


# --- pairs of a query and a user --------------------------------------------------------------------------


def triples(seed: int = 0) -> tw.Events:
    rng = np.random.default_rng(seed)
    query, user = rng.integers(0, 8, 150), rng.integers(0, 10, 150)
    item = np.where(rng.random(150) < 0.7, query, (user + rng.integers(0, 3, 150)) % 12)
    return tw.Events.from_arrays(item=item, user=user, query=[f"q{q}" for q in query])


@pytest.mark.parametrize("part", [None, baselines.SVD(3), baselines.NMF(3)])
def test_the_mix_is_the_sum_of_its_parts(part: Any) -> None:
    log = triples()
    if part is None:
        with pytest.raises(ValueError, match="dim must be at most 8"):
            baselines.Mix().fit(log)  # SVD() has 50
        return
    model = baselines.Mix(part, gamma=0.3).fit(log)
    of_query = part.clone().set_params(context="query").fit(log)
    of_user = part.clone().set_params(context="user").fit(log)
    users, queries = [3, 3, 7, 99, 1], ["q1", "q5", "q1", "q2", "new"]
    expected = of_query.score_block(queries=queries) + 0.3 * of_user.score_block(users=users)
    np.testing.assert_allclose(
        model.score_block(users=users, queries=queries), expected, rtol=1e-5, atol=1e-6
    )
    assert model.roles == ("user", "query")
    ids, found = model.recommend(users=users, queries=queries, k=4)
    np.testing.assert_allclose(found, -np.sort(-expected, axis=1)[:, :4], rtol=1e-5, atol=1e-6)
    single = model.recommend(users=3, queries="q5", k=4)
    np.testing.assert_array_equal(single[0], ids[1])


def test_pairs_are_excluded_and_evaluated_as_pairs() -> None:
    train, test = tw.split.by_fraction(triples(), test=0.3, seed=1)
    model = baselines.Mix(baselines.SVD(3)).fit(train)
    users, queries = train.ids("user")[:6], train.ids("query")[:6]
    ids, scores = model.recommend(users=users, queries=queries, k=12, exclude=train)
    of_train = list(zip(train.ids("user"), train.ids("query"), train.ids("item"), strict=True))
    for row, pair in enumerate(zip(users, queries, strict=True)):
        known = {item for user, query, item in of_train if (user, query) == pair}
        shown = ids[row][np.isfinite(scores[row])].tolist()
        assert set(shown) == set(model.item_vocabulary.ids.tolist()) - known
    of_users = tw.Events.from_arrays(item=train.ids("item"), user=train.ids("user"))
    ids, scores = model.recommend(users=users, queries=queries, k=12, exclude=of_users)
    for row, user in enumerate(users):
        known = {item for other, _, item in of_train if other == user}
        assert (
            set(ids[row][np.isfinite(scores[row])].tolist())
            == set(model.item_vocabulary.ids.tolist()) - known
        )
    report = tw.evaluate(model, test, metrics=["recall@5"], exclude=train)
    assert 0 < report["recall@5"] <= 1
    with pytest.raises(ValueError, match="need as many users as queries, got 2 users, 1 queries"):
        model.recommend(users=[1, 2], queries=["q1"])
    with pytest.raises(ValueError, match="pass users= and queries="):
        model.recommend(users=[1, 2])
    with pytest.raises(ValueError, match="train must have both"):
        baselines.Mix().fit(random_log()[0])


def test_gamma_is_chosen_on_the_validation_log() -> None:
    train, validation = tw.split.by_fraction(triples(), test=0.3, seed=1)
    grid = (0.0, 0.3, 1.0, 50.0)
    for metric, best in (("recall@3", max), ("mean_rank", min)):
        model = baselines.Mix(baselines.SVD(3), gamma="auto", gammas=grid, metric=metric).fit(
            train, validation
        )
        measured = {}
        for gamma in grid:
            fixed = baselines.Mix(baselines.SVD(3), gamma=gamma).fit(train)
            measured[gamma] = tw.evaluate(fixed, validation, [metric], exclude=train)[metric]
        assert model.tried_ == pytest.approx(measured)
        assert measured[model.gamma_] == best(measured.values())
        assert len(set(measured.values())) > 1
    auto = baselines.Mix(baselines.SVD(3), gamma="auto")
    with pytest.raises(ValueError, match="gamma='auto' is chosen on a validation log: pass validation="):
        auto.fit(train)
    for gamma, kind in (("best", ValueError), (-1, ValueError), (float("nan"), ValueError), ([1], TypeError)):
        with pytest.raises(kind, match="gamma must be"):
            baselines.Mix(gamma=gamma).fit(train)
    with pytest.raises(TypeError, match="model must be a baseline with factors"):
        baselines.Mix(baselines.EASE()).fit(train)


def test_factors_of_queries() -> None:
    log = triples()
    model = baselines.SVD(3, context="query").fit(log)
    assert model.roles == ("query",)
    known = np.zeros((8, 12))
    known[[int(q[1:]) for q in log.ids("query")], log.ids("item")] = 1
    left, sizes, right = np.linalg.svd(known)
    found = model.score_block(queries=[f"q{q}" for q in range(8)])
    np.testing.assert_allclose(
        found, ((left[:, :3] * sizes[:3]) @ right[:3])[:, model.item_vocabulary.ids], atol=1e-5
    )
    assert baselines.SVD(3).fit(log).roles == ("user",), "a log's first role without a word of context="
