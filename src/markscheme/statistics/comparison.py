"""Two models on the same problems: the difference with its interval, a p-value, and which problems moved.

Only problems that both models have a value for are compared, each with itself. Whether two runs may be compared at
all (same data, prompt, protocol, sampling) is not decided here: this sees counts only.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
import numpy.typing as npt

from markscheme.errors import UsageError
from markscheme.statistics import weighted_mean
from markscheme.statistics.counts import Counts
from markscheme.statistics.intervals import Interval, check_level, estimator, mean_interval, sampling_noise
from markscheme.statistics.permutation import fisher_p, sign_flip_p

Floats = npt.NDArray[np.float64]


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
    a: Interval
    b: Interval
    difference: Interval
    """B minus A, in the population that the problems are drawn from."""
    p_value: float
    """If the two were interchangeable on every problem, how often would they differ this much (two-sided, mid-p)?"""
    p_exact: bool
    """False where the p-value stands on 100,000 random sign flips, with a standard error below 0.001 at 0.05."""
    probability_better: float
    """That B's mean is above A's, given the data and no prior leaning."""
    problems: int
    unshared: int
    """Problems left out because only one model has them, or too few samples of one came back."""
    better: int
    worse: int
    moved: tuple[Moved, ...]
    """Largest change first."""


def compare(metric: str, a: Counts, b: Counts, level: float = 0.95, seed: int = 0) -> Comparison:
    """Compare model B with model A by a metric's name, as in `intervals.interval`."""
    check_level(level)
    theirs = set(b.keys)
    shared = [key for key in a.keys if key in theirs]
    one, two = a.select(shared), b.select(shared)
    estimate = estimator(metric)
    first, second = estimate(one.n, one.c), estimate(two.n, two.c)
    both = ~np.isnan(first) & ~np.isnan(second)
    if not both.any():
        raise UsageError(f"No problem has a value of {metric} in both runs, so there is nothing to compare.")
    keys = [key for key, kept in zip(shared, both, strict=True) if kept]
    one, two, first, second = one.select(keys), two.select(keys), first[both], second[both]
    noises = sampling_noise(estimate, one.n, one.c), sampling_noise(estimate, two.n, two.c)
    change = second - first
    p_value, exact = sign_flip_p(change, _denominator(metric, one, two), seed)
    return Comparison(
        metric=metric,
        a=mean_interval(first, level, noises[0]),
        b=mean_interval(second, level, noises[1]),
        difference=difference_interval(change, level, noises[0] + noises[1]),
        p_value=p_value,
        p_exact=exact,
        probability_better=probability_positive(change),
        problems=len(keys),
        unshared=len(set(a.keys) | theirs) - len(keys),
        better=int(np.sum(change > 0)),
        worse=int(np.sum(change < 0)),
        moved=_moved(one, two),
    )


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
    if metric not in ("accuracy", "pass@1", "pass^1"):
        return None
    return math.lcm(*{int(n) for n in (*a.n, *b.n)})


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
