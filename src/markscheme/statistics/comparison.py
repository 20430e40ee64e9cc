"""Two models on the same problems: the difference with its interval, a p-value, and which problems moved.

Only problems that both models have a value for are compared, each with itself. Whether two runs may be compared at
all (same data, prompt, protocol, sampling) is not decided here: this sees counts only.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import msgspec
import numpy as np
import numpy.typing as npt

from markscheme.errors import UsageError
from markscheme.statistics import quantiles, weighted_mean
from markscheme.statistics.counts import Counts
from markscheme.statistics.intervals import Interval, Population, check_level, mean_interval
from markscheme.statistics.metrics import PLAIN, estimator, interval, noise, per_problem
from markscheme.statistics.permutation import fisher_p, relabel_p, sign_flip_p

Floats = npt.NDArray[np.float64]

_LARGEST_DENOMINATOR = 1_000_000  # beyond it, as with many different sample numbers, the exact table is too long


class Moved(msgspec.Struct, frozen=True):
    """A problem that one model solves more often than the other."""

    key: str
    a: tuple[int, int]
    """Correct samples and samples of model A."""
    b: tuple[int, int]
    difference: float
    p_value: float
    """Of this problem alone (Fisher, mid-p). Among many problems, mind `beyond_chance`."""
    beyond_chance: bool
    """Significant when the problems are tested together, with at most 5 % false among those marked."""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """What can be said about model B against model A on the problems they share."""

    metric: str
    population: Population
    a: Interval
    b: Interval
    difference: Interval
    """B minus A."""
    p_value: float
    """If the two were interchangeable on every problem, how often would they differ this much (two-sided, mid-p)?"""
    p_exact: bool
    """False where the p-value stands on random draws (at least 10,000), with a standard error of at most 0.002 at 0.05."""
    probability_better: float
    """That B's mean is above A's, given the data and no prior leaning."""
    problems: int
    unshared: int
    """Problems left out because only one model has them, or too few samples of one came back."""
    better: int
    worse: int
    moved: tuple[Moved, ...]
    """Largest change first."""


def compare(
    metric: str,
    a: Counts,
    b: Counts,
    level: float = 0.95,
    seed: int = 0,
    population: Population = "problems drawn",
) -> Comparison:
    """Compare model B with model A by a metric's name: over problems like these, or on these problems only."""
    check_level(level)
    one, two, shared = _paired(metric, a, b)
    change = per_problem(metric, two) - per_problem(metric, one)
    scores = interval(metric, one, level, population), interval(metric, two, level, population)
    if population == "problems drawn":
        difference = difference_interval(change, level, noise(metric, one) + noise(metric, two))
        p_value, exact = sign_flip_p(change, _denominator(metric, one, two), seed)
    else:
        difference = _difference_of(*scores)
        if one.rounds or two.rounds:
            # Samples cannot be dealt anew where answers decided how many there are.
            p_value, exact = 2 * NormalDist().cdf(-abs(_z(difference))), False
        else:
            value = None if metric in PLAIN else estimator(metric)
            p_value, exact = relabel_p((one.n, one.c), (two.n, two.c), value, seed)
    return Comparison(
        metric=metric,
        population=population,
        a=scores[0],
        b=scores[1],
        difference=difference,
        p_value=p_value,
        p_exact=exact,
        probability_better=_probability_better(difference, change, population),
        problems=len(one.keys),
        unshared=shared - len(one.keys),
        better=int(np.sum(change > 0)),
        worse=int(np.sum(change < 0)),
        moved=_moved(one, two),
    )


def _paired(metric: str, a: Counts, b: Counts) -> tuple[Counts, Counts, int]:
    """The problems with a value in both, in A's order, and how many problems there are in all."""
    theirs = set(b.keys)
    keys = [key for key in a.keys if key in theirs]
    one, two = a.select(keys), b.select(keys)
    both = ~np.isnan(per_problem(metric, one)) & ~np.isnan(per_problem(metric, two))
    if not both.any():
        raise UsageError(f"no problem has a value of {metric} in both runs, so there is nothing to compare")
    kept = [key for key, has in zip(keys, both, strict=True) if has]
    return one.select(kept), two.select(kept), len(theirs | set(a.keys))


