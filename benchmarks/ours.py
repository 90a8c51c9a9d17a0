"""Our own side of the comparisons, measured as the peers are."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from peers import DIM, Factors, Grid, Report
from trials import Trial

import topwise as tw


@dataclass
class Topwise(Factors):
    """MatrixFactorization with WARP, or with OWPC, which counts what WARP estimates: slower, and less noise.

    A fit is timed whole, with "auto" also the search for max_norm.
    """

    max_norm: float | str = "auto"
    violators: int = 1
    learning_rate: float = 0.8
    balance: float = 0.0
    """An event of a user with n of them weighs n^-balance: between all events alike and all users alike."""
    loss: Literal["warp", "owpc"] = "warp"

    name: ClassVar[str] = "topwise WARP"
    grid: ClassVar[Grid] = {
        "max_norm": (1.2, 1.35, 1.5, 1.65, 1.8, 1.9, 2.0, 2.15),
        "violators": (1, 4, 16),
        "learning_rate": (0.4, 0.8),
        "balance": (0.0, 0.25),
        "loss": ("warp", "owpc"),
    }
    stages: ClassVar[tuple[int, ...]] = (15, 20, 30, 40)

    def fit(self, trial: Trial, passes: Sequence[int], report: Report | None = None) -> None:
        for epochs in sorted(passes):
            model = tw.MatrixFactorization(
                dim=DIM,
                loss=self._loss(),
                epochs=epochs,
                learning_rate=self.learning_rate,
                max_norm=self.max_norm,
                threads=self.threads,
                seed=self.seed,
            )
            # Play counts as weights of steps make every side but ALS worse: the events count the same.
            train = self._weighted(replace(trial.log.take(trial.in_train), weight=None))
            started = time.perf_counter()
            model.fit(train, progress=False)
            seconds = time.perf_counter() - started
            self.found_norm = model.max_norm_
            self.user_rows = model.context_vectors(users=trial.log.vocabulary("user").ids)
            self.item_rows = model.item_vectors()
            if report is not None:
                report(epochs, seconds)

    def _loss(self) -> tw.losses.Loss:
        if self.loss == "owpc":
            return tw.OWPC(violators=self.violators, refresh=32)
        return tw.WARP(violators=self.violators)

    def _weighted(self, train: tw.Events) -> tw.Events:
        if self.balance == 0:
            return train
        users = train.codes("user")
        weight = np.bincount(users)[users] ** -self.balance
        return replace(train, weight=weight.astype(np.float32))


BEST: dict[str, tuple[Topwise, int]] = {
    "movielens-1m": (Topwise(1.9, 16, balance=0.25, loss="owpc"), 15),
    "amazon-beauty": (Topwise(1.35, 4), 40),
    "lastfm-hetrec": (Topwise(1.65, 4, balance=0.25), 20),
}
"""The best settings found, by recall@10 on the validation part of split 0, as for the peers."""

DEFAULT = (Topwise(), 30)
"""What a user gets who sets nothing."""
