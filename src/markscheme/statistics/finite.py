"""Finite populations: the score on all problems of a benchmark, from a run on a random part of them.

With one binary value per problem (one sample, or k of k) the interval is exact (hypergeometric). Otherwise the interval
for similar problems shrinks by the finite population correction.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence

import numpy as np

from markscheme.errors import UsageError
from markscheme.statistics.arrays import Floats
from markscheme.statistics.estimators import at_least


def whole_bounds(values: Floats, low: float, high: float, whole: int, level: float) -> tuple[float, float]:
    """Return low and high for the mean over `whole` problems, from a part and its interval for similar problems."""
    part = values.size
    if part > whole:
        raise UsageError(f"{part} problems cannot be a part of {whole}")
    mean = float(values.mean())
    if np.all((values == 0) | (values == 1)):
        # The exact interval may be wider with few problems, but the other one is valid for the whole too.
        least, most = exact_bounds(round(float(values.sum())), part, whole, level)
        return max(least, low), min(most, high)
    left = math.sqrt((whole - part) / max(1, whole - 1))
    known = mean * part / whole  # each of the others adds between 0 and 1
    return max(known, mean - left * (mean - low)), min(known + 1 - part / whole, mean + left * (high - mean))


def stratified(
    values: Floats, strata: Sequence[str], sizes: Mapping[str, int], low: float, high: float
) -> tuple[float, float, float]:
    """Return the mean over the whole, low and high, narrowing a simple random sample's interval by stratification.

    Distances shrink by the ratio of standard errors. The overall variance counts as two more problems in each stratum.
    """
    labels, whole = np.asarray(strata), sum(sizes.values())
    overall = float(values.var(ddof=1)) if values.size > 1 else 0.0
    mean = within = 0.0
    for label in np.unique(labels).tolist():
        mine = values[labels == label]
        weight, count = sizes[label] / whole, mine.size
        mean += weight * float(mine.mean())
        spread = (float(((mine - mine.mean()) ** 2).sum()) + 2 * overall) / (count + 1)
        within += weight**2 * max(0.0, 1 - count / sizes[label]) * spread / count
    covered = sum(sizes[label] for label in {*strata}) / whole
    mean = mean / covered if covered else mean  # a stratum without a drawn problem is assumed to be like the others
    plain = (1 - values.size / whole) * overall / values.size
    narrower = min(1.0, math.sqrt(within / plain)) if plain > 0 else 1.0
    centre = float(values.mean())
    return mean, max(0.0, mean - narrower * (centre - low)), min(1.0, mean + narrower * (high - centre))


def exact_bounds(right: int, part: int, whole: int, level: float) -> tuple[float, float]:
    """Return the shares of the whole that make neither the observed number nor more extreme ones too unlikely."""
    tail = (1 - level) / 2

    def fewest(seen: int) -> int:
        """Return the fewest in the whole with which at least `seen` in the part are not too unlikely."""
        totals = range(seen, whole - part + seen)
        return seen + bisect_left(totals, True, key=lambda total: at_least(seen, whole, total, part) > tail)

    return fewest(right) / whole, (whole - fewest(part - right)) / whole
