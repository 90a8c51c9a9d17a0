"""The losses and the step, slow and plain, to compare the kernel with.

An epoch over a tiny log can end in a few ways only. `outcomes` enumerates them with their probabilities,
straight from the definitions: which positive, which negative, at which trial, what it weighs, where the rows
end up. Nothing here is shared with the package but `corrected_weights`, which has tests of its own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from topwise.losses import AUC, KOS, OWPC, WARP, Loss, corrected_weights, rank_weights

Floats: TypeAlias = npt.NDArray[np.float64]


def draw_limit(max_trials: int) -> int:
    """The most draws of a step: one that is known is no trial, and a context may know nearly all items."""
    return 4 * max_trials + 2


@dataclass(frozen=True)
class Choice:
    """One way a step can go: without a violator there are no negatives, and nothing moves."""

    probability: float
    positive: int
    negatives: tuple[int, ...] = ()
    weight: float = 0.0


@dataclass(frozen=True)
class Context:
    """A context of a log: its events to learn from, their weights, and whatever else it is known to like."""

    positives: list[int]
    known: list[int] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)

    def weight(self, event: int) -> float:
        return self.weights[event] if self.weights else 1.0

    def negatives(self, n_items: int) -> list[int]:
        return [item for item in range(n_items) if item not in {*self.positives, *self.known}]


@dataclass(frozen=True)
class Rows:
    """f(u, d) = U_u · V_d, with a column for the items' biases after the first `dim`."""

    user: Floats
    items: Floats
    dim: int

    def scores(self) -> Floats:
        return self.items @ self.user

    def after(self, choice: Choice, rate: float) -> Rows:
        """Gradient descent along weight · mean over negatives of |margin − f(positive) + f(negative)|₊."""
        if not choice.negatives:
            return self
        step = rate * choice.weight
        user, items = self.user.copy(), self.items.copy()
        difference = self.items[choice.positive] - self.items[list(choice.negatives)].mean(axis=0)
        user[: self.dim] += step * difference[: self.dim]
        items[choice.positive] += step * self.user
        for negative in choice.negatives:
            items[negative] -= step / len(choice.negatives) * self.user
        return replace(self, user=user, items=items)


def rank_weight(alpha: str | list[float], rank: int, n_items: int, top: int | None = None) -> float:
    """L(rank) = α_1 + … + α_rank."""
    total = 0.0
    for i in range(1, rank + 1):
        if top is not None and i > top:
            break
        if alpha == "1/i":
            total += 1 / i
        elif alpha == "mean":
            total += 1 / (n_items - 1)
        elif alpha == "ndcg":
            total += 1 / math.log2(i + 1)
        else:
            total += float(alpha[min(i, len(alpha)) - 1])
    return total


def choices(loss: Loss, scores: Floats, positive: int, context: Context) -> list[Choice]:
    """Every way that a step with this positive can go."""
    n_items = len(scores)
    negatives = context.negatives(n_items)
    threshold = scores[positive] - loss.margin
    violators = [item for item in negatives if scores[item] > threshold]
    if not violators:
        return [Choice(1.0, positive)]
    if isinstance(loss, OWPC):
        weight = rank_weight(loss.alpha, len(violators), n_items, loss.top)
        return _drawn(1.0, positive, violators, min(loss.violators, len(violators)), weight)
    ways: list[Choice] = []
    for (trials, found), chance in _draws(loss, len(violators), len(negatives), n_items).items():
        if found == 0:
            ways.append(Choice(chance, positive))
        else:
            weight = _estimated_weight(loss, trials, found, n_items)
            ways += _drawn(chance, positive, violators, found, weight)
    return ways


def _drawn(chance: float, positive: int, violators: list[int], count: int, weight: float) -> list[Choice]:
    """So many of the violators, each of them as likely every time."""
    ways = list(itertools.product(violators, repeat=count))
    return [Choice(chance / len(ways), positive, way, weight) for way in ways]


def _draws(loss: Loss, violators: int, negatives: int, n_items: int) -> dict[tuple[int, int], float]:
    """P(N trials, K violators found) where drawing ends: items are drawn with replacement from all, those
    that the context knows are no trials.
    """
    wanted = loss.violators if isinstance(loss, WARP) else 1
    most = max(1, min(loss.max_trials if isinstance(loss, WARP) else 1, n_items - 1))
    wanted = min(wanted, most)
    at = {(0, 0): 1.0}
    for _ in range(draw_limit(most)):
        after: dict[tuple[int, int], float] = {}
        for (trials, found), chance in at.items():
            ended = found == wanted or trials == most
            ways = [(trials, found, 1.0)]
            if not ended:
                ways = [
                    (trials, found, (n_items - negatives) / n_items),
                    (trials + 1, found, (negatives - violators) / n_items),
                    (trials + 1, found + 1, violators / n_items),
                ]
            for *place, share in ways:
                key = (place[0], place[1])
                after[key] = after.get(key, 0.0) + chance * share
        at = after
    return {place: chance for place, chance in at.items() if chance > 0}


