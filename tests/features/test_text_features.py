"""Texts as words: counts by hand, weights, n-grams, hashes, and queries of k words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import topwise as tw
from topwise import baselines
from topwise.features import TextSpace, keyword_queries, tfidf

IDS = ["a", "b", "c", "d"]
TEXTS = ["The red fish, the blue fish", "a blue bird", "One RED bird and one fish", ""]


def dense(features: tw.Features, *words: str) -> Any:
    return features.matrix.to_dense()[:, [features.names.index(word) for word in words]]


def test_counts_and_indicators() -> None:
    counts = TextSpace("count").fit(IDS, TEXTS)
    np.testing.assert_array_equal(
        dense(counts, "the", "red", "fish", "blue", "bird", "one"),
        [[2, 1, 2, 1, 0, 0], [0, 0, 0, 1, 1, 0], [0, 1, 1, 0, 1, 2], [0] * 6],
    )
    assert counts.vocabulary.ids.tolist() == ["a", "b", "c", "d"]
    assert not counts.identity
    binary = TextSpace("binary").fit(IDS, TEXTS)
    np.testing.assert_array_equal(binary.matrix.to_dense(), counts.matrix.to_dense() > 0)


def test_tfidf_and_queries_in_the_same_columns() -> None:
    space = TextSpace()
    documents = space.fit(IDS, TEXTS)
    counts = TextSpace("count").fit(IDS, TEXTS).matrix.to_dense()
    weights = counts * (1 + np.log(5 / (1 + (counts > 0).sum(axis=0))))
    weights[:3] /= np.linalg.norm(weights[:3], axis=1, keepdims=True)
    np.testing.assert_allclose(documents.matrix.to_dense(), weights, rtol=1e-5)
    queries = space.encode([1, 2], ["blue fish, blue whale", "whale"])
    assert queries.names == documents.names
    assert queries.matrix.lengths().tolist() == [2, 0], "words that no document has are left out"
    np.testing.assert_allclose(np.linalg.norm(queries.matrix.to_dense()[0]), 1, rtol=1e-5)
    assert dense(queries, "blue")[0] > dense(queries, "fish")[0]


def test_counts_from_elsewhere_are_weighed_alike() -> None:
    space = TextSpace("count")
    documents, queries = space.fit(IDS, TEXTS), space.encode([1], ["blue fish, blue whale"])
    own = TextSpace()
    expected = own.fit(IDS, TEXTS), own.encode([1], ["blue fish, blue whale"])
    for given, wanted in zip(tfidf(documents, queries), expected, strict=True):
        assert given.names == wanted.names
        np.testing.assert_allclose(given.matrix.to_dense(), wanted.matrix.to_dense(), rtol=1e-6)
    with pytest.raises(ValueError, match="the same columns, got 7 of the documents and 1 of number 1"):
        tfidf(documents, tw.Features.from_matrix([1], [[1.0]]))
    with pytest.raises(TypeError, match=r"counts must be tw\.Features, got list"):
        tfidf([1])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="values of at least 0, got -1"):
        tfidf(tw.Features.from_matrix([1], [[-1.0]]))


def test_ngrams_of_words_and_letters() -> None:
    pairs = TextSpace("count", ngrams=(1, 2)).fit(IDS, TEXTS)
    np.testing.assert_array_equal(
        dense(pairs, "red fish", "red bird", "fish")[:3], [[1, 0, 2], [0, 0, 0], [0, 1, 1]]
    )
    letters = TextSpace("count", ngrams=(3, 3), analyzer="char").fit(["x"], ["banana"])
    assert dict(zip(letters.names, letters.matrix.to_dense()[0], strict=True)) == {
        "ana": 2,
        "ban": 1,
        "nan": 1,
    }


def test_hashing_keeps_no_vocabulary() -> None:
    space = TextSpace("count", hashing=64)
    hashed = space.fit(IDS, TEXTS)
    counts = TextSpace("count").fit(IDS, TEXTS).matrix.to_dense()
    assert hashed.matrix.shape == (4, 64)
    np.testing.assert_array_equal(hashed.matrix.to_dense().sum(axis=1), counts.sum(axis=1))
    again = space.encode(["new"], [TEXTS[0] + " whale"]).matrix.to_dense()
    difference = again[0] - hashed.matrix.to_dense()[0]
    assert difference.sum() == difference.max() == 1, "a word that no document has is hashed all the same"
    weighted = TextSpace("tfidf", hashing=64).fit(IDS, TEXTS)
    np.testing.assert_allclose(np.linalg.norm(weighted.matrix.to_dense()[:3], axis=1), 1, rtol=1e-5)


def test_words_that_are_left_out() -> None:
    names = TextSpace("count", min_df=2, stop_words=["the"]).fit(IDS, TEXTS).names
    assert names == ["bird", "blue", "fish", "red"]
    assert TextSpace("count", max_words=1).fit(IDS, TEXTS).names == ["fish"]
    assert "the" not in TextSpace("count", stop_words="english").fit(IDS, TEXTS).names


@pytest.mark.parametrize(
    ("params", "texts", "error", "message"),
    [
        ({"weighting": "bm25"}, TEXTS, ValueError, "weighting must be one of"),
        ({"analyzer": "syllable"}, TEXTS, ValueError, "analyzer must be one of"),
        ({"ngrams": (2, 1)}, TEXTS, ValueError, "the longest of ngrams must be at least 2, got 1"),
        ({"hashing": 0}, TEXTS, ValueError, "hashing must be at least 1"),
        ({"hashing": 8, "min_df": 2}, TEXTS, ValueError, "no use for min_df"),
        ({}, "one text", TypeError, "texts must be several texts"),
        ({}, [*TEXTS[:3], None], TypeError, "text 3 must be text, got NoneType"),
        ({}, [], ValueError, "at least one document, got none"),
        ({}, TEXTS[:2], ValueError, "a row for each of 4 ids, got 2 rows"),
        ({}, [""] * 4, ValueError, "empty vocabulary"),
    ],
)
def test_bad_texts_and_parameters(params: Any, texts: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        TextSpace(**params).fit(IDS, texts)
    with pytest.raises(ValueError, match="no columns yet: call fit"):
        TextSpace().encode(IDS, TEXTS)


@pytest.mark.parametrize("k", [1, 5, 10, 20])
def test_queries_are_k_random_words_of_their_document(k: int) -> None:
    rng = np.random.default_rng(0)
    content = rng.random((50, 40)) * (rng.random((50, 40)) < 0.4)
    content[7] = 0
    documents = tw.Features.from_matrix(range(100, 150), content)
    queries = keyword_queries(documents, k, seed=3)
    found = queries.matrix.to_dense()
    np.testing.assert_array_equal((found > 0).sum(axis=1), np.minimum(k, (content > 0).sum(axis=1)))
    assert (content[found > 0] > 0).all(), "no word that its document lacks"
    for row in range(50):
        own = found[row] > 0
        expected = content[row, own] / max(np.linalg.norm(content[row, own]), 1e-9)
        np.testing.assert_allclose(found[row, own], expected, rtol=1e-5)
    np.testing.assert_array_equal(queries.vocabulary.ids, documents.vocabulary.ids)
    assert queries.names == documents.names
    np.testing.assert_array_equal(
        keyword_queries(documents, k, seed=3).matrix.indices, queries.matrix.indices
    )
    if k < 10:
        assert not np.array_equal(
            keyword_queries(documents, k, seed=4).matrix.indices, queries.matrix.indices
        )


def test_all_words_are_drawn_alike() -> None:
    documents = tw.Features.from_matrix([0], np.arange(1, 11)[None].astype(float))
    drawn = np.concatenate([keyword_queries(documents, 3, seed=seed).matrix.indices for seed in range(1000)])
    counts = np.bincount(drawn, minlength=10)
    assert abs(counts - 300).max() < 5 * np.sqrt(300 * 0.7)
    with pytest.raises(ValueError, match="k must be at least 1, got 0"):
        keyword_queries(documents, 0)
    with pytest.raises(TypeError, match=r"documents must be tw\.Features, got list"):
        keyword_queries([1], 2)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="ids must have one for each of 1 documents, got 2"):
        keyword_queries(documents, 2, ids=["a", "b"])


def test_both_sides_suit_wsabie_with_alpha_and_the_baselines() -> None:
    rng = np.random.default_rng(1)
    words = np.array([f"word{number}" for number in range(60)])
    texts = [" ".join(words[rng.choice(60, 12, replace=False)]) for _ in range(30)]
    documents = TextSpace().fit(range(30), texts)
    queries = keyword_queries(documents, 5, ids=[f"q{number}" for number in range(30)])
    log = tw.Events.from_arrays(item=range(30), query=queries.vocabulary.ids)
    cosine = baselines.Cosine().fit(log, query_features=queries, item_features=documents)
    assert tw.evaluate(cosine, log, metrics=["mrr"])["mrr"] > 0.9
    model = tw.Wsabie(4, epochs=2, alpha=1.0, max_norm=0.3, threads=1)
    model.fit(log, query_features=queries, item_features=documents, progress=False)
    assert tw.evaluate(model, log, metrics=["mrr"])["mrr"] > 0.9
