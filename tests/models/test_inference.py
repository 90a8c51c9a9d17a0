"""The three ways to a list against the best of all permutations, on problems small enough to try them all."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import topwise as tw
from topwise.models.inference import beam, greedy, item_scores, iterative, objective
from topwise.testing import checkerboard

Floats = npt.NDArray[np.float32]
WEIGHTS = (1 / np.arange(1, 5)).astype(np.float32)


def problem(seed: int, items: int = 7, share: float = 1.0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 1, items).astype(np.float32)
    return scores, (share * rng.normal(0, 0.7, (items, 3))).astype(np.float32)


def equation_3(scores: Floats, similar: Floats, order: Any, weights: Floats = WEIGHTS) -> float:
    total = sum(w * scores[d] for w, d in zip(weights, order, strict=False))
    for w, d in zip(weights, order, strict=False):
        total += sum(w * v * (similar[d] @ similar[e]) for v, e in zip(weights, order, strict=False))
    return float(total)


def oracle(scores: Floats, similar: Floats) -> tuple[float, float]:
    """The best and the worst of eq. 3 over all lists of four."""
    values = [equation_3(scores, similar, order) for order in permutations(range(len(scores)), 4)]
    return max(values), min(values)


def slow_beam(scores: Floats, similar: Floats, width: int) -> list[int]:
    """Eq. 6 and after, word for word."""
    beginnings: list[tuple[float, list[int]]] = [(0.0, [])]
    for place, weight in enumerate(WEIGHTS):
        longer = []
        for total, order in beginnings:
            for item in range(len(scores)):
                if item not in order:
                    gain = weight * scores[item]
                    for i, other in enumerate([*order, item]):
                        gain += WEIGHTS[i] * weight * (similar[other] @ similar[item])
                    longer.append((total + gain, [*order, item]))
        assert len(longer[0][1]) == place + 1
        beginnings = sorted(longer, key=lambda one: -one[0])[:width]
    return max((order for _, order in beginnings), key=lambda order: equation_3(scores, similar, order))


@pytest.mark.parametrize("seed", range(20))
def test_each_way_is_as_it_is_written(seed: int) -> None:
    scores, similar = problem(seed)
    assert objective(scores, similar, WEIGHTS, np.array([3, 0, 5, 1])) == pytest.approx(
        equation_3(scores, similar, [3, 0, 5, 1]), rel=1e-5
    )
    assert greedy(scores, similar, WEIGHTS).tolist() == slow_beam(scores, similar, 1)
    for width in (2, 3, 100):
        assert beam(scores, similar, WEIGHTS, width).tolist() == slow_beam(scores, similar, width)
    order = list(np.argsort(-scores)[:4])
    assert iterative(scores, similar, WEIGHTS, 0).tolist() == order
    for steps in (1, 2, 3):
        given = [
            scores[d] + sum(w * (similar[d] @ similar[e]) for w, e in zip(WEIGHTS, order, strict=True))
            for d in range(7)
        ]
        order = list(np.argsort(-np.array(given), kind="stable")[:4])
        assert iterative(scores, similar, WEIGHTS, steps).tolist() == order
    np.testing.assert_allclose(
        item_scores(scores, similar, WEIGHTS, np.array([2, 4, 1, 0]))[3],
        scores[3] + similar[3] @ (similar[[2, 4, 1, 0]] * WEIGHTS[:, None]).sum(axis=0),
        rtol=1e-5,
    )


def test_how_close_each_comes_to_the_best_permutation() -> None:
    """Of the way from the worst list to the best, averaged over problems: no way is exact, all come close."""
    reached: dict[str, list[float]] = {"unstructured": [], "iterative": [], "greedy": [], "beam": []}
    exact = dict.fromkeys(reached, 0)
    for seed in range(60):
        scores, similar = problem(seed)
        best, worst = oracle(scores, similar)
        found = {
            "unstructured": iterative(scores, similar, WEIGHTS, 0),
            "iterative": iterative(scores, similar, WEIGHTS, 3),
            "greedy": greedy(scores, similar, WEIGHTS),
            "beam": beam(scores, similar, WEIGHTS, 5),
        }
        for name, order in found.items():
            value = equation_3(scores, similar, order)
            assert value <= best + 1e-4
            reached[name].append((value - worst) / (best - worst))
            exact[name] += value > best - 1e-4
    means = {name: float(np.mean(values)) for name, values in reached.items()}
    assert means["iterative"] > means["unstructured"] + 0.02
    assert means["greedy"] > means["unstructured"] + 0.02
    assert means["beam"] > 0.98
    assert means["beam"] > max(means["greedy"], means["iterative"])
    assert exact["beam"] > exact["greedy"] > exact["unstructured"]


def test_a_beam_that_keeps_everything_finds_the_best() -> None:
    for seed in range(5):
        scores, similar = problem(seed, items=6)
        order = beam(scores, similar, WEIGHTS, 400)
        assert equation_3(scores, similar, order) == pytest.approx(oracle(scores, similar)[0], rel=1e-5)


def test_without_s_all_ways_sort() -> None:
    scores, similar = problem(4, share=0.0)
    for order in (
        greedy(scores, similar, WEIGHTS),
        beam(scores, similar, WEIGHTS, 3),
        iterative(scores, similar, WEIGHTS, 2),
    ):
        assert order.tolist() == np.argsort(-scores)[:4].tolist()


def test_fewer_items_than_places() -> None:
    scores, similar = problem(4, items=3)
    for order in (
        greedy(scores, similar, WEIGHTS),
        beam(scores, similar, WEIGHTS, 9),
        iterative(scores, similar, WEIGHTS, 2),
    ):
        assert sorted(order.tolist()) == [0, 1, 2]


# --- through a model ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model() -> tw.LaSR:
    log, _ = checkerboard(12)
    return tw.LaSR(dim=4, list_size=4, epochs=10, max_norm=1.0, list_norm=1.0, threads=2).fit(
        log, progress=False
    )


@pytest.mark.parametrize("inference", ["greedy", "beam"])
def test_a_model_gives_the_list_of_its_last_step(model: tw.LaSR, inference: str) -> None:
    users = model.context_vocabulary.ids
    model.set_params(inference=inference)
    ids, scores = model.recommend(users=users, k=9)
    vectors, items = model.context_vectors(users=users), model.item_vectors()
    found = model.item_vocabulary.codes(ids.ravel()).reshape(ids.shape)
    for row in range(len(users)):
        own, similar = items[:, :4] @ vectors[row, :4], items[:, 4:]
        order = slow_beam(own, similar, 1 if inference == "greedy" else 5)
        assert found[row, :4].tolist() == order
        given = item_scores(own, similar, WEIGHTS, np.array(order))
        np.testing.assert_allclose(scores[row], given[found[row]], rtol=1e-4)
        assert (np.diff(scores[row, 4:]) <= 0).all()
        assert set(found[row, 4:]) == set([d for d in np.argsort(-given) if d not in order][:5])


@pytest.mark.parametrize("inference", ["iterative", "greedy", "beam"])
def test_what_is_excluded_has_no_place(model: tw.LaSR, inference: str) -> None:
    log, _ = checkerboard(12)
    users = model.context_vocabulary.ids
    for candidates in (None, 5):
        ids, scores = model.recommend(
            users=users, k=8, exclude=log, inference=inference, candidates=candidates
        )
        known = set(zip(log.ids("user").tolist(), log.ids("item").tolist(), strict=True))
        for user, row, found in zip(users, ids, scores, strict=True):
            shown = row[np.isfinite(found)]
            assert not any((user, item) in known for item in shown)
            assert len(shown) == (7 if candidates is None else 5)
        one = model.recommend(users=users[3], k=8, exclude=log, inference=inference, candidates=candidates)
        np.testing.assert_array_equal(one[0], ids[3])
        few, _ = model.recommend(
            users=users, k=3, items=["i3", "i7"], inference=inference, candidates=candidates
        )
        assert set(few.ravel().tolist()) <= {"i3", "i7", None}


@pytest.mark.parametrize("inference", ["iterative", "greedy", "beam"])
def test_candidates_are_the_best_of_the_step_before(model: tw.LaSR, inference: str) -> None:
    users = model.context_vocabulary.ids
    best, _ = model.step(0).recommend(users=users, k=6)
    ids, _ = model.recommend(users=users, k=6, inference=inference, candidates=6)
    assert [set(row) for row in ids.tolist()] == [set(row) for row in best.tolist()]
    every, scores = model.recommend(users=users, k=6, inference=inference, candidates=12)
    whole, own = model.recommend(users=users, k=6, inference=inference)
    np.testing.assert_array_equal(every, whole)
    np.testing.assert_allclose(scores, own, rtol=1e-4)


def test_bad_calls(model: tw.LaSR) -> None:
    with pytest.raises(ValueError, match="inference must be one of"):
        model.recommend(users="u0", inference="exact")
    with pytest.raises(ValueError, match="candidates must be at least 1, got 0"):
        model.recommend(users="u0", candidates=0)
    with pytest.raises(ValueError, match="k must be at least 1, got 0"):
        model.recommend(users="u0", k=0, inference="greedy")
