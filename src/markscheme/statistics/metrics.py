"""Metrics by name, and the interval of any of them for any population."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import lru_cache
from typing import get_args

import msgspec
import numpy as np

from markscheme.errors import UsageError
from markscheme.statistics.arrays import Bools, Floats
from markscheme.statistics.counts import Counts
from markscheme.statistics.estimators import g_pass_at_k, pass_at_k, pass_hat_k
from markscheme.statistics.finite import stratified, whole_bounds
from markscheme.statistics.fixed_set import Spread
from markscheme.statistics.intervals import Interval, Population, mean_interval
from markscheme.statistics.metric import CountMetric, Metric
from markscheme.statistics.picking import BestOf, Majority

# At least one problem in ENOUGH must have a value. With fewer, pass@16 was 15 to 50 points too high if hard problems lose
# more samples, and its interval covered 82 to 92 % in several simulations.
ENOUGH = 2

# How a name is written, its pattern, and a function from the groups of the pattern to the metric.
TABLE: tuple[tuple[str, str, Callable[..., Metric]], ...] = (
    ("accuracy", r"accuracy", lambda: CountMetric(1, pass_at_k, every=False)),
    ("pass@K", r"pass@([1-9]\d*)", lambda k: CountMetric(int(k), pass_at_k, every=False)),
    ("pass^K", r"pass\^([1-9]\d*)", lambda k: CountMetric(int(k), pass_hat_k, every=True)),
    (
        "g-pass@K:TAU",
        r"g-pass@([1-9]\d*):(\d*\.?\d+)",
        lambda k, tau: CountMetric(int(k), lambda n, c, k: g_pass_at_k(n, c, k, float(tau))),
    ),
    ("maj@K", r"maj@([1-9]\d*)", lambda k: Majority(int(k))),
    (
        "best-of-K:SCORE",
        r"best-of-([1-9]\d*):(-?)(\w+)",
        lambda k, minus, field: BestOf(int(k), field, -1.0 if minus else 1.0),
    ),
)
NAMES = [written for written, *_ in TABLE]


@lru_cache(maxsize=256)  # votes are cached by metric
def metric(name: str) -> Metric:
    """Return a metric by its name."""
    for _, pattern, make in TABLE:
        if match := re.fullmatch(pattern, name):
            return make(*match.groups())
    raise UsageError(
        f"unknown metric {name!r}; the metrics are {', '.join(NAMES)} (best-of-K:-SCORE for the lowest score)"
    )


def per_problem(name: str, counts: Counts) -> Floats:
    """Return the metric's unbiased estimate for each problem, nan with too few samples."""
    return metric(name).values(counts)


def interval(name: str, counts: Counts, level: float = 0.95, population: Population = "problems drawn") -> Interval:
    """Return the estimate and interval of a metric by name.

    Both are about all problems of the run: a problem with fewer than k samples counts with an imputed value. A metric of
    several samples is undefined if fewer than half of the problems have a value, since these may be the easy ones. If
    samples are missing, bounds that hold whatever these are include every other figure.
    """
    if population not in get_args(Population):
        raise UsageError(f"the population is one of {', '.join(map(repr, get_args(Population)))}, not {population!r}")
    chosen = metric(name)
    values = chosen.values(counts)
    defined = ~np.isnan(values)
    if not defined.any() or (chosen.k > 1 and ENOUGH * defined.sum() < defined.size):
        result = mean_interval(np.full(values.size, np.nan), level)
    else:
        result = _defined(chosen, counts, values, level, population)
    if not counts.missing.any():
        return result
    if not (counts.n + counts.missing >= chosen.k).any():  # too few were asked
        return result
    if_wrong, if_right = (float(each.mean()) for each in chosen.extremes(counts))
    wrong, right = (interval(name, chosen.filled_in(counts, last), level, population) for last in (False, True))
    lowest, highest = min(wrong.low, if_wrong), max(right.high, if_right)
    if result.problems:
        # Summation order may change the last digit.
        result = msgspec.structs.replace(result, estimate=min(max(result.estimate, if_wrong), if_right))
        lowest, highest = min(lowest, result.low), max(highest, result.high)
    return msgspec.structs.replace(result, if_wrong=if_wrong, if_right=if_right, lowest=lowest, highest=highest)


def _defined(chosen: Metric, counts: Counts, values: Floats, level: float, population: Population) -> Interval:
    """Return the estimate and interval if enough problems have a value."""
    defined = ~np.isnan(values)
    expected = chosen.expected(counts)
    mean, these = float(np.nanmean(expected)), population == "these problems"
    drawn = mean_interval(
        expected, level, np.where(defined, chosen.noise(counts), np.inf), clusters=() if these else counts.clusters
    )
    doubted = _with_doubt(chosen, counts, expected, ~defined & ~np.isnan(expected), level)
    low, high = doubted(drawn.low, drawn.high)
    if these:
        fixed = chosen.on_these(counts)
        bounds = fixed.bounds(level)
        if not isinstance(fixed, Spread):  # a `Spread` already includes imputed problems
            bounds = doubted(*bounds)
        # The interval for similar problems is valid for these exact ones too. It is the narrower one if samples do not show
        # the noise: one of each, or k of k.
        low, high = bounds if counts.rounds else (max(low, bounds[0]), min(high, bounds[1]))
    elif population == "the whole benchmark" and counts.whole:
        known = ~np.isnan(expected)
        low, high = whole_bounds(expected[known], low, high, counts.whole, level)
        if counts.strata and counts.strata_sizes:
            labels = [label for label, has in zip(counts.strata, known, strict=True) if has]
            mean, low, high = stratified(expected[known], labels, counts.strata_sizes, low, high)
    return Interval(
        estimate=mean,
        low=min(low, mean),
        high=max(high, mean),
        level=level,
        method="these-problems" if these else drawn.method,
        problems=int(defined.sum()),
        undefined=int((~defined).sum()),
    )


def _with_doubt(
    chosen: Metric, counts: Counts, expected: Floats, guessed: Bools, level: float
) -> Callable[[float, float], tuple[float, float]]:
    """Return a function that widens bounds by the uncertainty of imputed problems."""
    if not guessed.any():
        return lambda low, high: (low, high)
    mean = float(np.nanmean(expected))
    part = counts.select([key for key, has in zip(counts.keys, guessed, strict=True) if has])
    share, bounds = float(guessed.mean()), chosen.doubt(part, level)
    below, above = (share * abs(bound - float(expected[guessed].mean())) for bound in bounds)
    return lambda low, high: (
        max(0.0, mean - math.hypot(mean - low, below)),
        min(1.0, mean + math.hypot(high - mean, above)),
    )
