"""One table of metrics by name, and the interval of any of them: for problems like these, or for these problems."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import get_args

import msgspec
import numpy as np
import numpy.typing as npt

from markscheme.errors import UsageError
from markscheme.statistics.counts import Counts
from markscheme.statistics.estimators import g_pass_at_k, pass_at_k, pass_hat_k
from markscheme.statistics.finite import stratified, whole_bounds
from markscheme.statistics.fixed_set import Spread
from markscheme.statistics.intervals import Interval, Population, mean_interval
from markscheme.statistics.metric import CountMetric, Metric
from markscheme.statistics.picking import BestOf, Majority

Floats = npt.NDArray[np.float64]
# One problem in so many must have a value. With fewer, pass@16 was 15 to 50 points too high where hard problems lose
# more samples, and its interval held in 82 to 92 % of the simulated runs of several kinds.
ENOUGH = 2

# How a name is written, its pattern, and the metric that the parts of the pattern make. A new metric is a line here.
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
        "best-of-K:SCORE (:-SCORE for the lowest)",
        r"best-of-([1-9]\d*):(-?)(\w+)",
        lambda k, minus, field: BestOf(int(k), field, -1.0 if minus else 1.0),
    ),
)


def metric(name: str) -> Metric:
    """A metric by its name."""
    for _, pattern, make in TABLE:
        if match := re.fullmatch(pattern, name):
            return make(*match.groups())
    raise UsageError(f"{name!r} is no metric; there are {', '.join(written for written, *_ in TABLE)}")


def per_problem(name: str, counts: Counts) -> Floats:
    """The metric's unbiased estimate for each problem, nan where too few samples came back."""
    return metric(name).values(counts)


def interval(name: str, counts: Counts, level: float = 0.95, population: Population = "problems drawn") -> Interval:
    """The estimate and interval of a metric by name.

    Estimate and interval are about all problems that were asked: one with fewer than k samples counts with what these let
    one expect of the rest. A metric of several samples that fewer than half of the problems have a value of is undefined:
    those with all samples may be the easy ones. Where samples are missing, the interval that holds whatever they would have
    been is given too; every other figure lies within it.
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
        # A mean of the same numbers in another order may differ in the last digit.
        result = msgspec.structs.replace(result, estimate=min(max(result.estimate, if_wrong), if_right))
        lowest, highest = min(lowest, result.low), max(highest, result.high)
    return msgspec.structs.replace(result, if_wrong=if_wrong, if_right=if_right, lowest=lowest, highest=highest)


def _defined(chosen: Metric, counts: Counts, values: Floats, level: float, population: Population) -> Interval:
    """The estimate and interval where enough problems have a value."""
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
        if not isinstance(fixed, Spread):  # which has the doubt in it
            bounds = doubted(*bounds)
        # Problems that are given vary less than problems drawn, so the other interval holds for them too. It is the
        # narrower one where samples do not show the noise: one of each, or k of k.
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
    chosen: Metric, counts: Counts, expected: Floats, guessed: npt.NDArray[np.bool_], level: float
) -> Callable[[float, float], tuple[float, float]]:
    """Bounds with the doubt about problems that have too few samples: what these are expected to have is uncertain."""
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