def _difference_of(a: Interval, b: Interval) -> Interval:
    """B minus A from two independent intervals, distance by distance (MOVER)."""
    estimate = b.estimate - a.estimate
    return msgspec.structs.replace(
        b,
        estimate=estimate,
        low=max(-1.0, estimate - math.hypot(b.estimate - b.low, a.high - a.estimate)),
        high=min(1.0, estimate + math.hypot(b.high - b.estimate, a.estimate - a.low)),
    )


def _probability_better(difference: Interval, change: Floats, population: Population) -> float:
    if population == "problems drawn":
        return probability_positive(change)
    return NormalDist().cdf(_z(difference))


def _z(difference: Interval) -> float:
    """The difference in standard errors, those of the interval on the side of zero."""
    gap = difference.estimate - (difference.low if difference.estimate > 0 else difference.high)
    error = abs(gap) / quantiles.normal((1 + difference.level) / 2)
    return difference.estimate / error if error > 0 else 0.0


def difference_interval(change: npt.ArrayLike, level: float = 0.95, noise: npt.ArrayLike | None = None) -> Interval:
    """The mean of per-problem differences in [-1, 1] with its interval; `noise` as in `mean_interval`.

    The imagined problem of `mean_interval` moves as far as the most moved of the real ones, and from one end of the
    scale to the other if none moved.
    """
    moves = np.asarray(change, dtype=float)
    reach = float(np.abs(moves).max(initial=0.0)) or 1.0
    scaled_noise = None if noise is None else np.asarray(noise, dtype=float) / (2 * reach) ** 2
    # Clipped, because rounding may put the most moved problem a hair outside [0, 1].
    found = mean_interval(np.clip((moves / reach + 1) / 2, 0.0, 1.0), level, scaled_noise)
    return msgspec.structs.replace(
        found,
        estimate=float(moves.mean()),
        low=reach * (2 * found.low - 1),
        high=reach * (2 * found.high - 1),
    )


def probability_positive(change: npt.ArrayLike) -> float:
    """The posterior chance that the mean difference is above zero, with half an imagined problem at either end."""
    moves = np.asarray(change, dtype=float)
    reach = float(np.abs(moves).max(initial=0.0)) or 1.0
    distinct, times = np.unique(moves, return_counts=True)
    points, weights = np.append(distinct, [-reach, reach]), np.append(times, [0.5, 0.5])
    return 1.0 - weighted_mean.cdf(0.0, points, weights)


def _denominator(metric: str, a: Counts, b: Counts) -> int | None:
    """A number that makes every difference of accuracies whole, or None where there is no small one."""
    if metric not in PLAIN or a.rounds or b.rounds:
        return None
    common = math.lcm(*{int(n) for n in (*a.n, *b.n)})
    return common if common <= _LARGEST_DENOMINATOR else None


def _moved(a: Counts, b: Counts) -> tuple[Moved, ...]:
    rows = []
    for key, n_a, c_a, n_b, c_b in zip(a.keys, a.n.tolist(), a.c.tolist(), b.n.tolist(), b.c.tolist(), strict=True):
        difference = c_b / n_b - c_a / n_a
        if difference:
            rows.append((key, (c_a, n_a), (c_b, n_b), difference, fisher_p(c_a, n_a, c_b, n_b)))
    rows.sort(key=lambda row: (-abs(row[3]), row[4], row[0]))
    limit = _false_discovery_limit([row[4] for row in rows], len(a.keys))
    return tuple(Moved(*row, beyond_chance=row[4] <= limit) for row in rows)


def _false_discovery_limit(p_values: list[float], tests: int, rate: float = 0.05) -> float:
    """Benjamini and Hochberg: the largest p-value that counts when `tests` were made; -1 if none does."""
    ordered = sorted(p_values)
    kept = [p for rank, p in enumerate(ordered, start=1) if p <= rate * rank / tests]
    return max(kept, default=-1.0)
