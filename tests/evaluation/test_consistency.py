"""The report on consistency and diversity against sums over pairs, written out."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest

import topwise as tw
from topwise.testing import checkerboard

SMALL = {"dim": 4, "epochs": 6, "max_norm": 1.0, "threads": 1, "list_size": 5}


@pytest.fixture(scope="module")
def log() -> tw.Events:
    return checkerboard(14)[0]


@pytest.fixture(scope="module")
def content(log: tw.Events) -> tw.Features:
    ids = log.vocabulary("item").ids
    return tw.Features.from_matrix(ids, np.random.default_rng(0).random((len(ids), 3)))


@pytest.fixture(scope="module")
def model(log: tw.Events) -> tw.LaSR:
    return tw.LaSR(**SMALL, steps=2).fit(log, progress=False)


def mean_cosine(rows: Any, listed: list[int]) -> float:
    values = [
        rows[i] @ rows[j] / np.linalg.norm(rows[i]) / np.linalg.norm(rows[j])
        for i, j in combinations(listed, 2)
    ]
    return float(np.mean(values))


@pytest.mark.parametrize("inference", ["iterative", "greedy"])
def test_every_value_is_the_mean_over_pairs(
    model: tw.LaSR, log: tw.Events, content: tw.Features, inference: str
) -> None:
    users = log.vocabulary("user").ids
    report = model.consistency(users=users, k=4, item_features=content, exclude=log, inference=inference)
    first, _ = model.step(0).recommend(users=users, k=4, exclude=log)
    last, _ = model.recommend(users=users, k=4, exclude=log, inference=inference)
    own = {
        "similarity": model.step(0).item_vectors(),
        "learned similarity": model.item_vectors()[:, 4:],
        "distance": content.matrix.to_dense(),
    }
    for name, rows in own.items():
        sign = -1 if name == "distance" else 1
        for ids, found in ((first, report.before), (last, report.after)):
            lists = model.item_vocabulary.codes(ids.ravel()).reshape(ids.shape).tolist()
            expected = [mean_cosine(rows, listed) for listed in lists]
            np.testing.assert_allclose(found[name], (sign < 0) + sign * np.array(expected), atol=1e-4)
        assert report[name] == (
            pytest.approx(report.before[name].mean()),
            pytest.approx(report.after[name].mean()),
        )
    np.testing.assert_allclose(
        report.kept, [len(set(a) & set(b)) / 4 for a, b in zip(first, last, strict=True)]
    )


def test_a_table_for_reading_and_rows_for_a_frame(model: tw.LaSR, content: tw.Features) -> None:
    report = model.consistency(k=5, item_features=content)
    lines = repr(report).splitlines()
    assert lines[0].startswith("14 lists, ")
    assert [line.split("  ")[0].strip() for line in lines[2:]] == [
        "similarity",
        "learned similarity",
        "distance",
    ]
    assert all(f"{report[name][1]:.3f}" in line for name, line in zip(report.before, lines[2:], strict=True))
    frame = pl.DataFrame(report.rows())
    assert frame.columns[:2] == ["query", "kept"]
    assert frame["query"].to_list() == model.context_vocabulary.ids.tolist()
    np.testing.assert_allclose(frame["distance after"], report.after["distance"])


def test_one_query_and_lists_of_one(model: tw.LaSR) -> None:
    report = model.consistency(users="u3", k=1)
    assert report.ids.tolist() == ["u3"]
    assert np.isnan(report.before["similarity"][0])
    assert np.isnan(report.after["similarity"][0])


def test_rows_of_features_and_content_of_the_fit(log: tw.Events, content: tw.Features) -> None:
    users = log.vocabulary("user").ids
    even = np.array([[int(u[1:]) % 2, 1.0] for u in users])
    features = tw.Features.from_matrix(users, even)
    model = tw.LaSR(**SMALL).fit(log, user_features=features, item_features=content, progress=False)
    by_rows, by_ids = model.consistency(features=even, k=4), model.consistency(users=users, k=4)
    assert set(by_rows.before) == {"similarity", "learned similarity", "distance"}
    for name in by_rows.before:
        np.testing.assert_allclose(by_rows.after[name], by_ids.after[name], atol=1e-4)
