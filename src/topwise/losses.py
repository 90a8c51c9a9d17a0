"""The losses: how a positive is picked, how its rank is found, and what a rank weighs.

A loss is a small dataclass that turns itself into plain tables for the kernel. Every one of them minimises
``L(rank)`` with ``L(r) = α_1 + … + α_r``, ``α_1 ≥ α_2 ≥ … ≥ 0`` (Usunier et al.: ordered weighted pairwise
classification), by steps along ``L(rank) · |margin − f(positive) + f(negative)|₊``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

Alpha: TypeAlias = str | Sequence[float] | npt.NDArray[Any]
Positions: TypeAlias = int | Sequence[float] | npt.NDArray[Any] | Callable[[float], float]
Floats: TypeAlias = npt.NDArray[np.float32]

ALPHAS = ("1/i", "mean", "ndcg")


def alpha_table(alpha: Alpha, n_items: int, top: int | None = None) -> npt.NDArray[np.float64]:
    """α_1 … α_{D−1} for D items.

    ``"1/i"`` cares most for the top of the list, ``"mean"`` is 1/(D−1), the mean rank, ``"ndcg"`` is
    1/log2(i+1); or an own array, the last value of which holds for all later ranks. ``top`` cuts the table:
    ranks past it add nothing.
    """
    ranks = np.arange(1, max(n_items, 2), dtype=np.float64)
    if isinstance(alpha, str):
        if alpha == "1/i":
            values = 1 / ranks
        elif alpha == "mean":
            values = np.full(len(ranks), 1 / len(ranks))
        elif alpha == "ndcg":
            values = 1 / np.log2(ranks + 1)
        else:
            raise ValueError(
                f"alpha must be one of {', '.join(map(repr, ALPHAS))} or an array, got {alpha!r}"
            )
    else:
        own = np.asarray(alpha, dtype=np.float64)
        if own.ndim != 1 or len(own) == 0:
            raise ValueError(f"alpha must be a one-dimensional array of weights, got shape {own.shape}")
        if not np.isfinite(own).all() or (own < 0).any():
            raise ValueError("alpha must be finite and at least 0")
        if (np.diff(own) > 0).any():
            rank = int(np.argmax(np.diff(own) > 0)) + 1
            raise ValueError(
                f"alpha must not rise with the rank, got {own[rank - 1]:g} at rank {rank} "
                f"and {own[rank]:g} after it"
            )
        if own[0] == 0:
            raise ValueError("alpha must begin above 0, or there is nothing to learn")
        values = own[np.minimum(np.arange(len(ranks)), len(own) - 1)]
    if top is not None:
        values = np.where(ranks <= top, values, 0)
    return values


def rank_weights(alpha: Alpha, n_items: int, top: int | None = None) -> npt.NDArray[np.float64]:
    """L(0), L(1) … L(D−1): the sums of the α."""
    return np.concatenate([[0.0], np.cumsum(alpha_table(alpha, n_items, top))])


@dataclass(frozen=True)
class KernelLoss:
    """A loss as the kernel reads it."""

    margin: float
    exact: bool
    max_trials: int
    violators: int
    weights: Floats
    trial_weights: Floats | None = None
    positions: Floats | None = None


@dataclass(frozen=True)
class Loss:
    """What all losses have in common."""

    margin: float = field(default=1.0, kw_only=True)
    name: ClassVar[str] = ""

    def check(self) -> None:
        """Refuses values that cannot be trained with."""
        if not (np.isfinite(self.margin) and self.margin > 0):
            raise ValueError(f"margin must be above 0, got {self.margin}")

    def kernel(self, n_items: int) -> KernelLoss:
        """The tables of this loss for a catalogue of so many items."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Plain data, from which `from_dict` makes the same loss again."""
        values = {key: _plain(value) for key, value in _shallow(self).items()}
        return {"loss": type(self).__name__, **values}


@dataclass(frozen=True)
class AUC(Loss):
    """Every pair of a positive and another item counts the same: the mean rank.

    One negative is drawn a step; nothing is weighed.
    """

    def kernel(self, n_items: int) -> KernelLoss:
        self.check()
        return KernelLoss(self.margin, False, 1, 1, np.ones(2, dtype=np.float32))


