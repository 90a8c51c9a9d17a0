"""Wsabie passes the contract, with and without α·identity, and serves rows of raw features."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from scipy.sparse import csr_array

import topwise as tw
from topwise.testing import ModelContract, checkerboard

SMALL = {"dim": 4, "epochs": 15, "learning_rate": 0.3, "max_norm": 0.7, "threads": 1}


def parity(ids: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Even or odd, and a constant."""
    numbers = np.array([int(str(id_).lstrip("ui")) for id_ in ids])
    return np.stack([numbers % 2 == 0, numbers % 2 == 1, numbers >= 0], axis=1).astype(float)


def features_of(log: tw.Events, role: str, identity: bool = True) -> tw.Features:
    ids = log.vocabulary(role).ids
    return tw.Features.from_matrix(ids, parity(ids), identity=identity)


class TestWsabie(ModelContract):
    folds_users = False

    def make_model(self, **params: Any) -> tw.Wsabie:
        return tw.Wsabie(**{**SMALL, **params})

    def features(self, log: tw.Events) -> dict[str, tw.Features]:
        return {"user_features": features_of(log, "user")}


class TestWithFeaturesOfLabels(TestWsabie):
    def features(self, log: tw.Events) -> dict[str, tw.Features]:
        return {**super().features(log), "item_features": features_of(log, "item")}


class TestWithAlpha(TestWithFeaturesOfLabels):
    def make_model(self, **params: Any) -> tw.Wsabie:
        return tw.Wsabie(**{**SMALL, "alpha": 0.5, **params})


@pytest.fixture(scope="module")
def queries() -> tw.Events:
    train, _ = checkerboard()
    return tw.Events.from_arrays(item=train.ids("item"), query=train.ids("user"))


def test_raw_rows_are_served_in_every_form(queries: tw.Events) -> None:
    features = features_of(queries, "query")
    model = tw.Wsabie(**SMALL).fit(queries, query_features=features)
    ids = queries.vocabulary("query").ids[:6]
    by_id = model.recommend(queries=ids, k=5)
    rows = parity(ids)
    for given in (rows, csr_array(rows), tw.Features.from_matrix(range(6), rows), rows.astype(np.float32)):
        answer = model.recommend(features=given, k=5)
        np.testing.assert_array_equal(answer[0], by_id[0])
        np.testing.assert_allclose(answer[1], by_id[1], rtol=1e-5)
    single = model.recommend(features=rows[1], k=5)
    assert single[0].shape == (5,)
    np.testing.assert_array_equal(single[0], by_id[0][1])
    with pytest.raises(ValueError, match="features must have the 3 columns of fitting, got 2"):
        model.recommend(features=np.ones((1, 2)))


def test_frames_are_encoded_as_in_fitting(queries: tw.Events, tmp_path: Any) -> None:
    ids = queries.vocabulary("query").ids.tolist()
    frame = pl.DataFrame({"query": ids, "kind": ["even" if int(q[1:]) % 2 == 0 else "odd" for q in ids]})
    model = tw.Wsabie(**SMALL).fit(queries, query_features=tw.Features.from_frame(frame, id="query"))
    model.save(tmp_path / "model.safetensors")
    for served in (model, tw.load(tmp_path / "model.safetensors")):
        found, _ = served.recommend(features=pl.DataFrame({"kind": ["odd", "even"]}), k=4)
        assert all(int(item[1:]) % 2 == 1 for item in found[0])
        assert all(int(item[1:]) % 2 == 0 for item in found[1])


def test_alpha_adds_the_product_of_the_raw_features(queries: tw.Events) -> None:
    features = {f"{role}_features": features_of(queries, role, identity=False) for role in ("query", "item")}
    model = tw.Wsabie(**{**SMALL, "alpha": 2.5}).fit(queries, **features)
    asked = queries.vocabulary("query").ids[:3]
    x, y = parity(asked), parity(model.item_vocabulary.ids)
    expected = model.context_vectors(queries=asked) @ model.item_vectors().T + 2.5 * x @ y.T
    np.testing.assert_allclose(model.score_block(queries=asked), expected, rtol=1e-5)
    ids, scores = model.recommend(queries=asked, k=len(y))
    codes = model.item_vocabulary.codes(ids.ravel()).reshape(ids.shape)
    np.testing.assert_allclose(scores, np.take_along_axis(expected, codes, axis=1), rtol=1e-5)
    raw, _ = model.recommend(features=parity(asked), k=len(y))
    np.testing.assert_array_equal(raw, ids)


def test_what_it_needs() -> None:
    train, _ = checkerboard(6)
    with pytest.raises(ValueError, match="needs the features of its contexts: pass user_features="):
        tw.Wsabie(**SMALL).fit(train)
    users = features_of(train, "user")
    with pytest.raises(ValueError, match="alpha above 0 needs features of both sides"):
        tw.Wsabie(**SMALL, alpha=1.0).fit(train, user_features=users)
    with pytest.raises(ValueError, match="alpha must be at least 0 and finite, got -1"):
        tw.Wsabie(**SMALL, alpha=-1).fit(train, user_features=users)
    with pytest.raises(ValueError, match=r"query_features were given, but the contexts .* 'user'"):
        tw.Wsabie(**SMALL).fit(train, user_features=users, query_features=users)
