"""How sure a mean over contexts is: bootstrap intervals and the sign-flip test."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

# More contexts than this are first summed in as many random groups. The spread of a mean over groups drawn
# again is that of one over contexts drawn again, and so the time has a bound whatever the size of the log.
_GROUPS = 16_384
_AT_ONCE = 64


def bootstrap_intervals(values: Values, confidence: float, resamples: int, seed: int) -> Values:
    """The interval of each row's mean over contexts (columns), by drawing the contexts anew, as [low, high].

    All rows see the same draws. The percentile method of Efron (1979).
    """
    rng = np.random.default_rng(seed)
    grouped = _grouped(np.vstack([values, np.ones(values.shape[1])]), rng)
    count = grouped.shape[1]
    sums = np.empty((resamples, len(grouped)))
    for start in range(0, resamples, _AT_ONCE):
        rows = min(_AT_ONCE, resamples - start)
        drawn = rng.integers(0, count, (rows, count)) + np.arange(rows)[:, None] * count
        times = np.bincount(drawn.ravel(), minlength=rows * count).reshape(rows, count)
        sums[start : start + rows] = times.astype(np.float64) @ grouped.T
    means = sums[:, :-1] / sums[:, -1:]
    tail = (1 - confidence) / 2
    return np.quantile(means, [tail, 1 - tail], axis=0).T


def sign_flip_p_value(differences: Values, resamples: int, seed: int) -> float:
    """How often the mean of paired differences is as far from 0 as it is, if their signs were a coin's.

    The two-sided paired randomisation test of Fisher, which Smucker, Allan and Carterette (2007) recommend
    for comparing systems; the observed signs count as one of the draws.
    """
    rng = np.random.default_rng(seed)
    grouped = _grouped(differences[None, differences != 0], rng)[0]
    observed = abs(grouped.sum())
    bar = observed - 1e-12 * np.abs(grouped).sum()  # the order of summing must not break ties
    as_far = 0
    for start in range(0, resamples, _AT_ONCE):
        rows = min(_AT_ONCE, resamples - start)
        heads = rng.integers(0, 2, (rows, len(grouped)), dtype=np.int8)
        as_far += int(np.count_nonzero(np.abs((2.0 * heads - 1) @ grouped) >= bar))
    return float((as_far + 1) / (resamples + 1))


def _grouped(values: Values, rng: np.random.Generator) -> Values:
    """Sums of columns over random groups, where there are more columns than groups."""
    count = values.shape[1]
    if count <= _GROUPS:
        return values
    starts = np.arange(_GROUPS) * count // _GROUPS
    sums: Values = np.add.reduceat(values[:, rng.permutation(count)], starts, axis=1)
    return sums
