"""Texts as words: counts, TF-IDF, hashes, n-grams; and queries of k words of a document."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from topwise.data import Csr, Features, Vocabulary
from topwise.features import needs
from topwise.features.weighting import TermWeights
from topwise.models.params import Params, check_choice, check_count

WEIGHTINGS = ("count", "binary", "tfidf")


class TextSpace(Params):
    """The columns that documents and queries share, so that a word of one meets the same word of the other.

    `fit` learns the words and their frequencies from the documents; `encode` gives features in the same
    columns for other texts, such as queries. They are content alone (`identity=False`), as the α·I form of
    Wsabie wants them.

    Parameters
    ----------
    weighting: "count", "binary", or "tfidf", with rows of unit length.
    ngrams: the shortest and the longest run of words that is a column, (1, 2) for words and pairs of words.
    analyzer: "word", or "char" and "char_wb" for n-grams of letters, across words or within them.
    hashing: None keeps a vocabulary. A number of columns hashes words to them in its place: nothing to learn
        or to keep, but no names, and words that share a column cannot be told apart.
    min_df, max_df: words in fewer or in more documents are left out; shares as floats, numbers as ints.
    max_words: at most so many words, the most frequent ones.
    stop_words: "english", a list, or None.
    sublinear: 1 + log(count) in place of the count, in "tfidf".
    """

    def __init__(
        self,
        weighting: str = "tfidf",
        *,
        ngrams: tuple[int, int] = (1, 1),
        analyzer: str = "word",
        hashing: int | None = None,
        min_df: int | float = 1,
        max_df: int | float = 1.0,
        max_words: int | None = None,
        stop_words: str | list[str] | None = None,
        sublinear: bool = False,
    ) -> None:
        self.weighting = weighting
        self.ngrams = ngrams
        self.analyzer = analyzer
        self.hashing = hashing
        self.min_df = min_df
        self.max_df = max_df
        self.max_words = max_words
        self.stop_words = stop_words
        self.sublinear = sublinear

    def fit(self, ids: Any, texts: Iterable[str]) -> Features:
        """The features of documents, whose words become the columns."""
        vectorizer = self._vectorizer()
        documents = checked_texts(texts)
        counts = vectorizer.fit_transform(documents) if documents else None
        if counts is None:
            raise ValueError("texts must have at least one document, got none")
        terms = TermWeights(self.sublinear).fit(counts) if self.weighting == "tfidf" else None
        names = [str(number) for number in range(counts.shape[1])]
        if self.hashing is None:
            names = vectorizer.get_feature_names_out().tolist()
        self.vectorizer_, self.terms_, self.names_ = vectorizer, terms, names
        return self._features(ids, counts)

    def encode(self, ids: Any, texts: Iterable[str]) -> Features:
        """The features of other texts in the same columns; words that no document had are left out."""
        if not hasattr(self, "names_"):
            raise ValueError("this TextSpace has no columns yet: call fit with the documents first")
        return self._features(ids, self.vectorizer_.transform(checked_texts(texts)))

    def _features(self, ids: Any, counts: Any) -> Features:
        weighted = counts if self.terms_ is None else self.terms_.transform(counts)
        return Features.from_matrix(ids, weighted, self.names_, identity=False)

    def _vectorizer(self) -> Any:
        text = needs("sklearn.feature_extraction.text")
        check_choice("weighting", self.weighting, WEIGHTINGS)
        check_choice("analyzer", self.analyzer, ("word", "char", "char_wb"))
        low, high = self.ngrams
        check_count("the shortest of ngrams", low)
        check_count("the longest of ngrams", high, low)
        shared = {
            "ngram_range": (low, high),
            "analyzer": self.analyzer,
            "stop_words": self.stop_words,
            "binary": self.weighting == "binary",
            "dtype": np.float32,
        }
        if self.hashing is None:
            return text.CountVectorizer(
                min_df=self.min_df, max_df=self.max_df, max_features=self.max_words, **shared
            )
        check_count("hashing", self.hashing)
        if self.max_words is not None or self.min_df != 1 or self.max_df != 1.0:
            raise ValueError("hashing keeps no vocabulary, so it has no use for min_df, max_df and max_words")
        # TF-IDF and counts are at least 0, so hashed words are added up without signs.
        return text.HashingVectorizer(n_features=self.hashing, norm=None, alternate_sign=False, **shared)


def checked_texts(texts: Iterable[str]) -> list[str]:
    """A list of texts, or an error that names the first that is none."""
    if isinstance(texts, str):
        raise TypeError("texts must be several texts, got one: pass [text]")
    found = list(texts)
    for number, text in enumerate(found):
        if not isinstance(text, str):
            raise TypeError(f"text {number} must be text, got {type(text).__name__}")
    return found


def keyword_queries(documents: Features, k: int, seed: int = 0, ids: Any = None) -> Features:
    """Queries of k random words of each document, in the same columns.

    The words are drawn without putting back, all words of a document alike; a document with fewer than k has
    all of its own. They keep the document's values, brought to unit length. Queries have the documents' ids,
    or those given, in the same order.
    """
    if not isinstance(documents, Features):
        raise TypeError(f"documents must be tw.Features, got {type(documents).__name__}")
    check_count("k", k)
    check_count("seed", seed, 0)
    matrix = documents.matrix
    row = matrix.row_of_entries()
    # Each document's words in a random order, of which the first k are taken.
    order = np.lexsort((np.random.default_rng(seed).random(matrix.nnz), row))
    chosen = np.sort(order[np.arange(matrix.nnz) - matrix.indptr[row] < k])
    assert matrix.values is not None
    values = matrix.values[chosen].astype(np.float64)
    squares = np.bincount(row[chosen], values**2, minlength=len(matrix))
    unit: npt.NDArray[np.float64] = values / np.sqrt(squares[row[chosen]])
    words = Csr.from_coordinates(row[chosen], matrix.indices[chosen], matrix.shape, unit)
    vocabulary = documents.vocabulary if ids is None else Vocabulary(ids)
    if len(vocabulary) != len(documents):
        raise ValueError(f"ids must have one for each of {len(documents)} documents, got {len(vocabulary)}")
    return Features(vocabulary, documents.names, words, identity=False)
