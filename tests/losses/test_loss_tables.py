"""α, L(rank), and what each loss hands to the kernel."""

from __future__ import annotations

import math

import numpy as np
import pytest

from topwise.losses import AUC, KOS, OWPC, WARP, Loss, alpha_table, as_loss, rank_weights


@pytest.mark.parametrize(
    ("alpha", "expected"),
    [
        ("1/i", [1, 1 / 2, 1 / 3, 1 / 4]),
        ("mean", [1 / 4] * 4),
        ("ndcg", [1, 1 / math.log2(3), 1 / 2, 1 / math.log2(5)]),
        ([3, 1], [3, 1, 1, 1]),
        (np.array([5, 4, 3, 2, 1, 0.5]), [5, 4, 3, 2]),
        ([1.0, 0.0], [1, 0, 0, 0]),
    ],
)
def test_alpha_of_five_items(alpha: object, expected: list[float]) -> None:
    np.testing.assert_allclose(alpha_table(alpha, 5), expected)


def test_top_cuts_the_table() -> None:
    np.testing.assert_allclose(alpha_table("1/i", 6, top=2), [1, 1 / 2, 0, 0, 0])
    np.testing.assert_allclose(alpha_table([2, 1], 4, top=9), [2, 1, 1])


@pytest.mark.parametrize("n_items", [1, 2])
def test_the_smallest_catalogues_have_one_rank(n_items: int) -> None:
    np.testing.assert_array_equal(alpha_table("1/i", n_items), [1])
    np.testing.assert_array_equal(rank_weights("mean", n_items), [0, 1])


def test_rank_weights_are_sums_of_alpha() -> None:
    """L(0) … L(D − 1): with D items no rank is above D − 1."""
    np.testing.assert_allclose(rank_weights("1/i", 4), [0, 1, 1 + 1 / 2, 1 + 1 / 2 + 1 / 3])
    np.testing.assert_allclose(rank_weights("mean", 5), [0, 0.25, 0.5, 0.75, 1])


def test_the_example_of_the_slides() -> None:
    """Two true labels at ranks 1 and 100, or 50 and 52: the mean rank prefers the second, 1/i the first."""
    weights = rank_weights("1/i", 101)
    assert weights[0] + weights[99] < weights[50] + weights[50]
    mean = rank_weights("mean", 101)
    assert mean[1] + mean[100] == pytest.approx(mean[50] + mean[51])


@pytest.mark.parametrize(
    ("alpha", "message"),
    [
        ("linear", "alpha must be one of '1/i', 'mean', 'ndcg' or an array, got 'linear'"),
        ([], "one-dimensional array of weights, got shape"),
        ([[1, 2]], "one-dimensional array of weights, got shape"),
        ([1, math.nan], "finite and at least 0"),
        ([1, -1], "finite and at least 0"),
        ([1, 0.5, 0.75], "must not rise with the rank, got 0.5 at rank 2 and 0.75 after it"),
        ([0, 0], "must begin above 0"),
    ],
)
def test_alphas_that_make_no_sense(alpha: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        alpha_table(alpha, 5)


@pytest.mark.parametrize("margin", [0, -1, math.nan, math.inf])
@pytest.mark.parametrize("kind", [AUC, OWPC, WARP, KOS])
def test_every_loss_refuses_a_bad_margin(kind: type[Loss], margin: float) -> None:
    with pytest.raises(ValueError, match="margin must be above 0, got"):
        kind(margin=margin).check()


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (WARP(max_trials=0), "max_trials must be a whole number of at least 1, got 0"),
        (WARP(max_trials=2.5), "max_trials must be a whole number of at least 1, got 2.5"),
        (WARP(top=0), "top must be a whole number of at least 1, got 0"),
        (WARP(violators=0), "violators must be a whole number of at least 1, got 0"),
        (OWPC(violators=-1), "violators must be a whole number of at least 1, got -1"),
        (OWPC(refresh=0), "refresh must be a whole number of at least 1, got 0"),
        (OWPC(top=-3), "top must be a whole number of at least 1, got -3"),
        (KOS(k=0), "k must be a whole number of at least 1, got 0"),
        (KOS(base=WARP(max_trials=0)), "max_trials"),
        (KOS(base=KOS()), "base must be AUC, OWPC or WARP, got KOS"),
    ],
)
def test_parameters_out_of_bounds(loss: Loss, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        loss.check()


@pytest.mark.parametrize("loss", [WARP(alpha="x"), OWPC(alpha=[1, 2])])
def test_check_sees_a_bad_alpha_before_a_catalogue_is_known(loss: Loss) -> None:
    with pytest.raises(ValueError, match="alpha"):
        loss.check()


def test_auc_draws_once_and_weighs_one() -> None:
    kernel = AUC(margin=0.5).kernel(100)
    assert (kernel.margin, kernel.exact, kernel.max_trials, kernel.positions) == (0.5, False, 1, None)
    assert kernel.weights[1] == 1


def test_owpc_weighs_by_the_rank_itself() -> None:
    kernel = OWPC(alpha="ndcg", refresh=3).kernel(7)
    assert (kernel.exact, kernel.max_trials) == (True, 3)
    np.testing.assert_allclose(kernel.weights, rank_weights("ndcg", 7), rtol=1e-6)


@pytest.mark.parametrize(
    ("n_items", "max_trials", "most"), [(11, 2000, 10), (11, 4, 4), (2, 5, 1), (1, 5, 1)]
)
def test_warp_tries_each_other_item_once_at_most(n_items: int, max_trials: int, most: int) -> None:
    kernel = WARP(alpha="ndcg", max_trials=max_trials, violators=3).kernel(n_items)
    assert (kernel.exact, kernel.max_trials, kernel.violators) == (False, most, min(3, most))
    np.testing.assert_allclose(kernel.weights, rank_weights("ndcg", n_items), rtol=1e-6)
    assert kernel.trial_weights is None


def test_corrected_warp_has_a_weight_for_each_number_of_trials() -> None:
    kernel = WARP(corrected=True, max_trials=6).kernel(20)
    assert kernel.trial_weights is not None
    assert kernel.trial_weights.shape == (7,)


def test_weights_of_a_rank_past_top_stay_at_its_sum() -> None:
    kernel = WARP(top=3).kernel(100)
    np.testing.assert_allclose(kernel.weights[3:], 1 + 1 / 2 + 1 / 3, rtol=1e-6)


def test_a_loss_by_name_by_itself_or_not_at_all() -> None:
    assert as_loss(None) == WARP()
    assert as_loss("owpc") == OWPC()
    given = AUC(margin=2)
    assert as_loss(given) is given
    with pytest.raises(ValueError, match="loss must be one of AUC, OWPC, WARP, KOS, got 'HINGE'"):
        as_loss("hinge")
    with pytest.raises(TypeError, match=r"loss must be .* got int"):
        as_loss(3)  # type: ignore[arg-type]
