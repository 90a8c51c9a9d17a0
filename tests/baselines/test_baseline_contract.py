"""What holds of every baseline: fitting, recommending, evaluation, unknown ids, exclusions, bad input."""

from __future__ import annotations

import copy
import importlib
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import topwise as tw
from topwise import baselines
from topwise.evaluation import write_run
from topwise.models import NotFittedError
from topwise.testing import assert_same_answer, checkerboard

BY_ID = {
    "popularity": baselines.Popularity(),
    "svd": baselines.SVD(4),
    "svd-log-odds": baselines.SVD(4, columns="log_odds", values="log"),
    "nmf": baselines.NMF(4, iterations=400),
    "ease": baselines.EASE(5.0),
    "ease-dual": baselines.EASE(5.0, form="dual"),
    "ials": baselines.IALS(4, regularization=0.1, threads=1),
    "bpr": baselines.BPR(4, 0.1, epochs=200, threads=1),
}
BY_CONTENT = {
    "means": baselines.NearestMeans(),
    "means-cosine": baselines.NearestMeans("cosine"),
    "one-vs-rest": baselines.OneVsRest(epochs=40),
    "one-vs-rest-hinge": baselines.OneVsRest(epochs=40, loss="hinge", block=7),
    "one-vs-rest-equal": baselines.OneVsRest("equal", epochs=20),
    "rank-svm": baselines.MulticlassRankSVM(epochs=40),
    "rank-svm-hardest": baselines.MulticlassRankSVM("hardest", epochs=40),
}
BY_WORDS = {
    "cosine": baselines.Cosine(),
    "tfidf": baselines.TFIDF(),
    "lsi": baselines.LSI(2, weighting="none"),
    "lsi-tfidf": baselines.LSITFIDF(2, 0.3),
    "pair-svm": baselines.PairRankSVM(),
    "hash-kernel": baselines.HashKernel(8, epochs=3),
    "psi-2": baselines.PSI(2, 4, epochs=5, max_norm=0.7, threads=1),
    "psi-3": baselines.PSI(3, 4, epochs=5, max_norm=0.7, cubic_epochs=3, threads=1),
}
EVERY = {**BY_ID, **BY_CONTENT, **BY_WORDS}


