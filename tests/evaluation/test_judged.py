"""Metrics of judged rows: each rule of each convention by hand, and agreement with the usual tools."""

from __future__ import annotations

from math import log2

import ir_measures
import numpy as np
import pytest
from ir_measures import AP, ERR, RR, P, R, nDCG
from sklearn.metrics import ndcg_score

import topwise as tw
from topwise.evaluation import compare


def judged(*queries: list[float]) -> tw.Judgments:
    """Labels, a query a list."""
    labels = [label for query in queries for label in query]
    return tw.Judgments.from_arrays(np.zeros((len(labels), 1)), labels, groups=list(map(len, queries)))


def value(labels: list[float], metric: str, convention: str, scores: list[float] | None = None) -> float:
    """A metric of one query, ranked as it stands unless there are scores."""
    given = np.arange(len(labels), 0, -1.0) if scores is None else np.array(scores)
    return tw.evaluate(given, judged(labels), metrics=[metric], convention=convention)[metric]


# --- by hand ----------------------------------------------------------------------------------------------


def test_discounts() -> None:
    # One relevant row at rank 3 of 3, the ideal has it at rank 1.
    assert value([0, 0, 1], "ndcg", "standard") == pytest.approx(1 / log2(4))
    assert value([0, 0, 1], "ndcg", "letor4") == pytest.approx(1 / log2(3))
    # LETOR's ranks 1 and 2 count the same.
    assert value([0, 1, 0], "ndcg", "standard") == pytest.approx(1 / log2(3))
    for convention in ("letor4", "mslr"):
        assert value([0, 1, 0], "ndcg", convention) == 1


def test_gains() -> None:
    # Labels 1, 2 in the wrong order: linear gains 1, 2; exponential ones 1, 3.
    at_two = 1 / log2(3)
    assert value([1, 2], "ndcg", "standard") == pytest.approx((1 + 2 * at_two) / (2 + at_two))
    at_three = 1 / log2(3)
    found, ideal = 1 + 0 + 3 * at_three, 3 + 1
    assert value([1, 0, 2], "ndcg", "letor4") == pytest.approx(found / ideal)
    assert value([3, 0, 4], "ndcg", "mslr") == pytest.approx((7 + 15 * at_three) / (15 + 7))


def test_short_queries() -> None:
    assert value([1, 0], "ndcg@3", "standard") == 1
    for convention in ("letor4", "mslr"):
        assert value([1, 0], "ndcg@3", convention) == 0
        assert value([1, 0], "ndcg@2", convention) == 1
        # P@k takes what is missing for irrelevant, and still divides by k.
        assert value([3, 0], "p@4", convention) == 1 / 4
    # The short one counts in the mean.
    two = judged([1, 0], [1, 0, 0])
    scores = np.array([2, 1, 3, 2, 1.0])
    assert tw.evaluate(scores, two, metrics=["ndcg@3"], convention="letor4")["ndcg@3"] == 0.5


def test_queries_with_nothing_relevant() -> None:
    for convention in ("standard", "letor4", "mslr"):
        for metric in ("ndcg", "ndcg@1", "map", "mrr", "err", "p@1", "recall@1", "mean_ndcg"):
            assert value([0, 0], metric, convention) == 0
    report = tw.evaluate(np.array([2, 1, 2, 1.0]), judged([1, 0], [0, 0]), metrics=["map"])
    assert report["map"] == 0.5
    assert report.per_context("map").tolist() == [1, 0]


def test_least_relevant_label() -> None:
    # Only labels of 2 and more are relevant to precision and MAP of MSLR; its NDCG has all of them.
    labels: list[float] = [1, 2, 0]
    assert value(labels, "map", "letor4") == 1
    assert value(labels, "map", "mslr") == 1 / 2
    assert value(labels, "p@1", "letor4") == 1
    assert value(labels, "p@1", "mslr") == 0
    assert value(labels, "mrr", "mslr") == 1 / 2
    assert value([1, 0], "ndcg", "mslr") == 1
    assert value([1, 0], "map", "mslr") == 0


def test_equal_scores() -> None:
    tied = [1.0, 1.0, 1.0]
    # LETOR keeps the order of the file.
    assert value([1, 0, 0], "mrr", "letor4", tied) == 1
    assert value([0, 0, 1], "mrr", "letor4", tied) == 1 / 3
    # Standard: the gain of a tie is shared (scikit-learn); others are the mean of best and worst.
    shared = (1 + 1 / log2(3) + 1 / log2(4)) / 3
    for labels in ([1, 0, 0], [0, 0, 1]):
        assert value(labels, "ndcg", "standard", tied) == pytest.approx(shared)
        assert value(labels, "mrr", "standard", tied) == pytest.approx((1 + 1 / 3) / 2)
        assert value(labels, "map", "standard", tied) == pytest.approx((1 + 1 / 3) / 2)


def test_mean_ndcg() -> None:
    # [0, 1]: ndcg@1 = 0, ndcg@2 = 1 / 1 by LETOR's discounts.
    assert value([0, 1], "mean_ndcg", "letor4") == 0.5
    assert value([0, 1], "mean_ndcg", "standard") == pytest.approx((0 + 1 / log2(3)) / 2)


