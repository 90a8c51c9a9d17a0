"""Whether a claim of a paper holds here: the size of each effect, its interval over seeds, and one word."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from topwise.papers.study import Claim, Column, Study

HOLDS, PARTLY, FAILS = "holds", "holds partly", "does not hold"

# Student's t for a 95 % interval, by the number of seeds.
_T = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306, 10: 2.262}
_LEAST = 1e-9


def mean_interval(values: Sequence[float]) -> tuple[float, float | None]:
    """The mean over seeds, and the half width of its 95 % interval; None from one seed."""
    array = np.asarray(values, dtype=np.float64)
    if len(array) < 2:
        return float(array.mean()), None
    return float(array.mean()), float(_T.get(len(array), 1.96) * array.std(ddof=1) / math.sqrt(len(array)))


def effect(
    better: Sequence[float], worse: Sequence[float], larger: bool = True, by: float = 1.0
) -> dict[str, Any]:
    """How much better, as a share of the worse, seed by seed; and whether that is above what is claimed.

    An effect holds when the whole interval over seeds is on the claimed side, partly when its mean is.
    """
    sign = 1 if larger else -1
    ratios = [
        sign * math.log(max(one, _LEAST) / max(other, _LEAST))
        for one, other in zip(better, worse, strict=True)
    ]
    mean, half = mean_interval(ratios)
    least = math.log(by)
    said = HOLDS if mean - (half or 0) > least else PARTLY if mean > least else FAILS
    if half is None and said == HOLDS:
        said = PARTLY  # one seed shows a direction, and no more
    bounds = None if half is None else [math.expm1(mean - half), math.expm1(mean + half)]
    return {"effect": math.expm1(mean), "interval": bounds, "larger": larger, "verdict": said}


def judged(study: Study, results: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every claim with its comparisons on each data set, and its verdict over all of them."""
    return [_judge(study, claim, results) for claim in study.claims]


def overall(verdicts: Sequence[str]) -> str:
    """All hold: holds. None even partly: does not hold. Else: holds partly."""
    if not verdicts:
        return "not measured"
    if all(verdict == HOLDS for verdict in verdicts):
        return HOLDS
    return FAILS if all(verdict == FAILS for verdict in verdicts) else PARTLY


def _judge(study: Study, claim: Claim, results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    heads = claim.columns or tuple(column.head for column in study.columns)
    columns = [column for column in study.columns if column.head in heads]
    comparisons = []
    for result in results:
        rows = {row["method"]: row for row in result["rows"]}
        for column in columns:
            pairs = [(claim.better, row, column.head) for row in claim.than]
            pairs += [(claim.better, claim.better, claim.over)] if claim.over else []
            for one, other, head in pairs:
                a, b = _values(rows, one, column.head), _values(rows, other, head)
                if a and b and len(a) == len(b):
                    found = effect(a, b, column.larger, claim.by)
                    where = {"data": result["data"], "column": column.head}
                    against = other if not claim.over else claim.over
                    comparisons.append({**where, "better": one, "than": against, **found})
    said = overall([comparison["verdict"] for comparison in comparisons])
    return {"claim": claim.text, "verdict": said, "comparisons": comparisons}


def _values(rows: dict[str, dict[str, Any]], method: str, head: str) -> list[float]:
    cell = rows.get(method, {}).get("cells", {}).get(head)
    return [] if cell is None else list(cell["values"])


def relative(column: Column, values: Sequence[float], base: Sequence[float]) -> list[float]:
    """The change of each seed's value against the base row's."""
    return [one / other - 1 if other else math.nan for one, other in zip(values, base, strict=True)]
