"""Parameters that are left to a validation log."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from topwise.baselines.data import Training
from topwise.evaluation import evaluate


def check_weight(name: str, value: Any, most: float = math.inf) -> None:
    """Refuses what is neither "auto" nor a finite number from 0 on."""
    if isinstance(value, str):
        if value != "auto":
            raise ValueError(f"{name} must be a number or 'auto', got {value!r}")
        return
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise TypeError(f"{name} must be a number or 'auto', got {value!r}")
    if not (0 <= float(value) <= most and math.isfinite(value)):
        bound = "at least 0 and finite" if math.isinf(most) else f"between 0 and {most:g}"
        raise ValueError(f"{name} must be {bound}, got {value}")


def choose(
    model: Any, name: str, grid: Sequence[float], metric: str, data: Training, use: Callable[[float], None]
) -> dict[float, float]:
    """Measures a fitted model with each value, and leaves it with the best one, the first of equals.

    The events of `train` are left out of the lists. Gives what was measured.
    """
    if data.validation is None:
        raise ValueError(f"{name}='auto' is chosen on a validation log: pass validation=, or a number")
    if len(grid) == 0:
        raise ValueError(f"{name}='auto' needs at least one value to choose from, got an empty grid")
    lower_is_better = metric.startswith(("mean_rank", "max_rank", "rank_loss"))
    measured = {}
    for value in grid:
        use(float(value))
        report = evaluate(model, data.validation, [metric], exclude=data.log, bootstrap=1)
        measured[float(value)] = float(report[metric])
    sign = -1 if lower_is_better else 1
    use(max(measured, key=lambda value: sign * measured[value]))
    return measured
