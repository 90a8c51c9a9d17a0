"""The tests that every model passes, for models of your own too. Needs pytest.

Subclass `ModelContract` in a test file and say how to make the model::

    from topwise.testing import ModelContract

    class TestMyModel(ModelContract):
        def make_model(self, **params):
            small = {"dim": 4, "epochs": 15, "learning_rate": 0.3, "max_norm": 0.7, "threads": 1}
            return MyModel(**small | params)

pytest then runs every check on it. Models that need features override `features` as well.
"""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest

import topwise as tw
from topwise.data import Events
from topwise.models import Embedding, ModelFileError, NotFittedError

__all__ = ["ModelContract", "checkerboard"]

Answer: TypeAlias = tuple[npt.NDArray[Any], npt.NDArray[np.float32]]


def checkerboard(size: int = 20, text: bool = True) -> tuple[Events, Events]:
    """Users who like every second item, even users the even ones; and the diagonal, which is held out.

    A model that learned the pattern puts the held-out item first: all others that suit the user are known.
    """
    user, item = np.divmod(np.arange(size * size), size)
    liked, diagonal = (user + item) % 2 == 0, user == item

    def log(chosen: npt.NDArray[np.bool_]) -> Events:
        users, items = user[chosen].tolist(), item[chosen].tolist()
        if text:
            return Events.from_arrays(item=[f"i{i}" for i in items], user=[f"u{u}" for u in users])
        return Events.from_arrays(item=items, user=users)

    return log(liked & ~diagonal), log(diagonal)