def test_expected_reciprocal_rank() -> None:
    stop = [15 / 16, 0, 3 / 16]
    wanted = stop[0] + (1 - stop[0]) * stop[2] / 3
    assert value([4, 0, 2], "err", "standard") == pytest.approx(wanted)
    assert value([4, 0, 2], "err@2", "standard") == pytest.approx(stop[0])
    report = tw.evaluate(np.array([1.0]), judged([5]), metrics=["err"], max_grade=5)
    assert report["err"] == pytest.approx(31 / 32)
    with pytest.raises(ValueError, match="max_grade to be at least the largest label, 5, got 4"):
        value([5], "err", "standard")


def test_a_single_row() -> None:
    for convention in ("standard", "letor4"):
        assert value([1], "ndcg", convention) == 1
        assert value([1], "map", convention) == 1
        assert value([0], "ndcg", convention) == 0


# --- agreement --------------------------------------------------------------------------------------------

RNG = np.random.default_rng(0)
SIZES = RNG.integers(1, 30, 60)
GRADED = tw.Judgments.from_arrays(
    RNG.random((SIZES.sum(), 2)),
    RNG.integers(0, 5, SIZES.sum()) * (RNG.random(SIZES.sum()) < 0.4),
    groups=SIZES,
)
SCORES = RNG.permutation(len(GRADED)).astype(float)


def test_standard_is_that_of_ir_measures() -> None:
    names = {
        "ndcg@10": nDCG @ 10,
        "ndcg": nDCG,
        "map": AP,
        "map@10": AP @ 10,
        "mrr": RR,
        "p@5": P @ 5,
        "recall@10": R @ 10,
    }
    report = tw.evaluate(SCORES, GRADED, metrics=list(names))
    query = GRADED.query_of_rows()
    qrels = [ir_measures.Qrel(str(q), str(n), int(GRADED.labels[n])) for n, q in enumerate(query)]
    run = [ir_measures.ScoredDoc(str(q), str(n), SCORES[n]) for n, q in enumerate(query)]
    theirs = ir_measures.calc_aggregate(list(names.values()), qrels, run)
    for name, measure in names.items():
        assert report[name] == pytest.approx(theirs[measure], abs=1e-12), name
    # A Perl script there, which rounds.
    try:
        err = ir_measures.calc_aggregate([ERR @ 20], qrels, run)[ERR @ 20]
    except RuntimeError:
        return
    assert tw.evaluate(SCORES, GRADED, metrics=["err@20"])["err@20"] == pytest.approx(err, abs=1e-5)


@pytest.mark.parametrize("k", [1, 5, None])
def test_standard_ndcg_is_that_of_scikit_learn_with_ties(k: int | None) -> None:
    coarse = np.floor(SCORES / len(SCORES) * 4)
    name = "ndcg" if k is None else f"ndcg@{k}"
    ours = tw.evaluate(coarse, GRADED, metrics=[name]).per_context(name)
    for query in np.flatnonzero(GRADED.lengths() > 1):
        rows = GRADED.rows(query)
        theirs = ndcg_score([GRADED.labels[rows]], [coarse[rows]], k=k)
        assert ours[query] == pytest.approx(theirs, abs=1e-12)


# --- reports and errors -----------------------------------------------------------------------------------


def test_reports_have_intervals_and_are_compared() -> None:
    good = GRADED.labels + np.random.default_rng(1).normal(size=len(GRADED))
    better = tw.evaluate(good, GRADED, metrics=["ndcg@10"])
    worse = tw.evaluate(SCORES, GRADED, metrics=["ndcg@10"])
    low, high = better.interval("ndcg@10")
    assert low < better["ndcg@10"] < high
    outcome = compare(better, worse, "ndcg@10")
    assert outcome.difference > 0
    assert outcome.p_value < 0.01
    assert better.to_dict()["convention"] == "standard"
    assert "convention: standard" in repr(better)
    letor = tw.evaluate(SCORES, GRADED, metrics=["ndcg@10"], convention="letor4")
    with pytest.raises(ValueError, match="must have the same convention, got 'standard' and 'letor4'"):
        compare(better, letor, "ndcg@10")


def test_what_cannot_be_evaluated() -> None:
    with pytest.raises(
        ValueError, match="convention must be one of 'standard', 'letor4', 'mslr', got 'trec'"
    ):
        tw.evaluate(SCORES, GRADED, convention="trec")
    with pytest.raises(ValueError, match="mean_rank is for models with a catalogue"):
        tw.evaluate(SCORES, GRADED, metrics=["mean_rank"])
    with pytest.raises(ValueError, match=r"scores must be one for each of \d+ rows, got the shape \(3,\)"):
        tw.evaluate(SCORES[:3], GRADED)
    with pytest.raises(ValueError, match="scores must be finite, got nan in row 4"):
        tw.evaluate(np.where(np.arange(len(SCORES)) == 4, np.nan, SCORES), GRADED)
    with pytest.raises(TypeError, match=r"have a method score\(judged\), got object"):
        tw.evaluate(object(), GRADED)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least one row, got none"):
        tw.evaluate(np.empty(0), GRADED.take([]))
    log = tw.Events.from_arrays(item=[1, 2], user=[1, 1])
    with pytest.raises(ValueError, match="exclude is for events"):
        tw.evaluate(SCORES, GRADED, exclude=log)
    model = tw.MatrixFactorization(dim=2, epochs=1, max_norm=1.0, threads=1).fit(log, progress=False)
    with pytest.raises(ValueError, match="err is for judgments"):
        tw.evaluate(model, log, metrics=["err"])
    with pytest.raises(ValueError, match="convention='letor4' is for judgments"):
        tw.evaluate(model, log, convention="letor4")
