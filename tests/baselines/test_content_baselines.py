"""Cosine, TF-IDF, LSI, their mix, and nearest means against slow and obvious numpy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

import topwise as tw
from topwise import baselines
from topwise.features import TermWeights

Doubles = npt.NDArray[np.float64]

RNG = np.random.default_rng(0)
DOCUMENTS = RNG.poisson(0.6, (20, 12)).astype(float)
DOCUMENTS[4] = 0
QUERIES = RNG.poisson(0.8, (7, 12)).astype(float)
QUERIES[:, 0] += 1


TRAIN = tw.Events.from_arrays(item=[0, 3, 5, 7, 7, 1], query=[0, 1, 2, 3, 4, 5])


def fit(model: baselines.Cosine, validation: tw.Events | None = None) -> baselines.Cosine:
    return model.fit(
        TRAIN,
        validation,
        query_features=tw.Features.from_matrix(range(7), QUERIES),
        item_features=tw.Features.from_matrix(range(20), DOCUMENTS),
    )


def in_order(model: baselines.Cosine) -> npt.NDArray[np.float32]:
    return model.score_block(queries=range(7))[:, model.item_vocabulary.codes(range(20))]


def unit(rows: Doubles) -> Doubles:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(norms > 0, norms, 1)


def tfidf(rows: Doubles, sublinear: bool = False) -> Doubles:
    inverse = 1 + np.log((1 + len(DOCUMENTS)) / (1 + (DOCUMENTS > 0).sum(axis=0)))
    counts = np.where(rows > 0, 1 + np.log(np.maximum(rows, 1)), 0) if sublinear else rows
    return unit(counts * inverse)


def test_cosine() -> None:
    np.testing.assert_allclose(
        in_order(fit(baselines.Cosine())), unit(QUERIES) @ unit(DOCUMENTS).T, atol=1e-6
    )


@pytest.mark.parametrize("sublinear", [False, True])
def test_tfidf_weighs_by_the_documents(sublinear: bool) -> None:
    found = in_order(fit(baselines.TFIDF(sublinear=sublinear)))
    np.testing.assert_allclose(found, tfidf(QUERIES, sublinear) @ tfidf(DOCUMENTS, sublinear).T, atol=1e-6)


def test_lsi_compares_in_the_leading_directions() -> None:
    _, sizes, right = np.linalg.svd(tfidf(DOCUMENTS))
    projected = [unit(tfidf(rows) @ right[:4].T) for rows in (QUERIES, DOCUMENTS)]
    model = fit(baselines.LSI(4))
    np.testing.assert_allclose(in_order(model), projected[0] @ projected[1].T, atol=1e-5)
    np.testing.assert_allclose(model.singular_values_, sizes[:4], rtol=1e-5)
    vectors = model.context_vectors(queries=range(7))
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)


def test_lsi_of_full_rank_is_what_it_began_with() -> None:
    np.testing.assert_allclose(in_order(fit(baselines.LSI(12))), in_order(fit(baselines.TFIDF())), atol=1e-5)
    raw = in_order(fit(baselines.LSI(12, weighting="none")))
    np.testing.assert_allclose(raw, in_order(fit(baselines.Cosine())), atol=1e-5)
    with pytest.raises(ValueError, match="dim must be at most 12, the smaller side"):
        fit(baselines.LSI(13))
    with pytest.raises(ValueError, match="weighting must be one of 'tfidf', 'none', got 'idf'"):
        fit(baselines.LSI(2, weighting="idf"))


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_the_mix_of_lsi_and_tfidf(alpha: float) -> None:
    parts = in_order(fit(baselines.LSI(4))), in_order(fit(baselines.TFIDF()))
    expected = alpha * parts[0] + (1 - alpha) * parts[1]
    np.testing.assert_allclose(in_order(fit(baselines.LSITFIDF(4, alpha))), expected, atol=1e-6)


def test_alpha_is_chosen_on_the_validation_log() -> None:
    validation = tw.Events.from_arrays(item=[2, 9, 13, 16, 2, 6], query=[0, 1, 2, 3, 4, 6])
    grid = (0.0, 0.4, 1.0)
    model = fit(baselines.LSITFIDF(4, "auto", alphas=grid, metric="mrr"), validation)
    measured = {
        alpha: tw.evaluate(fit(baselines.LSITFIDF(4, alpha)), validation, ["mrr"], exclude=TRAIN)["mrr"]
        for alpha in grid
    }
    assert model.tried_ == pytest.approx(measured)
    assert measured[model.alpha_] == max(measured.values())
    with pytest.raises(ValueError, match="pass validation="):
        fit(baselines.LSITFIDF(4, "auto"))
    with pytest.raises(ValueError, match=r"alpha must be between 0 and 1, got 1\.5"):
        fit(baselines.LSITFIDF(4, 1.5))


def test_what_has_no_content() -> None:
    for model in (baselines.Cosine(), baselines.TFIDF(), baselines.LSI(4)):
        scores = in_order(fit(model))
        assert (scores[:, 4] == 0).all(), "a document without words is like nothing"
    unknown = fit(baselines.Cosine()).score_block(queries=["never asked"])
    codes = fit(baselines.Cosine()).item_vocabulary.codes(range(20))
    mean = unit(QUERIES.mean(axis=0, keepdims=True))
    np.testing.assert_allclose(unknown[:, codes], mean @ unit(DOCUMENTS).T, atol=1e-5)
    log = tw.Events.from_arrays(item=[0], query=[0])
    nothing = tw.Features.from_matrix([0], np.zeros((1, 12)))
    some = tw.Features.from_matrix([0], np.ones((1, 12)))
    with pytest.raises(ValueError, match="query_features must have at least one entry, got empty rows alone"):
        baselines.Cosine().fit(log, query_features=nothing, item_features=some)
    negative = tw.Features.from_matrix([0], -np.ones((1, 12)))
    with pytest.raises(ValueError, match="values of at least 0, got -1"):
        baselines.TFIDF().fit(log, query_features=negative, item_features=some)


def test_term_weights_can_keep_lengths() -> None:
    from scipy.sparse import csr_array

    weights = TermWeights(unit=False).fit(csr_array(DOCUMENTS))
    inverse = 1 + np.log(21 / (1 + (DOCUMENTS > 0).sum(axis=0)))
    np.testing.assert_allclose(weights.transform(csr_array(QUERIES)).toarray(), QUERIES * inverse, rtol=1e-5)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_nearest_means(metric: str) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(40, 5))
    labels = [rng.choice(6, 2, replace=False) for _ in range(30)]
    log = tw.Events.from_arrays(
        item=[label for own in labels for label in own], query=[row for row in range(30) for _ in range(2)]
    )
    model = baselines.NearestMeans(metric).fit(log, query_features=tw.Features.from_matrix(range(40), x))
    means = np.stack(
        [np.mean([x[row] for row in range(30) if label in labels[row]], axis=0) for label in range(6)]
    )
    scores = model.score_block(queries=range(40))[:, model.item_vocabulary.codes(range(6))]
    if metric == "cosine":
        expected = unit(x) @ unit(means).T
    else:  # the same order, for ‖x‖² is the same for all labels
        expected = -0.5 * ((x[:, None] - means) ** 2).sum(axis=2) + 0.5 * (x**2).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(scores, expected, atol=1e-5)


def test_labels_without_examples_come_last() -> None:
    log = tw.Events.from_arrays(item=["a", "b", "c"], query=[0, 1, 2])
    x = tw.Features.from_matrix([0, 1, 2, 3], [[9.0, 0], [9, 1], [0, 1], [0.1, 0]])
    for metric in ("euclidean", "cosine"):
        model = baselines.NearestMeans(metric).fit(log.take([0, 1]), query_features=x)
        ids, scores = model.recommend(queries=[3, 2], k=3)
        assert (ids[:, 2] == "c").all()
        assert np.isfinite(scores).all()
    with pytest.raises(ValueError, match="metric must be one of"):
        baselines.NearestMeans("manhattan").fit(log, query_features=x)