def _estimated_weight(loss: Loss, trials: int, found: int, n_items: int) -> float:
    """L of the rank that K violators in N trials let expect."""
    if isinstance(loss, AUC):
        return 1.0
    assert isinstance(loss, WARP)
    others = n_items - 1
    if loss.corrected and found == 1:
        most = max(1, min(loss.max_trials, others))
        return float(corrected_weights(rank_weights(loss.alpha, n_items, loss.top), most)[trials])
    rank = others * (found - 1) // (trials - 1) if loss.corrected else others * found // trials
    return rank_weight(loss.alpha, min(max(rank, 1), others), n_items, loss.top)


def picks(loss: Loss, scores: Floats, context: Context) -> list[tuple[float, int]]:
    """Which of the context's events K-OS trains, and how probably: K of them, ordered by score, the one at a
    position drawn from P; of fewer, position k of K becomes ⌈k K'/K⌉ of K'.
    """
    assert isinstance(loss, KOS)
    events = range(len(context.positives))
    drawn = min(loss.k, len(events))
    subsets = list(itertools.combinations(events, drawn))
    chance: dict[int, float] = {}
    for subset in subsets:
        ordered = sorted(subset, key=lambda event: -scores[context.positives[event]])
        for position, probability in enumerate(position_chances(loss), start=1):
            event = ordered[math.ceil(position * drawn / loss.k) - 1]
            chance[event] = chance.get(event, 0.0) + probability / len(subsets)
    return [(probability, event) for event, probability in chance.items() if probability > 0]


def position_chances(loss: KOS) -> list[float]:
    """P(k) for k = 1 … K."""
    if isinstance(loss.position, int):
        return [float(k == loss.position) for k in range(1, loss.k + 1)]
    if callable(loss.position):
        weights = [loss.position(k / loss.k) for k in range(1, loss.k + 1)]
    else:
        weights = list(loss.position)
    return [weight / sum(weights) for weight in weights]


Outcome: TypeAlias = tuple[float, Rows]


def outcomes(loss: Loss, rows: Rows, context: Context, rate: float) -> list[Outcome]:
    """Every way that an epoch over one context can end: as many steps as it has events."""
    if isinstance(loss, KOS):
        base = loss.base or WARP(margin=loss.margin)

        def kos_steps(rows: Rows) -> Iterator[tuple[float, int]]:
            yield from picks(loss, rows.scores(), context)

        return _unfold(base, [kos_steps] * len(context.positives), rows, context, rate)
    orders = list(itertools.permutations(range(len(context.positives))))
    ends: list[Outcome] = []
    for order in orders:
        steps = [_only(event) for event in order]
        ends += [(p / len(orders), end) for p, end in _unfold(loss, steps, rows, context, rate)]
    return ends


Picker: TypeAlias = Callable[[Rows], Iterator[tuple[float, int]]]


def _only(event: int) -> Picker:
    def pick(rows: Rows) -> Iterator[tuple[float, int]]:
        yield 1.0, event

    return pick


def _unfold(loss: Loss, steps: list[Picker], rows: Rows, context: Context, rate: float) -> list[Outcome]:
    if not steps:
        return [(1.0, rows)]
    ends: list[Outcome] = []
    for chance, event in steps[0](rows):
        for choice in choices(loss, rows.scores(), context.positives[event], context):
            weighed = replace(choice, weight=choice.weight * context.weight(event))
            rest = _unfold(loss, steps[1:], rows.after(weighed, rate), context, rate)
            ends += [(chance * choice.probability * p, end) for p, end in rest]
    return ends


def expected_change(start: Rows, ends: list[Outcome]) -> Rows:
    """The mean over the outcomes of how far the rows moved."""
    user = sum((p * (end.user - start.user) for p, end in ends), np.zeros_like(start.user))
    items = sum((p * (end.items - start.items) for p, end in ends), np.zeros_like(start.items))
    return Rows(user, items, start.dim)


def numeric_gradient(objective: Callable[[], float], array: Floats, step: float = 1e-5) -> Floats:
    """Central differences of a function of an array, which is moved in place and put back."""
    gradient = np.zeros_like(array)
    for place in np.ndindex(array.shape):
        kept = array[place]
        array[place] = kept + step
        above = objective()
        array[place] = kept - step
        below = objective()
        array[place] = kept
        gradient[place] = (above - below) / (2 * step)
    return gradient