@dataclass(frozen=True)
class OWPC(Loss):
    """The rank is counted exactly: all items above ``f(positive) − margin``, one of which is the negative.

    ``refresh`` steps of a context share one scoring of the catalogue; 1 counts anew at every step, as the
    equation has it, and costs as much more. Larger values change results little and time much. A step goes
    along the mean over so many ``violators``.
    """

    alpha: Alpha = "1/i"
    top: int | None = None
    refresh: int = 16
    violators: int = 1

    def check(self) -> None:
        super().check()
        _check_count("refresh", self.refresh)
        _check_count("violators", self.violators)
        _check_top(self.top)
        alpha_table(self.alpha, 2)

    def kernel(self, n_items: int) -> KernelLoss:
        self.check()
        weights = rank_weights(self.alpha, n_items, self.top).astype(np.float32)
        return KernelLoss(self.margin, True, self.refresh, self.violators, weights)


@dataclass(frozen=True)
class WARP(Loss):
    """Weighted approximate-rank pairwise: draw until an item violates the margin, at the N-th trial, and take
    ⌊(D−1)/N⌋ for the rank.

    With ``violators`` K above 1, draw until K items violate, take ⌊(D−1)K/N⌋ and step along the mean of the
    K gradients: less noise, for K times the trials.

    The estimate is too high on average. With ``corrected`` it is (D−1)(K−1)/(N−1), which is not; and for one
    violator, where no estimate of the rank itself is of use, the weight of N trials is chosen so that its
    mean, given the true rank r, is L(r) (see `corrected_weights`).
    """

    alpha: Alpha = "1/i"
    top: int | None = None
    max_trials: int = 2000
    violators: int = 1
    corrected: bool = False

    def check(self) -> None:
        super().check()
        _check_count("max_trials", self.max_trials)
        _check_count("violators", self.violators)
        _check_top(self.top)
        alpha_table(self.alpha, 2)

    def kernel(self, n_items: int) -> KernelLoss:
        self.check()
        most = max(1, min(self.max_trials, n_items - 1))
        table = rank_weights(self.alpha, n_items, self.top)
        by_trials = corrected_weights(table, most).astype(np.float32) if self.corrected else None
        violators = min(self.violators, most)
        return KernelLoss(self.margin, False, most, violators, table.astype(np.float32), by_trials)


@dataclass(frozen=True)
class KOS(Loss):
    """K-order statistic: draw K positives of a context, order them by score, and train the one in position k.

    ``position`` is a fixed k from 1 (the best scored) to K; or K weights, one for each position; or a
    function of the percentile in (0, 1]. Early positions sharpen the very top; late ones lift the worst
    ranked positives, so that all of a user's tastes are served. ``base`` says what a step is: WARP (the
    default), AUC or OWPC, which brings its own margin. With fewer than K positives, position k becomes
    ⌈k K'/K⌉ of the K' there are.
    """

    k: int = 5
    position: Positions = 2
    base: Loss | None = None

    def check(self) -> None:
        _check_count("k", self.k)
        if isinstance(self.base, KOS):
            raise ValueError("base must be AUC, OWPC or WARP, got KOS")
        if self.base is not None and not isinstance(self.base, Loss):
            raise TypeError(f"base must be tw.AUC(), tw.OWPC() or tw.WARP(), got {self.base!r}")
        if self.base is not None and self.margin not in (1.0, self.base.margin):
            raise ValueError(
                f"the margin is that of the base, {self.base.margin:g}, got {self.margin:g} as well"
            )
        self._base().check()
        self.probabilities()

    def to_dict(self) -> dict[str, Any]:
        """A function for the position is kept as the K weights that it gives."""
        if callable(self.position):
            return replace(self, position=self.probabilities().tolist()).to_dict()
        return super().to_dict()

    def _base(self) -> Loss:
        return WARP(margin=self.margin) if self.base is None else self.base

    def probabilities(self) -> npt.NDArray[np.float64]:
        """P(1) … P(K), summing to one."""
        if isinstance(self.position, int | np.integer):
            if not 1 <= self.position <= self.k:
                raise ValueError(f"position must be between 1 and k = {self.k}, got {self.position}")
            weights = (np.arange(1, self.k + 1) == self.position).astype(np.float64)
        elif callable(self.position):
            weights = np.array([float(self.position(i / self.k)) for i in range(1, self.k + 1)])
        else:
            weights = np.asarray(self.position, dtype=np.float64)
            if weights.shape != (self.k,):
                raise ValueError(
                    f"position must have one weight for each of k = {self.k}, got {weights.shape}"
                )
        if not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() <= 0:
            raise ValueError(f"position weights must be at least 0 and not all 0, got {weights.tolist()}")
        shares: npt.NDArray[np.float64] = weights / weights.sum()
        return shares

    def kernel(self, n_items: int) -> KernelLoss:
        self.check()
        base = self._base().kernel(n_items)
        positions = np.cumsum(self.probabilities()).astype(np.float32)
        return replace(base, positions=positions)


