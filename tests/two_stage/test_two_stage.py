"""TwoStage: what it may see, what it answers, that it helps, and its file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from worlds import N_ITEMS, Watched, first, make_log, second

import topwise as tw
from topwise.models import NotFittedError
from topwise.two_stage import FEATURES, Pairs

LOG = make_log()
TRAIN, TEST = tw.split.by_fraction(LOG, 0.3, seed=1)
NUMBERS = tw.Features.from_matrix(
    [f"i{n}" for n in range(N_ITEMS)], np.eye(6)[np.arange(N_ITEMS) % 6], identity=False
)


def make(**params: Any) -> tw.TwoStage:
    return tw.TwoStage(**{"first": first(), "second": second(), "candidates": 30, "threads": 1, **params})


@pytest.fixture(scope="module")
def fitted() -> tw.TwoStage:
    return make(others=[tw.ItemBag(dim=4, epochs=5, max_norm=0.7, threads=1)]).fit(
        TRAIN, item_features=NUMBERS, progress=False
    )


# --- what it learns from ----------------------------------------------------------------------------------


def pairs_of(log: tw.Events) -> set[tuple[Any, Any]]:
    return set(zip(log.ids("user").tolist(), log.ids("item").tolist(), strict=True))


def test_the_first_stage_never_sees_what_the_second_is_judged_by(monkeypatch: pytest.MonkeyPatch) -> None:
    from topwise.two_stage import model as module

    judged_by = []
    original = module.judged_candidates

    def watch(maker: Any, held: tw.Events, seen: tw.Events, *rest: Any) -> tw.Judgments:
        judged = original(maker, held, seen, *rest)
        judged_by.append((held, seen, judged))
        assert maker.knowledge.count.sum() == len(seen), "features know the first part alone"
        return judged

    monkeypatch.setattr(module, "judged_candidates", watch)
    for split, parts in (("random", 1), ("folds", 3)):
        Watched.seen, judged_by[:] = [], []
        make(first=Watched(**first().get_params()), split=split, folds=3).fit(TRAIN, progress=False)
        assert len(Watched.seen) == parts + 1
        assert len(judged_by) == parts
        for log, (held, seen, judged) in zip(Watched.seen, judged_by, strict=False):
            assert log is seen
            assert not pairs_of(held) & pairs_of(seen)
            positive = judged.labels == 1
            qids = judged.qids[judged.query_of_rows()]
            assert judged.docids is not None
            shown = set(zip(qids.tolist(), judged.docids.tolist(), strict=True))
            labelled = set(zip(qids[positive].tolist(), judged.docids[positive].tolist(), strict=True))
            assert labelled == pairs_of(held) & shown
            assert not shown & pairs_of(seen), "known items are no candidates"
        assert pairs_of(Watched.seen[-1]) == pairs_of(TRAIN), "in the end it learns from everything"


def test_a_log_with_times_is_parted_by_time() -> None:
    log = make_log(times=True)
    Watched.seen = []
    make(first=Watched(**first().get_params()), holdout=0.25).fit(log, progress=False)
    early, whole = Watched.seen
    assert len(whole) == len(log)
    assert early.time is not None
    assert whole.time is not None
    assert len(early) == 0.75 * len(log)
    assert early.time.max() < np.sort(whole.time)[len(early)]


def test_without_refit_the_first_stage_stays() -> None:
    Watched.seen = []
    model = make(first=Watched(**first().get_params()), refit=False).fit(TRAIN, progress=False)
    assert len(Watched.seen) == 1
    assert model.knowledge_.count.sum() == len(Watched.seen[0])


def test_validation_is_on_candidates_of_the_final_first_stage() -> None:
    train, validation = tw.split.by_fraction(TRAIN, 0.3, seed=2)
    model = make().fit(train, validation, progress=False)
    assert tw.evaluate(model, TEST, exclude=[train, validation])["ndcg@10"] > 0


# --- that it helps ----------------------------------------------------------------------------------------


def test_a_feature_that_knows_better_is_used() -> None:
    wanted = pairs_of(LOG)

    def oracle(pairs: Pairs) -> Any:
        asked = zip(pairs.contexts["user"].tolist(), pairs.items.tolist(), strict=True)
        return np.array([float(pair in wanted) for pair in asked])

    model = make(function=oracle).fit(TRAIN, progress=False)
    alone = tw.evaluate(model.first_, TEST, metrics=["ndcg@5"], exclude=TRAIN)["ndcg@5"]
    both = tw.evaluate(model, TEST, metrics=["ndcg@5"], exclude=TRAIN)["ndcg@5"]
    assert alone < 0.6
    assert both > 0.95


def test_what_is_no_candidate_follows_in_the_order_of_the_first_stage() -> None:
    model = make(candidates=5).fit(TRAIN, progress=False)
    users = [f"u{n}" for n in range(9)]
    ends = np.argsort(-model.score_block(users=users), axis=1, kind="stable")
    alone = np.argsort(-model.first_.score_block(users=users), axis=1, kind="stable")
    np.testing.assert_array_equal(ends[:, 5:], alone[:, 5:])
    np.testing.assert_array_equal(np.sort(ends[:, :5]), np.sort(alone[:, :5]))
    assert (ends[:, :5] != alone[:, :5]).any()


# --- what it answers --------------------------------------------------------------------------------------


def test_recommendations_are_in_the_order_of_evaluation(fitted: tw.TwoStage) -> None:
    users = [f"u{n}" for n in range(5)]
    ids, scores = fitted.recommend(users=users, k=8, exclude=TRAIN)
    assert ids.shape == scores.shape == (5, 8)
    assert (np.diff(scores, axis=1) <= 0).all()
    known = pairs_of(TRAIN)
    assert not any((user, item) in known for user, row in zip(users, ids, strict=True) for item in row)
    single, its_scores = fitted.recommend(users="u2", k=8, exclude=TRAIN)
    np.testing.assert_array_equal(single, ids[2])
    np.testing.assert_allclose(its_scores, scores[2])
    from topwise.two_stage.candidates import excluded_rows

    excluded = excluded_rows(fitted, {"user": np.array(users, dtype=object)}, TRAIN)
    board = fitted.score_block(users=users, excluded=excluded)
    board[excluded.row_of_entries(), excluded.indices] = -np.inf
    for row in range(5):
        best = fitted.item_vocabulary.ids[np.argsort(-board[row], kind="stable")[:8]]
        np.testing.assert_array_equal(best, ids[row])


def test_features_can_be_looked_at(fitted: tw.TwoStage) -> None:
    rows = fitted.features_of(users=["u0", "u1"], exclude=TRAIN)
    assert rows.feature_names == fitted.feature_names_
    assert rows.n_queries == 2
    assert {"score", "rank", "popularity", "activity", "near_mean", "content", "model0"} <= set(
        fitted.feature_names_
    )
    column = rows.dense()[:, fitted.feature_names_.index("popularity")]
    counts = np.bincount(TRAIN.item, minlength=TRAIN.n("item"))
    assert rows.docids is not None
    np.testing.assert_allclose(
        column, np.log1p(counts[TRAIN.vocabulary("item").codes(rows.docids)]), rtol=1e-6
    )


def test_features_of_pairs_by_hand(fitted: tw.TwoStage) -> None:
    rows = fitted.features_of(users=["u3"], exclude=TRAIN)
    names = fitted.feature_names_
    items = fitted.first_.item_vocabulary
    own = TRAIN.ids("item")[TRAIN.ids("user") == "u3"]
    vectors = fitted.first_.item_vectors()
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert rows.docids is not None
    cosines = unit[items.codes(rows.docids)] @ unit[items.codes(own)].T
    dense = dict(zip(names, rows.dense().T, strict=True))
    np.testing.assert_allclose(dense["near_mean"], cosines.mean(axis=1), atol=1e-5)
    np.testing.assert_allclose(dense["near_best"], cosines.max(axis=1), atol=1e-5)
    content = np.eye(6)[[int(item[1:]) % 6 for item in own]].sum(axis=0)
    wanted = content[[int(item[1:]) % 6 for item in rows.docids]] / np.linalg.norm(content)
    np.testing.assert_allclose(dense["content"], wanted, atol=1e-5)
    bag = fitted.others_[0]
    scores = bag.score_block(users=["u3"])[0][bag.item_vocabulary.codes(rows.docids)]
    np.testing.assert_allclose(dense["model0"], scores, atol=1e-5)
    np.testing.assert_array_equal(dense["model0_rank"], np.argsort(np.argsort(-dense["model0"])) + 1)
    np.testing.assert_array_equal(dense["rank"], np.arange(1, len(rows) + 1))


def test_unknown_users_get_an_answer(fitted: tw.TwoStage) -> None:
    ids, scores = fitted.recommend(users="nobody", k=3)
    assert len(ids) == 3
    assert np.isfinite(scores).all()


def test_written_as_a_run(fitted: tw.TwoStage, tmp_path: Path) -> None:
    tw.evaluation.write_run(fitted, tmp_path / "run.txt", users=["u0", "u1"], k=5, exclude=TRAIN)
    lines = [line.split() for line in (tmp_path / "run.txt").read_text().splitlines()]
    ids, _ = fitted.recommend(users=["u0", "u1"], k=5, exclude=TRAIN)
    assert [line[2] for line in lines] == ids.ravel().tolist()


# --- files ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["RankSVM", "LambdaMART"])
def test_files(kind: str, tmp_path: Path) -> None:
    ranker = tw.baselines.RankSVM(C=1.0) if kind == "RankSVM" else second()
    model = make(second=ranker, others=[tw.ItemBag(dim=4, epochs=3, max_norm=0.7, threads=1)])
    model.fit(make_log(times=True), item_features=NUMBERS, progress=False)
    model.save(tmp_path / "model.safetensors")
    loaded = tw.load(tmp_path / "model.safetensors")
    assert isinstance(loaded, tw.TwoStage)
    users = ["u0", "u5", "nobody"]
    for ours, theirs in zip(loaded.recommend(users=users), model.recommend(users=users), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert loaded.candidates == 30
    assert type(loaded.second_) is type(ranker)
    loaded.fit(TRAIN, progress=False)  # its parts serve as models to fit anew


def test_a_function_is_given_again_after_loading(tmp_path: Path) -> None:
    def length(pairs: Pairs) -> Any:
        return np.array([len(item) for item in pairs.items.tolist()], dtype=float)

    model = make(function=length).fit(TRAIN, progress=False)
    model.save(tmp_path / "model.safetensors")
    loaded = tw.load(tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match=r"give it again by model.set_params\(function=...\)"):
        loaded.recommend(users="u0")
    loaded.set_params(function=length)
    np.testing.assert_array_equal(loaded.recommend(users="u0")[0], model.recommend(users="u0")[0])


# --- errors -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"candidates": 1}, "candidates must be at least 2, got 1"),
        ({"split": "weeks"}, "split must be one of 'auto', 'time', 'random', 'folds', got 'weeks'"),
        ({"folds": 1}, "folds must be at least 2, got 1"),
        ({"holdout": 1.5}, "holdout must be a share between 0 and 1, got 1.5"),
        ({"features": ["scores"]}, "features must be one of 'score'"),
        ({"function": lambda pairs: np.zeros(3)}, "must return a row for each of"),
        ({"function": lambda pairs: np.full(len(pairs), np.nan)}, "function must return finite numbers"),
        ({"features": []}, "there are no features"),
    ],
)
def test_bad_parameters(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(**params).fit(TRAIN, progress=False)


def test_bad_input(fitted: tw.TwoStage) -> None:
    with pytest.raises(TypeError, match="second must be a ranker of judgments, got MatrixFactorization"):
        make(second=first()).fit(TRAIN)
    with pytest.raises(TypeError, match="first and others must be embedding models or runs, got str"):
        make(first="mf").fit(TRAIN)
    with pytest.raises(TypeError, match="train must be a log of events"):
        make().fit([1])  # type: ignore[arg-type]
    with pytest.raises(NotFittedError):
        make().recommend(users="u0")
    with pytest.raises(NotFittedError):
        tw.evaluate(make(), TEST)
    with pytest.raises(ValueError, match="this model ranks for users: pass users="):
        fitted.recommend(queries=["u0"])
    with pytest.raises(ValueError, match="k must be at most the 30 candidates of fitting, got 31"):
        fitted.recommend(users="u0", k=31)
    with pytest.raises(ValueError, match="by_time needs a log with times"):
        make(split="time").fit(TRAIN, progress=False)


def test_every_feature_has_a_word() -> None:
    assert all(maker.__doc__ for maker in FEATURES.values())
