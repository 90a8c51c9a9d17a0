"""Rankers of words against words: the pairwise SVM, hash kernels, polynomial semantic indexing."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.sparse import csr_array

import topwise as tw
from topwise import baselines
from topwise.baselines.data import Training
from topwise.baselines.hash_kernel import difference, hash_pairs, heaviest
from topwise.baselines.psi import Cubic
from topwise.baselines.text_ranker import Triples

Doubles = npt.NDArray[np.float64]

RNG = np.random.default_rng(0)
WORDS = 10
QUERIES = np.abs(RNG.normal(size=(12, WORDS))) * (RNG.random((12, WORDS)) < 0.4)
QUERIES[:, 0] += 0.1
DOCUMENTS = np.abs(RNG.normal(size=(15, WORDS))) * (RNG.random((15, WORDS)) < 0.5)
DOCUMENTS[:14, 1] += 0.1
DOCUMENTS[14] = 0
LOG = tw.Events.from_arrays(
    item=np.append(RNG.integers(0, 14, 40), 14), query=np.append(RNG.integers(0, 12, 40), 0)
)


def unit(rows: Doubles) -> Doubles:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(norms > 0, norms, 1)


def fit(model: Any, log: tw.Events = LOG, role: str = "query") -> Any:
    given = {
        f"{role}_features": tw.Features.from_matrix(range(12), QUERIES),
        "item_features": tw.Features.from_matrix(range(15), DOCUMENTS),
    }
    return model.fit(log, **given)


def in_order(model: Any) -> npt.NDArray[np.float32]:
    return model.score_block(queries=range(12))[:, model.item_vocabulary.codes(range(15))]


def sides(model: Any) -> tuple[Doubles, Doubles, Triples]:
    """The unit rows of both sides in the order of codes, and the triples that were learned from."""
    features = {
        "user": None,
        "query": tw.Features.from_matrix(range(12), QUERIES),
        "item": tw.Features.from_matrix(range(15), DOCUMENTS),
    }
    data = Training.of(model, LOG, None, features)
    contexts, items = model.clone()._keep_sides(data)
    return contexts.toarray().astype(float), items.toarray().astype(float), Triples(data, contexts, items)


def test_negatives_are_documents_with_words_that_the_query_lacks() -> None:
    _, items, triples = sides(baselines.PairRankSVM())
    known = set(zip(triples.context.tolist(), triples.positive.tolist(), strict=True))
    assert all(items[document].any() for _, document in known), "a document without words is left out"
    pairs = set(zip(LOG.query.tolist(), LOG.item.tolist(), strict=True))
    drawn = set()
    for seed in range(50):
        negatives = triples.negatives(np.random.default_rng(seed))
        asked = set(zip(triples.context.tolist(), negatives.tolist(), strict=True))
        assert (negatives >= 0).all()
        assert not asked & pairs
        drawn |= asked
    queries = sorted(set(triples.context.tolist()))
    filled = np.flatnonzero(items.any(axis=1)).tolist()
    assert drawn == {(q, d) for q in queries for d in filled} - pairs, "all others are drawn in the end"
    some = triples.negatives(np.random.default_rng(0), np.array([4, 2]))
    assert [(triples.context[e], d) in pairs for e, d in zip((4, 2), some, strict=True)] == [False, False]
    everything = tw.Events.from_arrays(item=np.tile(np.arange(15), 12), query=np.repeat(np.arange(12), 15))
    full = fit(baselines.PairRankSVM(), LOG)
    with pytest.raises(ValueError, match="there is nothing to learn from"):
        fit(full, everything)


def test_the_pair_svm_is_at_its_optimum() -> None:
    model = fit(baselines.PairRankSVM(penalty=2.0, pairs=3, iterations=100_000))
    contexts, items, triples = sides(model)
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(3):
        negative = triples.negatives(rng)
        words = contexts[triples.context] * (items[triples.positive] - items[negative])
        rows.append(np.column_stack([words, words.sum(axis=1)]))
    pairs = np.concatenate(rows)

    def loss(w: Doubles) -> float:
        return float(0.5 * w @ w + 2.0 * (np.maximum(1 - pairs @ w, 0) ** 2).sum())

    # The model keeps w_i + w_0. At the optimum w_0 is their share that costs the least.
    shared = model.weights_.astype(float).sum() / (WORDS + 1)
    w = np.append(model.weights_ - shared, shared)
    for place in range(WORDS + 1):
        nudge = np.zeros(WORDS + 1)
        nudge[place] = 1e-5
        assert abs(loss(w + nudge) - loss(w - nudge)) / 2e-5 < 1e-2 * loss(np.zeros(WORDS + 1))
    expected = (unit(QUERIES) * model.weights_) @ unit(DOCUMENTS).T
    np.testing.assert_allclose(in_order(model), expected, atol=1e-5)


@pytest.mark.parametrize("bits", [3, 12])
def test_hash_kernels_are_a_matrix_of_words(bits: int) -> None:
    model = fit(baselines.HashKernel(bits, alpha=0.7, epochs=2))
    slots, signs = hash_pairs(np.arange(WORDS)[:, None], np.arange(WORDS)[None, :], bits)
    matrix = signs * model.weights_[slots] + 0.7 * np.eye(WORDS)
    np.testing.assert_allclose(model.matrix(np.arange(WORDS), np.arange(WORDS)), matrix, rtol=1e-6)
    np.testing.assert_allclose(in_order(model), unit(QUERIES) @ matrix @ unit(DOCUMENTS).T, atol=1e-5)
    assert np.abs(model.weights_).max() > 0
    assert slots.min() >= 0
    assert slots.max() < 2**bits


def test_the_hash_spreads_and_signs_pairs_evenly() -> None:
    slots, signs = hash_pairs(np.arange(300)[:, None], np.arange(300)[None, :], 8)
    counts = np.bincount(slots.ravel(), minlength=256)
    assert abs(counts / counts.mean() - 1).max() < 0.35
    assert abs(signs.mean()) < 0.02
    assert len(np.unique(slots[0])) > 150, "a word does not meet all others in a few slots"
    ordered, _ = hash_pairs(np.array([3]), np.array([5]), 30)
    turned, _ = hash_pairs(np.array([5]), np.array([3]), 30)
    assert ordered != turned


def test_a_step_of_a_hash_kernel_follows_its_gradient() -> None:
    model = fit(baselines.HashKernel(4, alpha=0.5, epochs=1))
    query, better, worse = (
        (np.flatnonzero(row), unit(row[None])[0][row != 0].astype(np.float32))
        for row in (QUERIES[0], DOCUMENTS[3], DOCUMENTS[8])
    )

    def loss(weights: Doubles) -> float:
        slots, signs = hash_pairs(np.arange(WORDS)[:, None], np.arange(WORDS)[None, :], 4)
        matrix = signs * weights[slots] + 0.5 * np.eye(WORDS)
        rows = [np.zeros(WORDS) for _ in range(3)]
        for row, (words, values) in zip(rows, (query, better, worse), strict=True):
            row[words] = values
        return float(max(1 - rows[0] @ matrix @ (rows[1] - rows[2]), 0))

    for scale, margin in ((0.1, 1.0), (0.1, 1e-3)):
        model.margin = margin
        model.weights_ = (scale * np.random.default_rng(7).normal(size=16)).astype(np.float32)
        before = model.weights_.astype(float)
        violated = loss(before) > 1 - margin
        slopes = [(loss(before + 1e-6 * place) - loss(before - 1e-6 * place)) / 2e-6 for place in np.eye(16)]
        model._step(query, better, worse, 0.25)
        moved = model.weights_ - before
        np.testing.assert_allclose(moved, -0.25 * np.array(slopes) * violated, atol=1e-5)
        assert np.abs(slopes).max() > 0.1


def test_texts_are_cut_to_their_heaviest_words() -> None:
    rows = csr_array(np.array([[0.1, 0, 0.5, 0.3, 0.0, 0.4]]))
    words, values = heaviest(rows, 0, 2)
    np.testing.assert_array_equal(words, [2, 5])
    np.testing.assert_allclose(values, [0.5, 0.4])
    np.testing.assert_array_equal(heaviest(rows, 0, 4)[0], [0, 2, 3, 5])
    words, values = difference((words, values), (np.array([0, 5]), np.array([0.2, 0.1])))
    np.testing.assert_array_equal(words, [0, 2, 5])
    np.testing.assert_allclose(values, [-0.2, 0.5, 0.3])
    for wrong, message in (
        ({"bits": 31}, "bits must be at most 30"),
        ({"bits": 0}, "bits must be at least 1"),
        ({"alpha": -1}, "alpha must be at least 0"),
        ({"margin": 0}, "margin must be above 0"),
        ({"most_words": 0}, "most_words must be at least 1"),
    ):
        with pytest.raises(ValueError, match=message):
            fit(baselines.HashKernel().set_params(**wrong))


def small_psi(**params: Any) -> baselines.PSI:
    return baselines.PSI(
        **{"dim": 3, "epochs": 4, "max_norm": 0.5, "cubic_epochs": 4, "threads": 1, **params}
    )


def test_degree_two_is_a_wsabie_with_alpha() -> None:
    model = fit(small_psi(alpha=0.8, loss=tw.AUC(margin=0.3)))
    wsabie = tw.Wsabie(3, tw.AUC(margin=0.3), 4, max_norm=0.5, alpha=0.8, threads=1)
    wsabie.fit(
        LOG,
        query_features=tw.Features.from_matrix(range(12), unit(QUERIES), identity=False),
        item_features=tw.Features.from_matrix(range(15), unit(DOCUMENTS), identity=False),
        progress=False,
    )
    codes = wsabie.item_vocabulary.codes(range(15))
    expected = wsabie.score_block(queries=range(12))[:, codes]
    np.testing.assert_allclose(in_order(model), expected, rtol=1e-4, atol=1e-5)
    assert np.abs(in_order(model) - 0.8 * unit(QUERIES) @ unit(DOCUMENTS).T).max() > 0.01


def test_degree_three_adds_products_of_three() -> None:
    lower, model = fit(small_psi()), fit(small_psi(degree=3))
    s, u, v = (table.astype(float) for table in (model.cubic_.query, model.cubic_.first, model.cubic_.second))
    q, d = unit(QUERIES), unit(DOCUMENTS)
    extra = np.zeros((12, 15))
    for row in range(12):
        for document in range(15):
            for k in range(3):
                extra[row, document] += (q[row] @ s[:, k]) * (d[document] @ u[:, k]) * (d[document] @ v[:, k])
    np.testing.assert_allclose(in_order(model), in_order(lower) + extra, rtol=1e-4, atol=1e-5)
    assert np.abs(extra).max() > 1e-4
    for table in (s, u, v):
        assert np.linalg.norm(table, axis=1).max() < 0.3 * 2.5, "rows begin near the ball and stay in it"


def test_the_cubic_gradient_is_that_of_finite_differences() -> None:
    rng = np.random.default_rng(3)
    tables = [rng.normal(size=(WORDS, 4)) for _ in range(3)]
    query, better, worse = (csr_array(unit(rows[:5])) for rows in (QUERIES, DOCUMENTS, DOCUMENTS[5:]))
    push = np.array([1.0, 0, 1, 1, 0])

    def value(some: list[Doubles]) -> float:
        cubic = Cubic(*some)
        return float(push @ (cubic.scores(query, better) - cubic.scores(query, worse)))

    for number, slope in enumerate(Cubic(*tables).gradient(query, better, worse, push)):
        for place in np.ndindex(WORDS, 4):
            up, down = ([t.copy() for t in tables] for _ in range(2))
            up[number][place] += 1e-6
            down[number][place] -= 1e-6
            np.testing.assert_allclose(slope[place], (value(up) - value(down)) / 2e-6, atol=1e-6)


def test_a_cubic_step_moves_violators_within_the_ball() -> None:
    rng = np.random.default_rng(4)
    tables = [rng.normal(size=(WORDS, 4)).astype(np.float32) * 0.1 for _ in range(3)]
    query, better, worse = (
        csr_array(unit(rows[:5]).astype(np.float32)) for rows in (QUERIES, DOCUMENTS, DOCUMENTS[5:])
    )
    content = Cubic(*[table.copy() for table in tables])
    content.step(query, better, worse, np.full(5, 10.0), 0.5, 1.0)
    for before, after in zip(tables, (content.query, content.first, content.second), strict=True):
        np.testing.assert_allclose(after, before, rtol=1e-6)
    cubic = Cubic(*[table.copy() for table in tables])
    gaps = []
    for _ in range(200):
        gaps.append(float((cubic.scores(query, better) - cubic.scores(query, worse)).mean()))
        cubic.step(query, better, worse, np.full(5, -1.0), 0.5, 0.8)
    assert gaps[-1] > gaps[0] + 0.01
    for table in (cubic.query, cubic.first, cubic.second):
        assert np.linalg.norm(table, axis=1).max() <= 0.8 + 1e-5


def test_a_log_of_both_roles_is_taken_by_one() -> None:
    users = (LOG.ids("query") + 3) % 12
    both = tw.Events.from_arrays(item=LOG.ids("item"), query=LOG.ids("query"), user=users)
    expected = in_order(fit(small_psi()))
    np.testing.assert_allclose(in_order(fit(small_psi(), both)), expected, rtol=1e-4, atol=1e-5)
    by_user = fit(small_psi(), both, role="user")
    assert by_user.roles == ("user",)
    assert by_user.score_block(users=range(12)).shape == (12, 15)
    for wrong, message in (
        ({"degree": 4}, "degree must be 2 or 3, got 4"),
        ({"cubic_rate": 0}, "cubic_rate must be above 0"),
        ({"cubic_norm": -1}, "cubic_norm must be above 0"),
        ({"alpha": -1}, "alpha must be at least 0"),
    ):
        with pytest.raises(ValueError, match=message):
            fit(small_psi(**wrong))


# --- real texts -------------------------------------------------------------------------------------------


def cranfield(root: Path) -> tuple[tw.Events, tw.Features, tw.Features]:
    """The relevant documents of the first 60 queries, and those documents with every fourth other."""

    def texts(name: str) -> list[str]:
        whole = gzip.decompress((root / name).read_bytes()).decode(errors="replace").replace("\r\n", "\n")
        parts = re.split(r"^\.I ", whole, flags=re.M)[1:]
        return [part.partition(".W\n")[2] for part in parts]

    documents, queries = texts("cran.all.1400.gz"), texts("cran.qry.gz")[:60]
    grades = gzip.decompress((root / "cranqrel.gz").read_bytes()).decode()
    lines = [line.split() for line in grades.splitlines() if line.strip()]
    pairs = [(int(q) - 1, int(d) - 1) for q, d, grade, *_ in lines if int(q) <= 60 and int(grade) > 0]
    kept = sorted({d for _, d in pairs} | set(range(0, 1400, 4)))
    space = tw.features.TextSpace(stop_words="english", sublinear=True)
    content = space.fit(kept, [documents[d] for d in kept])
    log = tw.Events.from_arrays(item=[d for _, d in pairs], query=[q for q, _ in pairs])
    return log, content, space.encode(range(60), queries)


def test_real_queries_are_ranked_better_than_by_chance_and_by_learning(data_root: Path) -> None:
    log, documents, queries = cranfield(data_root / "cranfield")
    learned = np.isin(log.ids("query"), np.arange(40))
    train, test = log.take(learned), log.take(~learned)
    found = {}
    for model in (
        baselines.Cosine(),
        baselines.LSI(60, weighting="none"),
        baselines.PairRankSVM(),
        baselines.HashKernel(16, margin=0.2, epochs=3),
        small_psi(dim=10, loss=tw.AUC(margin=0.2), max_norm=0.2),
        small_psi(degree=3, dim=10, loss=tw.AUC(margin=0.2), max_norm=0.2, cubic_norm=0.2),
    ):
        model.fit(train, query_features=queries, item_features=documents)
        report = tw.evaluate(model, test, metrics=["map", "rank_loss"], exclude=train)
        found[repr(model)] = report["map"]
        assert report["map"] > 0.15
        assert report["rank_loss"] < 25
    assert len(set(found.values())) == len(found)
