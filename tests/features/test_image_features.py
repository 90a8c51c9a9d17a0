"""Histograms: the intersection kernel against numpy, and kernel PCA's identities."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import topwise as tw
from topwise.data import Csr
from topwise.datasets import mulan_arff
from topwise.features import IntersectionPCA, concatenate, intersection_kernel

Doubles = npt.NDArray[np.float64]

RNG = np.random.default_rng(0)
HISTOGRAMS = RNG.random((40, 25)) * (RNG.random((40, 25)) < 0.5)
IMAGES = tw.Features.from_matrix([f"image{n}" for n in range(40)], HISTOGRAMS)


def kernel(left: Doubles, right: Doubles) -> Doubles:
    return np.minimum(left[:, None], right[None]).sum(axis=2)


def centred(matrix: Doubles) -> Doubles:
    middle = np.eye(len(matrix)) - 1 / len(matrix)
    return middle @ matrix @ middle


def test_the_intersection_kernel() -> None:
    left, right = HISTOGRAMS[:7].copy(), HISTOGRAMS[5:].copy()
    left[3] = 0
    found = intersection_kernel(Csr.from_dense(left), Csr.from_dense(right))
    np.testing.assert_allclose(found, kernel(left, right), rtol=1e-6)
    itself = intersection_kernel(IMAGES.matrix, IMAGES.matrix)
    np.testing.assert_allclose(np.diag(itself), HISTOGRAMS.sum(axis=1), rtol=1e-6)
    assert np.linalg.eigvalsh(itself).min() > -1e-6, "it is positive semidefinite"
    with pytest.raises(ValueError, match="values of at least 0, got -1"):
        intersection_kernel(Csr.from_dense(-np.ones((1, 25))), IMAGES.matrix)
    with pytest.raises(ValueError, match="the same columns, got 3 and 25"):
        intersection_kernel(Csr.from_dense(np.ones((1, 3))), IMAGES.matrix)


def test_all_components_give_back_the_centred_kernel() -> None:
    vectors = IntersectionPCA(39).fit(IMAGES)
    assert vectors.vocabulary.ids.tolist() == IMAGES.vocabulary.ids.tolist()
    assert not vectors.identity
    found = vectors.matrix.to_dense().astype(float)
    np.testing.assert_allclose(found @ found.T, centred(kernel(HISTOGRAMS, HISTOGRAMS)), atol=1e-4)


def test_the_leading_components() -> None:
    pca = IntersectionPCA(5)
    found = pca.fit(IMAGES).matrix.to_dense().astype(float)
    values, vectors = np.linalg.eigh(centred(kernel(HISTOGRAMS, HISTOGRAMS)))
    best = vectors[:, -5:] * np.sqrt(values[-5:])
    np.testing.assert_allclose(found @ found.T, best @ best.T, atol=1e-4)
    np.testing.assert_allclose(pca.eigenvalues_, values[::-1][:5], rtol=1e-5)


def test_others_are_projected_by_the_landmarks() -> None:
    pca = IntersectionPCA(5, landmarks=15, seed=2)
    everything = pca.fit(IMAGES)
    assert len(pca.landmarks_) == 15
    landmarks = pca.landmarks_.to_dense().astype(float)
    assert all((landmarks[row] == HISTOGRAMS.astype(np.float32)).all(axis=1).any() for row in range(15))
    # Nyström: v_k(x) = Σ_j α_jk K̃(x, x_j) / √λ_k, the kernel centred by the landmarks.
    own, crossed = kernel(landmarks, landmarks), kernel(HISTOGRAMS, landmarks)
    values, vectors = np.linalg.eigh(centred(own))
    around = crossed - crossed.mean(axis=1, keepdims=True) - own.mean(axis=0) + own.mean()
    expected = around @ vectors[:, -5:] / np.sqrt(values[-5:])
    found = everything.matrix.to_dense().astype(float)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-4)
    some = tw.Features.from_matrix(["a", "b"], HISTOGRAMS[[8, 3]])
    np.testing.assert_allclose(pca.encode(some).matrix.to_dense(), found[[8, 3]], atol=1e-5)
    every = IntersectionPCA(5, landmarks=100).fit(IMAGES).matrix.to_dense()
    np.testing.assert_allclose(every, IntersectionPCA(5).fit(IMAGES).matrix.to_dense(), atol=1e-4)


def test_the_papers_size_is_the_default() -> None:
    assert IntersectionPCA().dim == 1024
    with pytest.raises(ValueError, match="dim must be at most 40, the images to learn from, got 1024"):
        IntersectionPCA().fit(IMAGES)
    for params, message in (
        ({"dim": 0}, "dim must be at least 1"),
        ({"dim": 5, "landmarks": 3}, "dim must be at most 3, the images to learn from, got 5"),
        ({"dim": 1, "landmarks": 0}, "landmarks must be at least 1"),
        ({"dim": 1, "seed": -1}, "seed must be at least 0"),
    ):
        with pytest.raises(ValueError, match=message):
            IntersectionPCA(**params).fit(IMAGES)
    with pytest.raises(ValueError, match="no components yet: call fit"):
        IntersectionPCA().encode(IMAGES)
    fitted = IntersectionPCA(2)
    fitted.fit(IMAGES)
    with pytest.raises(ValueError, match="the 25 columns of fitting, got 1"):
        fitted.encode(tw.Features.from_matrix([0], [[1.0]]))
    with pytest.raises(TypeError, match=r"histograms must be tw\.Features, got ndarray"):
        fitted.fit(HISTOGRAMS)  # type: ignore[arg-type]


def test_histograms_beside_each_other() -> None:
    colour = tw.Features.from_matrix(["a", "b", "c"], [[1.0, 3], [2, 2], [0, 0]], ["red", "blue"])
    texture = tw.Features.from_matrix(["c", "a", "x"], [[5.0], [2], [9]])
    joined = concatenate(colour, texture)
    np.testing.assert_array_equal(joined.matrix.to_dense(), [[1, 3, 2], [2, 2, 0], [0, 0, 5]])
    assert joined.names == ["0:red", "0:blue", "1:0"]
    shares = concatenate(colour, texture, norm="l1").matrix.to_dense()
    np.testing.assert_allclose(shares, [[0.25, 0.75, 1], [0.5, 0.5, 0], [0, 0, 1]])
    both = kernel(joined.matrix.to_dense().astype(float), joined.matrix.to_dense().astype(float))
    parts = [part.rows(colour.vocabulary).to_dense().astype(float) for part in (colour, texture)]
    np.testing.assert_allclose(both, sum(kernel(part, part) for part in parts))
    with pytest.raises(ValueError, match="norm must be one of"):
        concatenate(colour, norm="l2")
    with pytest.raises(ValueError, match="at least one set of features"):
        concatenate()
    with pytest.raises(TypeError, match=r"must be tw\.Features, got list"):
        concatenate(colour, [1])  # type: ignore[arg-type]


def test_a_cut_of_corel(data_root: Path) -> None:
    x, _ = mulan_arff(data_root / "corel5k" / "Corel5k-test-sparse.arff", labels=374)
    images = tw.Features.from_matrix(range(len(x)), x)
    vectors = IntersectionPCA(100, landmarks=300).fit(images)
    found = vectors.matrix.to_dense().astype(float)
    exact = centred(intersection_kernel(x, x))
    own = found - found.mean(axis=0)
    shared = (own @ own.T * exact).sum() / np.linalg.norm(own @ own.T) / np.linalg.norm(exact)
    assert shared > 0.85, "100 numbers keep most of what the kernel knows of 499 columns"


def test_images_are_annotated_by_their_vectors() -> None:
    rng = np.random.default_rng(5)
    kinds = rng.integers(0, 3, 90)
    shares = rng.dirichlet(np.ones(12) * 0.4, 3)
    histograms = rng.poisson(30 * shares[kinds])
    vectors = IntersectionPCA(8, landmarks=30).fit(tw.Features.from_matrix(range(90), histograms))
    log = tw.Events.from_arrays(item=kinds, query=range(90))
    train, test = log.take(np.arange(60)), log.take(np.arange(60, 90))
    model = tw.baselines.NearestMeans().fit(train, query_features=vectors)
    assert tw.evaluate(model, test, metrics=["hit@1"])["hit@1"] > 0.9