def corrected_weights(table: npt.NDArray[np.float64], most: int) -> npt.NDArray[np.float64]:
    """Weights W(0) … W(most) of N trials with E[W(N) | rank r] = L(r), for ``table`` = L(0) … L(D−1).

    Draws are with replacement, so with M = D−1 and p = r/M it is P(N = n | r) = p(1−p)^{n−1}, and W must
    satisfy Σ_n W(n) P(n | r) = L(r) for every r. (H(M) − H(n−1), the answer to α = 1/i for draws without
    replacement, is a fifth too low at rank 1.) Least squares on the ratios finds W as a sum of steps that end
    at places t_j spread geometrically, W(n) = Σ_j c_j [n ≤ t_j] with c_j ≥ 0, so that W never rises and is at
    least 0. It is within 2 % of L at every rank for the named α, as long as M trials are allowed; with fewer,
    what stands at the very top is seldom found to be violated, and weighs less.
    """
    items = len(table) - 1  # M
    ends = np.unique(np.round(np.geomspace(1, most, 48)).astype(np.int64))
    ranks = np.unique(np.round(np.geomspace(1, items, 96)).astype(np.int64))
    stay = 1 - ranks / items
    # P(N ≤ t | r) = 1 − (1 − p)^t, relative to L(r).
    design = (1 - stay[:, None] ** ends[None, :]) / table[ranks][:, None]
    steps = _non_negative_least_squares(design, np.ones(len(ranks)))
    # W(n) is the sum of the steps that end at n or later.
    later = np.append(np.cumsum(steps[::-1])[::-1], 0)
    return np.concatenate([[0.0], later[np.searchsorted(ends, np.arange(1, most + 1))]])


def _non_negative_least_squares(
    design: npt.NDArray[np.float64], target: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Coordinate descent; the problems here have fewer than fifty unknowns."""
    gram, right = design.T @ design, design.T @ target
    x = np.zeros(design.shape[1])
    for _ in range(2000):
        before = x.copy()
        for j in range(len(x)):
            if gram[j, j] > 0:
                x[j] = max(0.0, x[j] + (right[j] - gram[j] @ x) / gram[j, j])
        if np.abs(x - before).max() <= 1e-10 * max(1.0, np.abs(x).max()):
            break
    return x


def loss_from_dict(data: dict[str, Any]) -> Loss:
    """The loss that `Loss.to_dict` wrote down."""
    kinds: dict[str, type[Loss]] = {kind.__name__: kind for kind in (AUC, OWPC, WARP, KOS)}
    kind = kinds.get(data.get("loss", ""))
    if kind is None:
        raise ValueError(f"loss must be one of {', '.join(kinds)}, got {data.get('loss')!r}")
    known = {f.name for f in fields(kind)}
    values = {key: value for key, value in data.items() if key in known}
    if isinstance(values.get("base"), dict):
        values["base"] = loss_from_dict(values["base"])
    return kind(**values)


def as_loss(loss: Loss | str | None) -> Loss:
    """A loss given as such, by its name, or not at all (WARP)."""
    if loss is None:
        return WARP()
    if isinstance(loss, str):
        return loss_from_dict({"loss": loss.upper()})
    if not isinstance(loss, Loss):
        raise TypeError(f"loss must be tw.AUC(), tw.OWPC(), tw.WARP() or tw.KOS(), got {type(loss).__name__}")
    return loss


def _shallow(loss: Loss) -> dict[str, Any]:
    return {f.name: getattr(loss, f.name) for f in fields(loss)}


def _plain(value: Any) -> Any:
    if isinstance(value, Loss):
        return value.to_dict()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    return list(value) if isinstance(value, list | tuple) else value


def _check_count(name: str, value: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")


def _check_top(top: int | None) -> None:
    if top is not None:
        _check_count("top", top)
