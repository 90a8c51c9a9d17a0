"""WARP's estimate of the rank is too high on average; the corrected weights are right on average.

The kernel draws with replacement, so given that r of M = D − 1 other items violate, the number of trials N is
geometric with p = r/M, cut off after `most` trials, when nothing is learned.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from topwise.losses import WARP, corrected_weights, rank_weights

Floats = npt.NDArray[np.float64]

RANKS = {20: (1, 2, 5, 10, 19), 200: (1, 2, 7, 40, 150, 199), 5000: (1, 3, 20, 300, 2500, 4999)}
CASES = [(n_items, rank) for n_items, ranks in RANKS.items() for rank in ranks]


def expected_weight(weights: Floats, rank: int, others: int) -> float:
    """E[W(N)] by enumeration of N = 1, 2, …; W(0) is that of a positive without a violator."""
    assert weights[0] == 0
    p = rank / others
    return float(np.sum(weights[1:] * p * (1 - p) ** np.arange(len(weights) - 1)))


def expected_rank_estimate(rank: int, others: int) -> float:
    estimates = others // np.arange(1.0, 40 * others + 1)
    return expected_weight(np.concatenate([[0.0], estimates]), rank, others)


def plain_weights(n_items: int) -> Floats:
    """L(⌊(D−1)/N⌋) for N = 0 … D−1."""
    table = rank_weights("1/i", n_items)
    return np.concatenate([[0.0], table[(n_items - 1) // np.arange(1, n_items)]])


@pytest.mark.parametrize(("n_items", "rank"), CASES)
@pytest.mark.parametrize("alpha", ["1/i", "ndcg", "mean"])
def test_the_mean_weight_is_that_of_the_true_rank(n_items: int, rank: int, alpha: str) -> None:
    table = rank_weights(alpha, n_items)
    weights = corrected_weights(table, n_items - 1)
    assert expected_weight(weights, rank, n_items - 1) == pytest.approx(table[rank], rel=0.02)


@pytest.mark.parametrize(("n_items", "rank"), [(20, 1), (20, 10), (200, 7), (200, 150), (5000, 300)])
def test_simulated_draws_agree(n_items: int, rank: int) -> None:
    rng = np.random.default_rng(n_items + rank)
    others, draws = n_items - 1, 60_000
    kernel = WARP(corrected=True, max_trials=others).kernel(n_items)
    trials = rng.geometric(rank / others, draws)
    found = np.where(trials <= kernel.max_trials, trials, 0)
    assert kernel.trial_weights is not None
    weights = kernel.trial_weights[found]
    error = weights.std() / np.sqrt(draws)
    truth = rank_weights("1/i", n_items)[rank]
    assert abs(weights.mean() - truth) < 4 * error + 0.02 * truth


@pytest.mark.parametrize(("n_items", "rank"), [(n, rank) for n, rank in CASES if rank < n - 1])
def test_the_plain_estimate_is_too_high(n_items: int, rank: int) -> None:
    """The slides: "on average, our approximation tends to overestimate". Finding a violator at once, which
    has the probability r/M and says M, makes up for all ranks; whatever later trials say comes on top.
    """
    others = n_items - 1
    assert expected_rank_estimate(rank, others) > rank * (1.1 if rank <= others // 2 else 1)


@pytest.mark.parametrize(("n_items", "rank"), [(20, 2), (200, 7), (200, 40), (5000, 20), (5000, 300)])
def test_so_are_its_weights_and_the_correction_is_nearer(n_items: int, rank: int) -> None:
    truth = rank_weights("1/i", n_items)[rank]
    others = n_items - 1
    assert expected_weight(plain_weights(n_items), rank, others) > 1.07 * truth
    corrected = WARP(max_trials=n_items, corrected=True).kernel(n_items).trial_weights
    assert corrected is not None
    assert abs(expected_weight(corrected.astype(np.float64), rank, others) - truth) < 0.02 * truth


@pytest.mark.parametrize("alpha", ["1/i", "ndcg", "mean", [1.0, 0.5, 0.2, 0.0]])
@pytest.mark.parametrize("n_items", [2, 3, 20, 500])
def test_weights_are_at_least_zero_and_never_rise(alpha: str | list[float], n_items: int) -> None:
    weights = corrected_weights(rank_weights(alpha, n_items), n_items - 1)
    assert weights.shape == (n_items,)
    assert weights.min() >= 0
    assert np.diff(weights[1:]).max(initial=0) <= 0


def test_a_truncated_alpha_is_met_roughly() -> None:
    """L has a kink there, which a mean over N cannot follow; it must still tell the ranks apart."""
    table = rank_weights("1/i", 200, top=10)
    weights = corrected_weights(table, 199)
    means = [expected_weight(weights, rank, 199) / table[rank] for rank in (1, 2, 5, 10, 20, 199)]
    assert max(abs(mean - 1) for mean in means) < 0.1


def test_fewer_trials_than_items_weigh_the_top_less_but_nothing_more() -> None:
    table = rank_weights("1/i", 5000)
    weights = corrected_weights(table, 500)
    assert expected_weight(weights, 1, 4999) < table[1]
    for rank in (100, 1000, 4999):
        assert expected_weight(weights, rank, 4999) == pytest.approx(table[rank], rel=0.05)
