"""K-OS: the distribution over the positions of K ordered positives."""

from __future__ import annotations

import math

import numpy as np
import pytest

from topwise.losses import AUC, KOS, OWPC, WARP


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (KOS(k=4, position=1), [1, 0, 0, 0]),
        (KOS(k=4, position=4), [0, 0, 0, 1]),
        (KOS(k=3, position=np.int64(2)), [0, 1, 0]),
        (KOS(k=4, position=[1, 1, 1, 1]), [0.25] * 4),
        (KOS(k=3, position=(3, 0, 1)), [0.75, 0, 0.25]),
        (KOS(k=2, position=np.array([1.0, 3.0])), [0.25, 0.75]),
        # P(j/100): the weight of a percentile, so the last position is percentile 1.
        (KOS(k=4, position=lambda share: share), [0.1, 0.2, 0.3, 0.4]),
        (KOS(k=5, position=lambda share: share <= 0.4), [0.5, 0.5, 0, 0, 0]),
        (KOS(k=1, position=1), [1]),
    ],
)
def test_probabilities(loss: KOS, expected: list[float]) -> None:
    np.testing.assert_allclose(loss.probabilities(), expected)


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (KOS(k=5, position=0), "position must be between 1 and k = 5, got 0"),
        (KOS(k=5, position=6), "position must be between 1 and k = 5, got 6"),
        (KOS(k=3, position=[1, 2]), "one weight for each of k = 3, got"),
        (KOS(k=2, position=[0, 0]), "at least 0 and not all 0"),
        (KOS(k=2, position=[2, -1]), "at least 0 and not all 0"),
        (KOS(k=2, position=[1, math.inf]), "at least 0 and not all 0"),
        (KOS(k=2, position=lambda share: math.nan), "at least 0 and not all 0"),
    ],
)
def test_positions_that_make_no_sense(loss: KOS, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        loss.check()


def test_the_kernel_gets_the_cumulative_distribution_and_the_base() -> None:
    kernel = KOS(k=3, position=[1, 1, 2], base=OWPC(margin=0.5, refresh=7)).kernel(9)
    np.testing.assert_allclose(kernel.positions, [0.25, 0.5, 1])
    assert (kernel.exact, kernel.max_trials, kernel.margin) == (True, 7, 0.5)


def test_without_a_base_it_is_warp_with_its_own_margin() -> None:
    ours, warp = KOS(margin=0.25).kernel(50), WARP(margin=0.25).kernel(50)
    assert (ours.margin, ours.max_trials, ours.exact) == (warp.margin, warp.max_trials, warp.exact)
    np.testing.assert_array_equal(ours.weights, warp.weights)


def test_a_margin_beside_a_base_is_refused_where_they_differ() -> None:
    """Two margins would leave open which one holds."""
    with pytest.raises(ValueError, match="margin"):
        KOS(margin=0.5, base=AUC(margin=2.0)).check()
    KOS(margin=2.0, base=AUC(margin=2.0)).check()
    KOS(base=AUC(margin=2.0)).check()


def test_a_base_that_is_no_loss() -> None:
    with pytest.raises(TypeError, match=r"base must be .*, got 'WARP'"):
        KOS(base="WARP").check()  # type: ignore[arg-type]
