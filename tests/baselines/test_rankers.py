"""What every ranker of judgments keeps: interface, errors, files, repeatability."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import topwise as tw
from topwise.baselines import GBRT, MLR, RMLR, LambdaMART, ListNet, RankSVM
from topwise.data import Csr
from topwise.models import FeatureRanker, ModelFileError, NotFittedError

SMALL = {"trees": 20, "min_rows": 2, "threads": 1}
QUICK = {"anchors": "documents", "max_planes": 15, "steps": 30}


def problem(seed: int, n_queries: int = 40) -> tw.Judgments:
    """A relevant row has a large first feature, and a small second one."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 12, n_queries)
    x = rng.random((sizes.sum(), 4))
    return tw.Judgments.from_arrays(
        x, np.digitize(x[:, 0] - x[:, 1], [0.1, 0.5]), groups=sizes, feature_names=list("abcd")
    )


TRAIN, TEST = problem(0), problem(1)

MODELS = [
    pytest.param(lambda **p: RankSVM(**p), id="RankSVM"),
    pytest.param(lambda **p: ListNet(**p), id="ListNet"),
    pytest.param(lambda **p: LambdaMART(**SMALL, **p), id="LambdaMART"),
    pytest.param(lambda **p: GBRT(**SMALL, **p), id="GBRT"),
    pytest.param(lambda **p: tw.GMML(**p), id="GMML"),
    pytest.param(lambda **p: tw.LGMML(**{"metrics": 8, "epochs": 5, **p}), id="LGMML"),
    pytest.param(lambda **p: MLR(**QUICK, **p), id="MLR"),
    pytest.param(lambda **p: RMLR(**QUICK, **p), id="RMLR"),
]


@pytest.mark.parametrize("make", MODELS)
class TestRankers:
    def test_learns(self, make: Any) -> None:
        model = make().fit(TRAIN, TEST.take(range(10)))
        scores = model.score(TEST)
        assert scores.shape == (len(TEST),)
        assert scores.dtype == np.float64
        chance = tw.evaluate(np.zeros(len(TEST)), TEST, metrics=["ndcg@3"])["ndcg@3"]
        assert tw.evaluate(model, TEST, metrics=["ndcg@3"])["ndcg@3"] > chance + 0.15

    def test_the_same_again(self, make: Any) -> None:
        np.testing.assert_array_equal(
            make(seed=3).fit(TRAIN).score(TEST), make(seed=3).fit(TRAIN).score(TEST)
        )

    @pytest.mark.parametrize("normalize", [None, "standard", "l2", "minmax"])
    def test_files(self, make: Any, normalize: str | None, tmp_path: Path) -> None:
        model = make(normalize=normalize).fit(TRAIN)
        model.save(tmp_path / "model.safetensors")
        loaded = tw.load(tmp_path / "model.safetensors")
        assert type(loaded) is type(model)
        assert loaded.get_params() == model.get_params()
        assert loaded.feature_names_ == list("abcd")
        np.testing.assert_array_equal(loaded.score(TEST), model.score(TEST))
        whole = (tmp_path / "model.safetensors").read_bytes()
        (tmp_path / "model.safetensors").write_bytes(whole[:-20])
        with pytest.raises(ModelFileError):
            tw.load(tmp_path / "model.safetensors")

    def test_sparse_rows(self, make: Any) -> None:
        sparse = TRAIN.with_features(Csr.from_dense(TRAIN.dense()), TRAIN.feature_names)
        model = make().fit(sparse)
        again = TEST.with_features(Csr.from_dense(TEST.dense()), TEST.feature_names)
        np.testing.assert_allclose(model.score(again), model.score(TEST), atol=1e-6)
        np.testing.assert_allclose(model.score(TEST), make().fit(TRAIN).score(TEST), atol=1e-4)

    def test_bad_input(self, make: Any) -> None:
        with pytest.raises(NotFittedError, match="not fitted yet"):
            make().score(TEST)
        with pytest.raises(TypeError, match="judged must be judgments"):
            make().fit(TRAIN.dense())
        with pytest.raises(ValueError, match="nothing to learn"):
            make().fit(tw.Judgments.from_arrays([[1.0], [2.0]], [1, 0], groups=[1, 1]))
        with pytest.raises(ValueError, match="judged must have at least one row"):
            make().fit(TRAIN.take([]))
        with pytest.raises(ValueError, match="normalize must be one of"):
            make(normalize="z").fit(TRAIN)
        narrow = TEST.with_features(TEST.dense()[:, :3])
        with pytest.raises(ValueError, match="judged must have the 4 features of fitting, got 3"):
            make().fit(TRAIN).score(narrow)
        with pytest.raises(ValueError, match="validation must have the 4 features of fitting, got 3"):
            make().fit(TRAIN, narrow)

    def test_parameters(self, make: Any) -> None:
        model: FeatureRanker = make()
        assert model.clone().get_params() == model.get_params()
        assert model.set_params(seed=5).get_params()["seed"] == 5
        assert len(make().fit(TRAIN).score(TEST.take([]))) == 0


def test_trees_stop_early() -> None:
    noisy = TRAIN.with_features(np.random.default_rng(0).random((len(TRAIN), 4)))
    assert LambdaMART(trees=60, min_rows=2, patience=5, threads=1).fit(noisy, TEST).n_trees_ < 50
    assert LambdaMART(trees=60, min_rows=2, patience=None, threads=1).fit(noisy, TEST).n_trees_ == 60


def test_the_form_of_the_paper() -> None:
    model = LambdaMART.paper(threads=1)
    assert model.trees == 5000
    assert model.patience is None
    assert GBRT.paper(trees=3, threads=1).fit(TRAIN).n_trees_ == 3


def test_settings_of_trees_are_checked() -> None:
    for params, message in (
        ({"trees": 0}, "trees must be at least 1, got 0"),
        ({"leaves": 1}, "leaves must be at least 2, got 1"),
        ({"features": 1.5}, "features must be a share of at most 1, got 1.5"),
        ({"l2": -1}, "l2 must be at least 0"),
        ({"learning_rate": 0}, "learning_rate must be above 0"),
    ):
        with pytest.raises(ValueError, match=message):
            LambdaMART(**params).fit(TRAIN)
    with pytest.raises(ValueError, match="C must be above 0"):
        RankSVM(C=-1.0).fit(TRAIN)
    half = tw.Judgments.from_arrays(TRAIN.dense(), TRAIN.labels / 2, groups=TRAIN.lengths())
    with pytest.raises(ValueError, match=r"needs whole labels of at most 30, got 0.5"):
        LambdaMART(**SMALL).fit(half)
    assert GBRT(**SMALL).fit(half).n_trees_ == 20


def test_importance_names_what_matters() -> None:
    assert set(np.argsort(LambdaMART(**SMALL).fit(TRAIN).importance())[-2:]) == {0, 1}


def test_the_command_line_and_embeddings_do_not_mix(tmp_path: Path) -> None:
    from topwise.cli.arguments import load_model
    from topwise.cli.errors import UsageError

    RankSVM().fit(TRAIN).save(tmp_path / "ranker.safetensors")
    with pytest.raises(UsageError, match="holds a RankSVM"):
        load_model(str(tmp_path / "ranker.safetensors"))