def parity(ids: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Even or odd, and a constant."""
    numbers = np.array([int(str(id_).lstrip("ui")) for id_ in ids])
    return np.stack([numbers % 2 == 0, numbers % 2 == 1, numbers >= 0], axis=1).astype(float)


def features_of(model: Any, log: tw.Events) -> dict[str, tw.Features]:
    """Of users and items, as far as a baseline has a use for them."""
    roles = [role for role, side in (("user", "context"), ("item", "item")) if side in model.uses]
    return {
        f"{role}_features": tw.Features.from_matrix(
            log.vocabulary(role).ids, parity(log.vocabulary(role).ids)
        )
        for role in roles
    }


def fitted(name: str, log: tw.Events | None = None) -> Any:
    """A baseline, fitted with the checkerboard; each once, for the checks that only read it."""
    if log is not None:
        return EVERY[name].clone().fit(log, **features_of(EVERY[name], log))
    if name not in _FITTED:
        _FITTED[name] = fitted(name, checkerboard()[0])
    return _FITTED[name]


_FITTED: dict[str, Any] = {}

every = pytest.mark.parametrize("name", EVERY)


def test_every_public_baseline_is_here() -> None:
    kinds = {type(model).__name__ for model in EVERY.values()} | {"Mix"}  # a test of its own: it needs pairs
    # Rankers of judgments have a contract of their own.
    of_logs = {
        name for name in baselines.__all__ if issubclass(getattr(baselines, name), baseline_base().Baseline)
    }
    assert kinds == of_logs


def baseline_base() -> Any:
    return importlib.import_module("topwise.baselines.base")


# The same list for everybody cannot know a user's tastes.
@pytest.mark.parametrize("name", [name for name in EVERY if name != "popularity"])
def test_the_held_out_item_comes_first(name: str) -> None:
    train, held_out = checkerboard()
    ids, _ = fitted(name).recommend(users=held_out.ids("user"), k=1, exclude=train)
    np.testing.assert_array_equal(ids[:, 0], held_out.ids("item"))
    report = tw.evaluate(fitted(name), held_out, metrics=["hit@1", "mean_rank", "auc"], exclude=train)
    assert report["hit@1"] == report["mean_rank"] == report["auc"] == 1


@every
def test_recommendations_are_the_best_scores(name: str) -> None:
    model, (train, _) = fitted(name), checkerboard()
    users = train.vocabulary("user").ids.tolist()
    scores = model.score_block(users=users)
    assert scores.shape == (20, 20)
    assert scores.dtype == np.float32
    ids, found = model.recommend(users=users, k=20)
    codes = model.item_vocabulary.codes(ids.ravel()).reshape(ids.shape)
    np.testing.assert_allclose(np.take_along_axis(scores, codes, axis=1), found, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(-np.sort(-scores, axis=1), found, rtol=1e-4, atol=1e-5)
    for row, user in enumerate(users):
        single = model.recommend(users=user, k=20)
        assert single[0].shape == single[1].shape == (20,)
        np.testing.assert_allclose(single[1], found[row], rtol=1e-4, atol=1e-5)
    if model.scores_by_product:
        products = model.context_vectors(users=users) @ model.item_vectors().T
        np.testing.assert_allclose(products, scores, rtol=1e-4, atol=1e-5)


@every
def test_excluded_items_and_candidates(name: str) -> None:
    model, (train, _) = fitted(name), checkerboard()
    users = train.vocabulary("user").ids
    ids, scores = model.recommend(users=users, k=100, exclude=train)
    known = set(zip(train.ids("user").tolist(), train.ids("item").tolist(), strict=True))
    assert ids.shape == (20, 20)
    for row, user in enumerate(users.tolist()):
        shown = ids[row][np.isfinite(scores[row])].tolist()
        assert len(shown) == len(set(shown)) == 20 - sum(u == user for u, _ in known)
        assert not any((user, item) in known for item in shown)
        assert all(id_ is None for id_ in ids[row][np.isneginf(scores[row])])
    candidates = model.item_vocabulary.ids[[5, 2, 9]]
    some, _ = model.recommend(users=users, k=5, items=candidates)
    assert some.shape == (20, 3)
    assert all(set(row) == set(candidates) for row in some.tolist())
    with pytest.raises(ValueError, match="does not know the item 'no such item'"):
        model.recommend(users=users, items=["no such item"])
    with pytest.raises(ValueError, match="k must be at least 1, got 0"):
        model.recommend(users=users, k=0)
    with pytest.raises(TypeError, match="exclude must be a log of events, got list"):
        model.recommend(users=users, exclude=[("u0", "i0")])


@every
def test_unknown_users_and_items(name: str) -> None:
    model, (train, held_out) = fitted(name), checkerboard()
    users = train.vocabulary("user").ids.tolist()
    scores = model.score_block(users=["nobody", users[3], "no one"])
    assert np.isfinite(scores).all()
    np.testing.assert_array_equal(scores[0], scores[2])
    np.testing.assert_allclose(scores[1], model.score_block(users=users)[3], rtol=1e-5, atol=1e-6)
    assert len(set(model.recommend(users="nobody", k=20)[0])) == 20
    foreign = tw.Events.from_arrays(item=["i3", "new item", "i0"], user=["nobody", "u0", "u0"])
    report = tw.evaluate(model, foreign, metrics=["recall@20"])
    assert (report.unseen_contexts, report.unseen_items) == (1, 1)
    np.testing.assert_allclose(report["recall@20"], (1 + 0.5) / 2)
    mixed = tw.evaluate(model, held_out, metrics=["auc"], exclude=[train, foreign])
    assert np.isfinite(mixed["auc"])


@every
def test_users_without_events_are_like_unknown_ones(name: str) -> None:
    train, _ = checkerboard()
    some = train.take(train.ids("user") != "u4")
    model = fitted(name, some)
    scores = model.score_block(users=["u4", "nobody", "u6"])
    assert np.isfinite(scores).all()
    if "context" in model.uses:  # their content is known all the same
        np.testing.assert_allclose(scores[0], scores[2], rtol=1e-4, atol=1e-5)
    else:
        np.testing.assert_array_equal(scores[0], scores[1])


@every
def test_events_of_no_weight_teach_nothing(name: str) -> None:
    train, held_out = checkerboard()
    noise = np.random.default_rng(0).integers(0, 20, (60, 2))
    users = train.ids("user").tolist() + [f"u{u}" for u, _ in noise]
    items = train.ids("item").tolist() + [f"i{i}" for _, i in noise]
    weight = [1.0] * len(train) + [0.0] * len(noise)
    model = fitted(name, tw.Events.from_arrays(item=items, user=users, weight=weight))
    asked = held_out.ids("user")
    np.testing.assert_allclose(
        model.score_block(users=asked), fitted(name).score_block(users=asked), rtol=1e-4, atol=1e-5
    )


@every
def test_the_same_seed_gives_the_same_and_ids_may_be_ints(name: str) -> None:
    answers = []
    for text in (True, True, False):
        train, held_out = checkerboard(text=text)
        answers.append(fitted(name, train).score_block(users=held_out.ids("user")))
    np.testing.assert_array_equal(answers[0], answers[1])
    np.testing.assert_allclose(answers[0], answers[2], rtol=1e-5, atol=1e-6)


@every
def test_copies_answer_the_same(name: str) -> None:
    model, users = fitted(name), ["u1", "nobody"]
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert_same_answer(twin.recommend(users=users, k=4), model.recommend(users=users, k=4))


@every
def test_before_fitting_and_after_a_fit_that_failed(name: str) -> None:
    train, held_out = checkerboard()
    unfitted, failed = EVERY[name].clone(), fitted(name, train)
    only_zeros = tw.Events.from_arrays(item=["a", "b"], user=["x", "y"], weight=[0, 0])
    with pytest.raises(ValueError, match="at least one event with a weight above 0"):
        failed.fit(only_zeros, **features_of(failed, train))
    failed.fit(train, **features_of(failed, train))
    failed.set_params(context="nobody")
    with pytest.raises(ValueError, match="context must be one of 'user', 'query', got 'nobody'"):
        failed.fit(train)
    for use in (
        lambda: unfitted.recommend(users="u0"),
        lambda: unfitted.score_block(users="u0"),
        lambda: unfitted.item_vocabulary,
        lambda: tw.evaluate(unfitted, held_out),
    ):
        with pytest.raises(NotFittedError, match=f"this {type(unfitted).__name__} is not fitted yet"):
            use()


@every
def test_logs_and_features_that_cannot_be_fitted(name: str) -> None:
    train, _ = checkerboard()
    model = EVERY[name].clone()
    given = features_of(model, train)
    with pytest.raises(ValueError, match="train must have at least one event, got an empty log"):
        model.fit(train.take([]), **given)
    for wrong in ([("a", "b")], None):
        with pytest.raises(TypeError, match=r"train must be a log of events \(tw.Events\), got"):
            model.fit(wrong, **given)
    with pytest.raises(TypeError, match=r"validation must be a log of events \(tw.Events\), got list"):
        model.fit(train, [("a", "b")], **given)
    with pytest.raises(TypeError, match=r"user_features must be tw\.Features, got list"):
        model.fit(train, **{**given, "user_features": [1]})
    with pytest.raises(ValueError, match="train must have the role 'query' for context='query'"):
        model.clone().set_params(context="query").fit(train, **given)
    users = tw.Features.from_matrix(train.vocabulary("user").ids, parity(train.vocabulary("user").ids))
    narrow = tw.Features.from_matrix(["i0"], [[1.0]])
    if "context" not in model.uses:
        with pytest.raises(ValueError, match="has no use for features of users: leave user_features out"):
            model.fit(train, user_features=users)
    else:
        with pytest.raises(ValueError, match="needs the features of its users: pass user_features="):
            model.fit(train, **{**given, "user_features": None})
        with pytest.raises(ValueError, match=r"contexts of this .* are of the role 'user'"):
            model.fit(train, **given, query_features=users)
    if "item" in model.uses:
        with pytest.raises(ValueError, match="both need the same columns, got 3 and 1"):
            model.fit(train, **{**given, "item_features": narrow})
    else:
        with pytest.raises(ValueError, match="has no use for features of items"):
            model.fit(train, **given, item_features=narrow)


@every
def test_parameters_are_got_set_and_cloned(name: str) -> None:
    sklearn = pytest.importorskip("sklearn.base")
    model = EVERY[name]
    assert sklearn.clone(model).get_params() == model.clone().get_params() == model.get_params()
    assert repr(model).startswith(f"{type(model).__name__}(")
    with pytest.raises(ValueError, match="has no parameter 'size'"):
        model.clone().set_params(size=3)
    if "seed" in model.get_params():
        with pytest.raises(ValueError, match="seed must be at least 0, got -1"):
            model.clone().set_params(seed=-1).fit(checkerboard()[0])


@pytest.mark.parametrize("name", [*BY_CONTENT, *BY_WORDS])
def test_rows_of_features_in_place_of_ids(name: str) -> None:
    model, users = fitted(name), np.array(["u3", "u8"])
    assert_same_answer(model.recommend(features=parity(users), k=4), model.recommend(users=users, k=4))
    one = model.recommend(features=parity(users)[1], k=4)
    assert_same_answer(one, model.recommend(users="u8", k=4))
    with pytest.raises(ValueError, match="features must have the 3 columns of fitting, got 2"):
        model.recommend(features=np.ones((1, 2)))
    with pytest.raises(ValueError, match="by ids or by features=, not by both"):
        model.recommend(users=users, features=parity(users))


@pytest.mark.parametrize("name", BY_ID)
def test_baselines_by_id_say_so(name: str) -> None:
    with pytest.raises(ValueError, match="knows its contexts by their ids"):
        fitted(name).recommend(features=np.ones((1, 3)))
    with pytest.raises(ValueError, match="recommends for contexts by their ids: pass users="):
        fitted(name).recommend(queries=["u0"])


@pytest.mark.parametrize("name", ["svd", "ease", "cosine"])
def test_runs_are_written_with_vectors_and_without(name: str, tmp_path: Path) -> None:
    train, _ = checkerboard()
    write_run(fitted(name), tmp_path / "run.txt", users=["u2", "u5"], k=3, exclude=train)
    lines = [line.split() for line in (tmp_path / "run.txt").read_text().splitlines()]
    best, _ = fitted(name).recommend(users=["u2", "u5"], k=3, exclude=train)
    expected = [
        (user, best[row, place], str(place + 1))
        for row, user in enumerate(("u2", "u5"))
        for place in range(3)
    ]
    assert [(user, item, rank) for user, _, item, rank, _, _ in lines] == expected
    assert best[:, 0].tolist() == ["i2", "i5"]


def test_a_missing_library_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(vars(baselines), "SVD", raising=False)
    real = importlib.import_module

    def without(name: str, *rest: Any) -> Any:
        if name == "topwise.baselines.svd":
            raise ModuleNotFoundError("No module named 'scipy'", name="scipy.sparse")
        return real(name, *rest)

    monkeypatch.setattr(baselines.importlib, "import_module", without)
    with pytest.raises(ImportError, match=r"SVD needs scipy: pip install 'topwise\[baselines\]'"):
        _ = baselines.SVD
    monkeypatch.undo()
    with pytest.raises(AttributeError, match="has no attribute 'KNN'"):
        _ = baselines.KNN