class ModelContract:
    """What holds of every model. `make_model` is all that a subclass must define."""

    size = 20
    """Users and items of the checkerboard."""

    folds_users = True
    """Whether `fold_in` can learn new users; models whose users are their features alone cannot."""

    _fitted: ClassVar[Embedding]

    def make_model(self, **params: Any) -> Embedding:
        """An unfitted model, some of its parameters replaced by those given; small, and with threads=1."""
        raise NotImplementedError("a subclass of ModelContract must define make_model(**params)")

    def make_log(self) -> tuple[Events, Events]:
        """A training log and the held-out events, one a user, that a fitted model must rank first."""
        train, held_out = checkerboard(self.size)
        return self.log_of(train), self.log_of(held_out)

    def log_of(self, log: Events) -> Events:
        """A log of users and items as the model wants it; a model of pairs adds the users' queries."""
        return log

    def features(self, log: Events) -> dict[str, Any]:
        """What the model is fitted with beside the log: user_features, item_features."""
        return {}

    def asked(self, users: Any) -> dict[str, Any]:
        """How these users (a list, or a single one) are asked for; a model of pairs adds their queries."""
        return {"users": users}

    # --- what the checks share ----------------------------------------------------------------------------

    def fit(self, log: Events, model: Embedding | None = None, **params: Any) -> Embedding:
        """A fitted model."""
        model = self.make_model(**params) if model is None else model
        return model.fit(log, **self.features(log), progress=False)

    @pytest.fixture
    def fitted(self) -> Embedding:
        """One fitted model for all checks that only read it."""
        kind = type(self)
        if "_fitted" not in vars(kind):
            kind._fitted = self.fit(self.make_log()[0])
        return kind._fitted

    @pytest.fixture
    def users(self) -> list[Any]:
        """The users of the log."""
        users: list[Any] = self.make_log()[0].vocabulary("user").ids.tolist()
        return users

    # --- ranking ------------------------------------------------------------------------------------------

    def test_the_held_out_item_comes_first(self, fitted: Embedding) -> None:
        train, held_out = self.make_log()
        ids, _ = fitted.recommend(**self.asked(held_out.ids("user")), k=1, exclude=train)
        np.testing.assert_array_equal(ids[:, 0], held_out.ids("item"))

    def test_evaluate_agrees(self, fitted: Embedding) -> None:
        train, held_out = self.make_log()
        report = tw.evaluate(fitted, held_out, metrics=["hit@1", "mean_rank", "auc"], exclude=train)
        assert report["hit@1"] == report["mean_rank"] == report["auc"] == 1

    def test_a_batch_equals_its_users_one_by_one(self, fitted: Embedding, users: list[Any]) -> None:
        train, _ = self.make_log()
        batch = fitted.recommend(**self.asked(users), k=7, exclude=train)
        assert batch[0].shape == batch[1].shape == (len(users), 7)
        for row, user in enumerate(users):
            single = fitted.recommend(**self.asked(user), k=7, exclude=train)
            assert single[0].shape == single[1].shape == (7,)
            assert_same_answer(single, (batch[0][row], batch[1][row]))

    def test_scores_are_those_of_the_vectors(self, fitted: Embedding, users: list[Any]) -> None:
        if not fitted.scores_by_product:
            pytest.skip("this model's scores are no products of vectors")
        products = fitted.context_vectors(**self.asked(users)) @ fitted.item_vectors().T
        ids, scores = fitted.recommend(**self.asked(users), k=5)
        codes = fitted.item_vocabulary.codes(ids.ravel()).reshape(ids.shape)
        np.testing.assert_allclose(np.take_along_axis(products, codes, axis=1), scores, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(-np.sort(-products, axis=1)[:, :5], scores, rtol=1e-4, atol=1e-5)

    def test_excluded_items_are_left_out(self, fitted: Embedding, users: list[Any]) -> None:
        train, _ = self.make_log()
        ids, scores = fitted.recommend(**self.asked(users), k=len(fitted.item_vocabulary), exclude=train)
        known = set(zip(train.ids("user").tolist(), train.ids("item").tolist(), strict=True))
        for row, user in enumerate(users):
            shown = [item for item, score in zip(ids[row], scores[row], strict=True) if np.isfinite(score)]
            assert len(shown) == len(fitted.item_vocabulary) - sum(u == user for u, _ in known)
            assert not any((user, item) in known for item in shown)

    def test_only_candidates_are_shown(self, fitted: Embedding, users: list[Any]) -> None:
        candidates = fitted.item_vocabulary.ids[[5, 2, 9]]
        ids, scores = fitted.recommend(**self.asked(users), k=3, items=candidates)
        everything, all_scores = fitted.recommend(**self.asked(users), k=len(fitted.item_vocabulary))
        for row in range(len(users)):
            among = np.isin(everything[row], candidates)
            np.testing.assert_array_equal(ids[row], everything[row][among])
            np.testing.assert_allclose(scores[row], all_scores[row][among], rtol=1e-5, atol=1e-6)
        with pytest.raises(ValueError, match="does not know the item 'no such item'"):
            fitted.recommend(**self.asked(users), items=["no such item"])

    def test_more_than_there_is(self, fitted: Embedding, users: list[Any]) -> None:
        train, _ = self.make_log()
        catalogue = len(fitted.item_vocabulary)
        ids, scores = fitted.recommend(**self.asked(users[:3]), k=10 * catalogue, exclude=train)
        assert ids.shape[1] <= catalogue
        ended = np.isneginf(scores)
        assert ended.any(), "known items are left out, so rows must end early"
        assert all(id_ is None or id_ == -1 for id_ in ids[ended].tolist())
        assert (np.diff(ended.astype(int), axis=1) >= 0).all(), "what is missing comes last"
        with pytest.raises(ValueError, match="k must be at least 1, got 0"):
            fitted.recommend(**self.asked(users), k=0)

    def test_equal_scores_stand_in_order_of_the_catalogue(
        self, fitted: Embedding, users: list[Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tied = copy.deepcopy(fitted)
        coarse = np.round(tied.item_vectors())
        monkeypatch.setattr(tied, "item_vectors", lambda: coarse)
        ids, scores = tied.recommend(**self.asked(users), k=len(tied.item_vocabulary))
        codes = tied.item_vocabulary.codes(ids.ravel()).reshape(ids.shape)
        equal = np.diff(scores, axis=1) == 0
        assert equal.any()
        assert (np.diff(codes, axis=1)[equal] > 0).all()

    def test_unknown_users_get_what_suits_the_mean_user(self, fitted: Embedding, users: list[Any]) -> None:
        ids, scores = fitted.recommend(**self.asked(["nobody", users[0], "no one"]), k=5)
        assert np.isfinite(scores).all()
        assert_same_answer((ids[0], scores[0]), (ids[2], scores[2]))
        assert_same_answer((ids[1], scores[1]), fitted.recommend(**self.asked(users[0]), k=5))
        mean = fitted.context_vectors(**self.asked(users)).mean(axis=0)
        np.testing.assert_allclose(
            fitted.context_vectors(**self.asked("nobody"))[0], mean, rtol=1e-4, atol=1e-5
        )

    def test_neighbors_are_others_in_order(self, fitted: Embedding) -> None:
        items = fitted.item_vocabulary.ids
        for metric in ("cosine", "dot"):
            ids, scores = fitted.neighbors(items=items, k=4, metric=metric)
            assert (ids != items[:, None]).all()
            assert (np.diff(scores, axis=1) <= 0).all()
            assert_same_answer(fitted.neighbors(items=items[3], k=4, metric=metric), (ids[3], scores[3]))
        assert np.abs(fitted.neighbors(items=items, k=4)[1]).max() <= 1 + 1e-5
        with pytest.raises(ValueError, match="does not know the item 'no such item'"):
            fitted.neighbors(items="no such item")
        with pytest.raises(ValueError, match="metric must be one of 'cosine', 'dot', got 'l2'"):
            fitted.neighbors(items=items, metric="l2")

    def test_neighbors_of_users(self, fitted: Embedding, users: list[Any]) -> None:
        ids, _ = fitted.neighbors(users=users, k=3)
        assert (ids != np.array(users)[:, None]).all()
        with pytest.raises(ValueError, match="pass one of them"):
            fitted.neighbors()

    # --- fitting ------------------------------------------------------------------------------------------

    def test_the_same_seed_gives_the_same_model(self, users: list[Any]) -> None:
        train, _ = self.make_log()
        first, second, other = (self.fit(train, seed=seed) for seed in (3, 3, 4))
        assert_same_vectors(first, second)
        assert not np.array_equal(first.item_vectors(), other.item_vectors())

    def test_fitting_again_begins_anew(self, fitted: Embedding) -> None:
        train, held_out = self.make_log()
        model = self.fit(held_out)
        self.fit(train, model)
        self.fit(train, model)
        assert_same_vectors(model, fitted)
        assert_same_answer(*(m.recommend(**self.asked(train.ids("user")[0]), k=5) for m in (model, fitted)))

    def test_two_threads_learn_as_well(self) -> None:
        train, held_out = self.make_log()
        model = self.fit(train, threads=2)
        report = tw.evaluate(model, held_out, metrics=["hit@1"], exclude=train)
        assert report["hit@1"] > 0.9

    def test_ids_may_be_ints_or_text(self) -> None:
        answers = []
        for text in (False, True):
            train, held_out = map(self.log_of, checkerboard(self.size, text))
            model = self.fit(train)
            answers.append(model.recommend(**self.asked(held_out.ids("user")), k=3, exclude=train))
            assert (answers[-1][0][:, 0] == held_out.ids("item")).all()
        np.testing.assert_array_equal([f"i{i}" for i in answers[0][0].ravel()], answers[1][0].ravel())
        np.testing.assert_allclose(answers[0][1], answers[1][1], rtol=1e-6)

    def test_logs_that_cannot_be_fitted(self) -> None:
        train, _ = self.make_log()
        with pytest.raises(ValueError, match="train must have at least one event, got an empty log"):
            self.make_model().fit(train.take([]), **self.features(train))
        for wrong in ([("a", "b")], np.zeros((3, 3)), None):
            with pytest.raises(TypeError, match=r"train must be a log of events \(tw.Events\), got"):
                self.make_model().fit(wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=r"item_features must be tw\.Features, got list"):
            self.make_model().fit(train, **{**self.features(train), "item_features": [1, 2]})

    @pytest.mark.parametrize(
        ("params", "message"),
        [
            ({"dim": 0}, "dim must be at least 1, got 0"),
            ({"epochs": 0}, "epochs must be at least 1, got 0"),
            ({"learning_rate": 0}, "learning_rate must be above 0 and finite, got 0"),
            ({"learning_rate": float("nan")}, "learning_rate must be above 0 and finite, got nan"),
            ({"max_norm": -1.0}, "max_norm must be above 0 and finite, got -1"),
            ({"max_norm": "big"}, "max_norm must be one of 'auto', got 'big'"),
            ({"optimizer": "adam"}, "optimizer must be one of 'adagrad', 'sgd', got 'adam'"),
            ({"schedule": "step"}, "schedule must be one of .*, got 'step'"),
            ({"threads": 0}, "threads must be at least 1, got 0"),
            ({"seed": -1}, "seed must be at least 0, got -1"),
            ({"loss": tw.WARP(margin=-1)}, "margin must be above 0, got -1"),
        ],
    )
    def test_bad_parameters_are_refused_when_fitting(self, params: dict[str, Any], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            self.fit(self.make_log()[0], **params)

    def test_before_fitting(self, tmp_path: Path) -> None:
        model = self.make_model()
        _, held_out = self.make_log()
        for use in (
            lambda: model.recommend(**self.asked("u0")),
            lambda: model.neighbors(items="i0"),
            lambda: model.item_vectors(),
            lambda: model.context_vectors(**self.asked("u0")),
            lambda: model.fold_in(held_out),
            lambda: model.save(tmp_path / "model.safetensors"),
            lambda: tw.evaluate(model, held_out),
        ):
            with pytest.raises(NotFittedError, match=f"this {type(model).__name__} is not fitted yet"):
                use()
        assert list(tmp_path.iterdir()) == []

    def test_folding_in_leaves_the_rest_as_it_is(self, users: list[Any]) -> None:
        train, _ = self.make_log()
        model = self.fit(train)
        items, contexts = model.item_vectors(), model.context_vectors(**self.asked(users))
        liked = [item for item in model.item_vocabulary.ids.tolist() if item in _items_of(train, users[0])]
        new = self.log_of(Events.from_arrays(item=liked[1:], user=["a new user"] * (len(liked) - 1)))
        if not self.folds_users:
            with pytest.raises(ValueError, match="content alone"):
                model.fold_in(new)
        else:
            model.fold_in(new, epochs=20, progress=False)
            ids, _ = model.recommend(**self.asked("a new user"), k=1, exclude=new)
            assert ids[0] in _items_like(users[0], train), "a new user's tastes are those of their events"
        np.testing.assert_array_equal(model.item_vectors(), items)
        np.testing.assert_array_equal(model.context_vectors(**self.asked(users)), contexts)

    # --- parameters and copies ----------------------------------------------------------------------------

    def test_parameters_are_got_and_set(self) -> None:
        model = self.make_model(dim=5)
        params = model.get_params()
        assert params["dim"] == 5
        assert model.set_params(dim=6) is model
        assert model.get_params() == {**params, "dim": 6}
        with pytest.raises(ValueError, match="has no parameter 'size'"):
            model.set_params(size=3)
        assert repr(model).startswith(f"{type(model).__name__}(")

    def test_scikit_learn_clones_it(self, fitted: Embedding) -> None:
        sklearn = pytest.importorskip("sklearn.base")
        clone = sklearn.clone(fitted)
        assert clone.get_params() == fitted.get_params()
        with pytest.raises(NotFittedError):
            clone.item_vectors()

    @pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
    def test_copies_are_equal_and_apart(self, copied: Any, users: list[Any]) -> None:
        train, held_out = self.make_log()
        model = self.fit(train)
        before = model.recommend(**self.asked(users), k=4)
        twin = copied(model)
        assert_same_answer(twin.recommend(**self.asked(users), k=4), before)
        if self.folds_users:
            new = self.log_of(Events.from_arrays(item=train.ids("item")[:3], user=["a new user"] * 3))
            twins = [copied(model).fold_in(new) for _ in range(3)]
            assert_same_vectors(twins[0], twins[2])
        self.fit(held_out, twin)
        assert_same_answer(model.recommend(**self.asked(users), k=4), before)

    # --- files --------------------------------------------------------------------------------------------

    @pytest.fixture
    def saved(self, fitted: Embedding, tmp_path: Path) -> Path:
        """A file with the fitted model."""
        path = tmp_path / "model.safetensors"
        fitted.save(path)
        return path

    def test_a_loaded_model_recommends_the_same(
        self, fitted: Embedding, saved: Path, users: list[Any]
    ) -> None:
        train, _ = self.make_log()
        loaded = tw.load(saved)
        assert type(loaded) is type(fitted)
        assert loaded.get_params() == fitted.get_params()
        for asked in (users, users[2], ["nobody"]):
            answers = [model.recommend(**self.asked(asked), k=6, exclude=train) for model in (loaded, fitted)]
            assert_same_answer(*answers)
        items = fitted.item_vocabulary.ids
        assert_same_answer(loaded.neighbors(items=items, k=3), fitted.neighbors(items=items, k=3))
        assert_same_vectors(self.fit(train, loaded), fitted)

    def test_damaged_files_are_refused(self, saved: Path) -> None:
        whole = saved.read_bytes()
        places = np.unique(np.geomspace(1, len(whole), 60).astype(int)) - 1
        for place in places.tolist():
            saved.write_bytes(whole[:place])
            with pytest.raises(ModelFileError, match="is not a model file, or is truncated"):
                tw.load(saved)
            saved.write_bytes(whole[:place] + bytes([whole[place] ^ 0x15]) + whole[place + 1 :])
            with pytest.raises(ModelFileError):
                tw.load(saved)

    def test_foreign_and_newer_files_are_refused(self, saved: Path) -> None:
        whole = saved.read_bytes()
        assert whole.count(b'"topwise_format":"1"') == 1
        newer = whole.replace(b'"topwise_format":"1"', b'"topwise_format":"9"')
        foreign = whole.replace(b'"topwise_format":"1"', b'"otherwise_form":"1"')
        for content, message in (
            (newer, "upgrade topwise"),
            (foreign, "not one of topwise"),
            (b"user,item\n1,2\n", "is not a model file"),
            (b"", "is not a model file"),
        ):
            saved.write_bytes(content)
            with pytest.raises(ModelFileError, match=message):
                tw.load(saved)
        with pytest.raises(FileNotFoundError, match="there is no model file"):
            tw.load(saved.with_name("another"))

    def test_a_crash_while_saving_leaves_the_old_file(
        self, saved: Path, fitted: Embedding, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = saved.read_bytes()

        def crash(*_: Any) -> None:
            raise OSError("the disk is gone")

        monkeypatch.setattr("os.replace", crash)
        with pytest.raises(OSError, match="the disk is gone"):
            fitted.save(saved)
        assert saved.read_bytes() == before
        assert list(saved.parent.iterdir()) == [saved], "nothing half written stays behind"


def assert_same_answer(first: Answer, second: Answer) -> None:
    """The same ids, and scores that differ by rounding at most."""
    np.testing.assert_array_equal(first[0], second[0])
    np.testing.assert_allclose(first[1], second[1], rtol=1e-5, atol=1e-6)


def assert_same_vectors(first: Embedding, second: Embedding) -> None:
    """The same model to the bit, as far as its vectors tell."""
    np.testing.assert_array_equal(first.item_vectors(), second.item_vectors())
    known = first.context_vocabulary.ids
    role = "users" if first.roles == ("user",) else "queries"
    np.testing.assert_array_equal(
        first.context_vectors(**{role: known}), second.context_vectors(**{role: known})
    )


def _items_of(log: Events, user: Any) -> set[Any]:
    return set(log.ids("item")[log.ids("user") == user].tolist())


def _items_like(user: Any, log: Events) -> set[Any]:
    """All items liked by users who have an item in common with this one."""
    own = _items_of(log, user)
    return set().union(*(_items_of(log, u) for u in set(log.ids("user").tolist()) if _items_of(log, u) & own))
