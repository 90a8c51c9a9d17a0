"""max_norm="auto": the radius C of the papers' ball, found on a slice of the log held out."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from topwise.data import Events, Features, Pairs, split
from topwise.models.base import Embedding
from topwise.models.tables import Floats
from topwise.training.progress import Progress
from topwise.training.session import Session

# The quality has one peak in C, a sharp one: a fifth off costs a tenth of it. Shorter runs have it at larger
# C, since overfitting comes late, so the trials are as long as the fit itself; the guess is mostly within a
# step of 6 % of the best, so that three or four of them are enough.
RATIO = 1.06
HELD_OUT = 0.1
EPOCHS = 30
MOST_EVENTS = 2_000_000
# Of sparse logs each context has an event or two to judge by, and thousands of them hardly tell a step in C
# from chance: so many are asked as rank in about a second.
LEAST_JUDGES, JUDGED_SCORES = 4000, 1_000_000_000
METRIC = "ndcg@10"


GROWTH = 0.5
"""How much larger the best C is for ten times the events a context."""


def first_guess(events: int, contexts: int) -> float:
    """Where to begin: the best C of logs with 7, 40 and 76 events a user was 1.35, 1.7 and 1.9."""
    return max(0.5, 0.93 + GROWTH * float(np.log10(max(events, 1) / max(contexts, 1))))


@dataclass(frozen=True)
class Found:
    """The best C; and where the user broke off the search, the rows of its best run so far."""

    norm: float
    rows: dict[str, Floats] | None = None


def find_max_norm(
    model: Embedding, train: Events, features: dict[str, Features | None], bar: Progress
) -> Found:
    """Runs without a tenth of the events, which then judge them; the best C."""
    codes = train.codes(model.role_)
    guess = model._first_norm() or first_guess(len(train), len(np.unique(codes[codes >= 0])))
    if len(model.roles) > 1:
        guess /= 2**0.5  # a context is then the sum of two rows
    sample = _some_contexts(train, model.role_, model.seed, MOST_EVENTS / len(train))
    fitting, held_out = split.by_fraction(sample, test=HELD_OUT, seed=model.seed + 1)
    judges = _news(model, held_out, fitting)
    if len(fitting) == 0 or len(judges) == 0:
        return Found(guess)
    asked = max(LEAST_JUDGES, JUDGED_SCORES / max(judges.n("item"), 1))
    judges = _some_contexts(judges, model.role_, model.seed, asked / max(judges.n(model.role_), 1))
    search = _Search(model._for_trial(fitting, features), fitting, judges, features)

    def norm(place: float) -> float:
        return round(float(guess * RATIO**place), 4)

    def value(place: int) -> float:
        bar.note(f"max_norm {norm(place):.3g}")
        return search.value(norm(place))

    try:
        # The trials have fewer events a context than the fit, and so their best C is smaller.
        return Found(round(norm(_climb(value)) + GROWTH * float(np.log10(1 / (1 - HELD_OUT))), 4))
    except KeyboardInterrupt:
        run = search.best or search.running
        if run is None:
            raise
        return Found(run.norm, run.rows())


@dataclass
class _Run:
    """A model fitted for trial."""

    norm: float
    model: Embedding
    value: float = -np.inf

    def rows(self) -> dict[str, Floats]:
        return {name: side.rows for name, side in self.model._sides().items()}


class _Search:
    """The values of some C, each found once; of the runs, the best and the one under way are kept."""

    def __init__(
        self, model: Embedding, fitting: Events, judges: Events, features: dict[str, Features | None]
    ) -> None:
        self.model, self.fitting, self.judges, self.features = model, fitting, judges, features
        self.values: dict[float, float] = {}
        self.best: _Run | None = None
        self.running: _Run | None = None

    def value(self, norm: float) -> float:
        """The quality of a run with this C."""
        if norm not in self.values:
            trial = copy.copy(self.model)
            trial.__dict__ = {key: value for key, value in vars(self.model).items() if not key.endswith("_")}
            trial._create_sides(self.fitting, self.model.role_, self.features)
            self.running = _Run(norm, trial)
            self.running.value = self.values[norm] = self._quality(trial, norm)
            if self.best is None or self.running.value > self.best.value:
                self.best = self.running
        return self.values[norm]

    def _quality(self, trial: Embedding, norm: float) -> float:
        from topwise.evaluation import evaluate
        from topwise.training.fit import training_positives

        session = Session(trial, training_positives(trial, self.fitting), norm)
        epochs = min(EPOCHS, trial.epochs)
        for epoch in range(epochs):
            session.run_epoch(epoch, epochs, trial.learning_rate)
        session.update_mean_context()
        report = evaluate(
            trial,
            self.judges,
            metrics=[METRIC],
            exclude=trial._judged_without(self.fitting),
            threads=trial._threads(),
        )
        return float(report[METRIC])


def _climb(value: Callable[[int], float]) -> float:
    """The top of a hill with one peak: by steps, then on the parabola through the last three places."""
    place = 0
    while abs(place) <= 40:
        best = max((place, place - 1, place + 1), key=value)
        if best == place:
            break
        place = best
    before, here, after = value(place - 1), value(place), value(place + 1)
    bend = 2 * here - before - after
    return place if bend <= 0 else place + float(np.clip((after - before) / (2 * bend), -0.5, 0.5))


def _news(model: Embedding, held_out: Events, fitting: Events) -> Events:
    """Held-out events that do not repeat one of the others, where only they can be judged by."""
    if model._judged_without(fitting) is None:
        return held_out
    n_items = max(fitting.n("item"), 1)
    pairs = Pairs.of(fitting) if len(model.roles) > 1 else None

    def key(log: Events) -> npt.NDArray[np.int64]:
        context = (
            log.codes(model.role_) if pairs is None else pairs.find(log.codes("user"), log.codes("query"))
        )
        return np.where(context < 0, -1 - log.item, context.astype(np.int64) * n_items + log.item)

    return held_out.take(~np.isin(key(held_out), key(fitting)))


def _some_contexts(log: Events, role: str, seed: int, share: float) -> Events:
    """The events of a random share of the contexts."""
    if share >= 1:
        return log
    chosen = np.random.default_rng(seed).random(log.n(role)) < share
    return log.take(chosen[log.codes(role)])
