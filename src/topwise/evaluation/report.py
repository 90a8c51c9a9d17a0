"""The outcome of an evaluation: means, intervals and the values of single contexts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from topwise.evaluation.cases import Ids
from topwise.evaluation.metrics import Integers, Metric, Values
from topwise.evaluation.resampling import bootstrap_intervals


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """Metrics by name, in any of their spellings: `report["recall@10"]` is a mean over contexts.

    `unseen_contexts` and `unseen_items` count what the model does not know; `excluded_events` the test events
    that were dropped because `exclude` has them as well, `repeated_events` those that repeat another one.
    """

    metrics: tuple[Metric, ...]
    values: Values  # a row for each metric, a column for each context
    context_ids: dict[str, Ids]
    relevant: Integers
    unseen_contexts: int
    unseen_items: int
    excluded_events: int
    repeated_events: int
    confidence: float
    resamples: int
    seed: int
    convention: str | None = None  # of judgments

    def __getitem__(self, name: str) -> float:
        return float(self.per_context(name).mean())

    def per_context(self, name: str) -> Values:
        """One value a context, in the order of `contexts`."""
        values: Values = self.values[self._row(name)]
        return values

    def interval(self, name: str) -> tuple[float, float]:
        """Where the mean would lie with other contexts from the same source: a bootstrap interval."""
        low, high = self._intervals[self._row(name)]
        return float(low), float(high)

    @property
    def contexts(self) -> Ids:
        """The ids of the contexts; pairs of ids where a context has two roles."""
        if len(self.roles) == 1:
            return self.context_ids[self.roles[0]]
        pairs = np.empty(self.n_contexts, dtype=object)
        pairs[:] = list(zip(*self.context_ids.values(), strict=True))
        return pairs

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that make a context."""
        return tuple(self.context_ids)

    @property
    def n_contexts(self) -> int:
        """The contexts with something to find, which all means are over."""
        return len(self.relevant)

    @property
    def n_relevant(self) -> int:
        """The pairs of a context and an item to find."""
        return int(self.relevant.sum())

    def __iter__(self) -> Iterator[str]:
        return (metric.name for metric in self.metrics)

    def __len__(self) -> int:
        return len(self.metrics)

    def __contains__(self, name: object) -> bool:
        try:
            return Metric.parse(name) in self.metrics  # type: ignore[arg-type]
        except (TypeError, ValueError):
            return False

    def to_dict(self) -> dict[str, Any]:
        """Everything but the values of single contexts, ready for JSON."""
        return {
            "metrics": {name: {"mean": self[name], "interval": list(self.interval(name))} for name in self},
            "confidence": self.confidence,
            **({} if self.convention is None else {"convention": self.convention}),
            **{name: getattr(self, name) for name in ("n_contexts", "n_relevant", *_NOTES)},
        }

    def __repr__(self) -> str:
        width = max(len("metric"), *map(len, self))
        lines = [f"{'metric':{width}}  {'mean':>9}   {100 * self.confidence:g} % interval"]
        for name in self:
            low, high = self.interval(name)
            lines.append(f"{name:{width}}  {_shown(self[name]):>9}   {_shown(low)} to {_shown(high)}")
        lines.append(
            f"{self.n_contexts:,} contexts ({', '.join(self.roles)}), {self.n_relevant:,} items to find"
        )
        if self.convention is not None:
            lines.append(f"convention: {self.convention}")
        lines += [f"{said}: {getattr(self, name):,}" for name, said in _NOTES.items() if getattr(self, name)]
        return "\n".join(lines)

    def _row(self, name: str) -> int:
        metric = Metric.parse(name)
        if metric not in self.metrics:
            raise ValueError(f"{metric.name} was not evaluated, only {', '.join(self)}: add it to metrics=")
        return self.metrics.index(metric)

    @cached_property
    def _intervals(self) -> Values:
        # Left until somebody asks, because a validation in every epoch does not.
        return bootstrap_intervals(self.values, self.confidence, self.resamples, self.seed)


_NOTES = {
    "unseen_contexts": "contexts unknown to the model",
    "unseen_items": "items unknown to the model, so never found",
    "excluded_events": "test events left out, since exclude has them as well",
    "repeated_events": "test events that repeat another",
}


def _shown(value: float) -> str:
    return f"{value:.4f}" if abs(value) < 10 else f"{value:.2f}"
