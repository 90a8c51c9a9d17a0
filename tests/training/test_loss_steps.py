"""Every loss against its oracle: where an epoch may end, how often it does, and where it ends on average."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import Context, Rows, choices, outcomes, rank_weight
from runs import Bench, assert_agrees, flat, start_rows

from topwise.losses import AUC, KOS, OWPC, WARP, Loss

RATE = 0.3

LOSSES = [
    AUC(),
    AUC(margin=0.4),
    WARP(),
    WARP(margin=0.5),
    WARP(alpha="mean"),
    WARP(alpha="ndcg", margin=2.0),
    WARP(alpha=[2.0, 0.5, 0.25]),
    WARP(top=2),
    WARP(max_trials=1),
    WARP(max_trials=3),
    WARP(corrected=True),
    WARP(corrected=True, alpha="ndcg", max_trials=4),
    OWPC(),
    OWPC(margin=0.25, refresh=1),
    OWPC(alpha="mean"),
    OWPC(alpha="ndcg"),
    OWPC(alpha=[3.0, 1.0, 0.0]),
    OWPC(top=2),
]
# Two negatives at a step go many ways, so these have a test with fewer items.
SEVERAL = [
    WARP(violators=2),
    WARP(violators=3, max_trials=4, alpha="mean"),
    WARP(violators=2, corrected=True),
    WARP(violators=2, corrected=True, max_trials=3),
    OWPC(violators=2),
    OWPC(violators=5, margin=2.0),
]


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize(
    ("context", "bias"),
    [
        (Context([2]), False),
        (Context([5], known=[0, 3, 6]), True),
    ],
    ids=["one positive", "known items and biases"],
)
def test_one_step(loss: Loss, context: Context, bias: bool) -> None:
    start = start_rows(8, 3, seed=85, bias=bias)
    ends = outcomes(loss, start, context, RATE)
    assert len(ends) > 1
    assert_agrees(Bench(loss, start, context, RATE, bias), ends)


@pytest.mark.parametrize("loss", SEVERAL, ids=repr)
def test_a_step_along_the_mean_over_several_violators(loss: Loss) -> None:
    start = start_rows(6, 3, seed=85)
    context = Context([2], known=[0])
    assert_agrees(Bench(loss, start, context, RATE), outcomes(loss, start, context, RATE))


@pytest.mark.parametrize("loss", [AUC(), WARP(), WARP(max_trials=2), OWPC()], ids=repr)
def test_a_context_that_knows_nearly_every_item(loss: Loss) -> None:
    """Most draws are of known items: they are no trials, and after four times the trials the step is left."""
    start = start_rows(8, 2, seed=3)
    context = Context([1], known=[0, 2, 3, 4, 6, 7])
    assert_agrees(Bench(loss, start, context, RATE), outcomes(loss, start, context, RATE))


@pytest.mark.parametrize("loss", [AUC(), WARP(max_trials=2), OWPC(refresh=1)], ids=repr)
@pytest.mark.parametrize("weights", [[], [0.5, 1.5]], ids=["alike", "weighted"])
def test_two_events(loss: Loss, weights: list[float]) -> None:
    """In either order; the second step starts where the first one led."""
    start = start_rows(5, 2, seed=7)
    context = Context([0, 3], weights=weights)
    assert_agrees(Bench(loss, start, context, RATE), outcomes(loss, start, context, RATE))


@pytest.mark.parametrize(
    "loss",
    [
        KOS(k=2, position=1, base=AUC()),
        KOS(k=2, position=2, base=OWPC(refresh=1)),
        KOS(k=3, position=2, base=WARP(max_trials=1)),
        KOS(k=3, position=[0.2, 0.0, 0.8], base=AUC()),
        KOS(k=3, position=lambda share: share, base=AUC()),
        KOS(k=7, position=2, base=AUC()),
        KOS(k=5, position=[0.1, 0.2, 0.3, 0.2, 0.2], base=AUC(margin=0.5)),
        KOS(k=1, position=1, base=AUC()),
    ],
    ids=repr,
)
@pytest.mark.parametrize("weights", [[], [0.25, 2.0, 0.75]], ids=["alike", "weighted"])
def test_k_order_statistic(loss: KOS, weights: list[float]) -> None:
    start = start_rows(5, 2, seed=21)
    context = Context([4, 0, 2], weights=weights)
    assert_agrees(Bench(loss, start, context, 0.1), outcomes(loss, start, context, 0.1))


def test_kos_of_all_positives_trains_the_one_in_its_position() -> None:
    """With K = the number of positives there is nothing random left but the negative."""
    start = start_rows(6, 3, seed=2)
    positives = [0, 1, 2, 3]
    order = sorted(positives, key=lambda item: -start.scores()[item])
    for position, item in enumerate(order, start=1):
        bench = Bench(KOS(k=4, position=position, base=OWPC(margin=9)), start, Context(positives), 1e-4)
        moved = np.abs(bench.run(0)[0].items - start.items).max(axis=1)
        assert moved[item] > 1e-6
        assert moved[[other for other in positives if other != item]].max() == 0


@pytest.mark.parametrize("alpha", ["1/i", "mean", "ndcg", [4.0, 2.0, 2.0, 1.0]])
def test_the_weight_of_an_owpc_step_reveals_the_exact_rank(alpha: str | list[float]) -> None:
    start = start_rows(40, 3, seed=5)
    scores = start.scores()
    seen = set()
    for positive in range(40):
        rank = sum(scores[item] > scores[positive] - 1 for item in range(40) if item != positive)
        bench = Bench(OWPC(alpha=alpha, refresh=1), start, Context([positive]), RATE)
        end, record = bench.run(positive)
        moved = (end.items[positive] - start.items[positive]) / (RATE * start.user)
        np.testing.assert_allclose(moved, rank_weight(alpha, rank, 40), atol=2e-5)
        assert record.trials == rank
        seen.add(rank)
    assert len(seen) > 15


@pytest.mark.parametrize("seed", [0, 14, 23])
def test_owpc_with_refresh_1_counts_anew_at_every_step(seed: int) -> None:
    """Steps so long that the rank changes on the way: with scores of a step before, they weigh wrongly."""
    start = start_rows(3, 2, seed)
    context = Context([1, 1, 1, 1, 1])
    loss = OWPC(refresh=1)
    rate = 0.35
    ends = outcomes_of_repeats(loss, start, context, rate)
    ranks = {rank for _, path in ends for rank in path}
    assert ranks >= {0, 1, 2}, "the problem must change its ranks on the way"
    points = np.array([flat(end) for end, _ in ends])
    bench = Bench(loss, start, context, rate)
    for end, _ in bench.runs(200):
        assert np.abs(points - flat(end)).max(axis=1).min() < 1e-5


def outcomes_of_repeats(
    loss: OWPC, start: Rows, context: Context, rate: float
) -> list[tuple[Rows, tuple[int, ...]]]:
    """Where steps of one positive over and over may lead, and the rank at each of them."""
    ends: list[tuple[Rows, tuple[int, ...]]] = [(start, ())]
    for positive in context.positives:
        further = []
        for rows, ranks in ends:
            ways = choices(loss, rows.scores(), positive, context)
            rank = len(ways) if ways[0].negatives else 0
            further += [(rows.after(way, rate), (*ranks, rank)) for way in ways]
        ends = further
    return ends


@pytest.mark.parametrize("loss", [AUC(), WARP(), OWPC(), KOS(base=WARP())], ids=repr)
def test_items_with_equal_scores(loss: Loss) -> None:
    """Items that tie are each as likely; one exactly at the margin does not violate it."""
    user = np.array([1.0, 0.0])
    items = np.array([[2.0, 1.0], [2.0, -1.0], [2.0, 0.5], [1.0, 3.0], [1.0, -3.0], [0.5, 1.0]])
    start = Rows(user, items, 2)
    context = Context([0])
    moving = {item for _, end in outcomes(loss, start, context, RATE) for item in _moved(start, end)}
    assert moving == {0, 1, 2}
    assert_agrees(Bench(loss, start, context, RATE), outcomes(loss, start, context, RATE))


def _moved(start: Rows, end: Rows) -> list[int]:
    return np.flatnonzero((start.items != end.items).any(axis=1)).tolist()


@pytest.mark.parametrize("loss", [AUC(), WARP(), OWPC(), KOS(base=OWPC())], ids=repr)
@pytest.mark.parametrize(
    ("n_items", "context"),
    [(4, Context([0, 1, 2, 3])), (4, Context([2], known=[0, 1, 3])), (1, Context([0]))],
    ids=["all positive", "the others known", "one item"],
)
def test_without_a_negative_nothing_moves(loss: Loss, n_items: int, context: Context) -> None:
    start = start_rows(n_items, 2, seed=1)
    for end, record in Bench(loss, start, context, RATE).runs(20):
        np.testing.assert_array_equal(flat(end), flat(start))
        assert (record.loss, record.violators, record.trials) == (0, 0, 0)


@pytest.mark.parametrize(("max_trials", "n_items"), [(1, 9), (3, 9), (2000, 9)])
def test_warp_gives_up_after_its_trials(max_trials: int, n_items: int) -> None:
    """The positive is far ahead of all, so every trial fails: N_max, or one for each other item."""
    start = start_rows(n_items, 2, seed=4)
    start.items[0] = 8 * start.user
    start.items[1:] = -start.user
    bench = Bench(WARP(max_trials=max_trials), start, Context([0]), RATE)
    end, record = bench.run(0)
    np.testing.assert_array_equal(flat(end), flat(start))
    assert record.trials == min(max_trials, n_items - 1)
    assert record.violators == 0


@pytest.mark.parametrize(
    "loss", [AUC(), WARP(max_trials=4), OWPC(), KOS(base=OWPC()), *SEVERAL[:1]], ids=repr
)
def test_the_record_tells_what_happened(loss: Loss) -> None:
    """Mean loss and share of violators, as the oracle expects them of one event."""
    start = start_rows(7, 3, seed=9)
    context = Context([3], known=[1])
    base = loss.base if isinstance(loss, KOS) else loss
    scores = start.scores()
    expected_loss = expected_violators = 0.0
    for choice in choices(base, scores, 3, context):
        if choice.negatives:
            hinge = base.margin - scores[3] + scores[list(choice.negatives)].mean()
            expected_loss += choice.probability * choice.weight * hinge
            expected_violators += choice.probability
    records = [record for _, record in Bench(loss, start, context, RATE).runs(3000)]
    for name, expected in (("loss", expected_loss), ("violators", expected_violators)):
        values = np.array([getattr(record, name) for record in records])
        assert abs(values.mean() - expected) <= 4 * values.std() / np.sqrt(len(values)) + 1e-5
