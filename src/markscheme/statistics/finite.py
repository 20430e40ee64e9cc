"""A random part for the whole: what a run on all problems of a benchmark would have given, from a run on some of them.

The problems that were asked are known, so only the others are uncertain. Right or wrong once each (one sample, or k of k)
is a draw without replacement, and its interval is exact; else the distances of the interval for problems drawn shrink by
the root of the part that was not asked (finite population correction).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from markscheme.errors import UsageError
from markscheme.statistics.estimators import hypergeometric

Floats = npt.NDArray[np.float64]


def whole_bounds(values: Floats, low: float, high: float, whole: int, level: float) -> tuple[float, float]:
    """Low and high for the mean over `whole` problems, from the values of a part and its interval for problems drawn."""
    part = values.size
    if part > whole:
        raise UsageError(f"{part} problems cannot be a part of {whole}")
    mean = float(values.mean())
    if np.all((values == 0) | (values == 1)):
        # A part is never less certain of the whole than of problems like these; with few the exact interval would be wider.
        least, most = exact_bounds(round(float(values.sum())), part, whole, level)
        return max(least, low), min(most, high)
    left = math.sqrt((whole - part) / max(1, whole - 1))
    known = mean * part / whole  # what the others can add to is at most 1 each
    return max(known, mean - left * (mean - low)), min(known + 1 - part / whole, mean + left * (high - mean))


def stratified(
    values: Floats, strata: Sequence[str], sizes: Mapping[str, int], low: float, high: float
) -> tuple[float, float, float]:
    """The mean over the whole, low and high, from those of a plain part: strata of which a part each was drawn vary less.

    The distances shrink by the root of both variances. In a stratum with few problems that of all counts as two more.
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
    mean = mean / covered if covered else mean  # a stratum of which nothing was drawn is taken for like the others
    plain = (1 - values.size / whole) * overall / values.size
    narrower = min(1.0, math.sqrt(within / plain)) if plain > 0 else 1.0
    centre = float(values.mean())
    return mean, max(0.0, mean - narrower * (centre - low)), min(1.0, mean + narrower * (high - centre))


def exact_bounds(right: int, part: int, whole: int, level: float) -> tuple[float, float]:
    """The shares of right ones in the whole that make neither so many, nor so few, among the part too unlikely."""
    tail = (1 - level) / 2
    fewest = _first(right, whole - part + right, lambda total: _at_least(right, part, total, whole) > tail)
    most = whole - _first(part - right, whole - right, lambda total: _at_least(part - right, part, total, whole) > tail)
    return fewest / whole, most / whole


def _at_least(seen: int, part: int, total: int, whole: int) -> float:
    """The chance of at least `seen` among the part, if there are `total` in the whole."""
    first, mass = hypergeometric(whole, total, part)
    return float(mass[max(0, seen - first) :].sum())


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The first number from low to high for which it holds; it goes on to hold, and does at the end."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low
