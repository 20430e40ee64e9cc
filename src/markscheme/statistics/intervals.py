"""Intervals for a mean over problems, with the problem as the cluster.

The problems are taken as a sample from a population of such problems and the samples as draws of the model; the
interval covers the mean over that population. It is the Bayesian bootstrap over problems with one more imagined
problem that sits at the ends of the scale, so 30 of 30 correct has an interval of some width, and for one sample per
problem it becomes a beta interval between Jeffreys' and Clopper and Pearson's. Chosen by measured coverage; see
docs/statistics.md.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
import numpy.typing as npt

from markscheme.errors import UsageError
from markscheme.statistics import weighted_mean
from markscheme.statistics.counts import Counts
from markscheme.statistics.estimators import accuracy, g_pass_at_k, pass_at_k, pass_hat_k

Floats = npt.NDArray[np.float64]

# The imagined problem: three quarters of it lie at the end that the bound guards against, one quarter at the other.
# With all of it there and one sample a problem the interval would be Clopper and Pearson's (never below 95 %, often
# 98 %); half and half, Jeffreys' (down to 88 %). At three quarters no share of correct answers is covered less
# than 93 % for 15 to 1,319 problems.
_FAR, _NEAR = 0.75, 0.25


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """An estimate over problems and the range that covers the population mean with probability `level`."""

    estimate: float
    low: float
    high: float
    level: float
    method: str
    problems: int
    """Problems the estimate stands on."""
    undefined: int = 0
    """Problems left out because too few of their samples came back."""

    @property
    def half_width(self) -> float:
        """Half of high - low: the number behind the ± (the interval need not be symmetric)."""
        return (self.high - self.low) / 2


def mean_interval(values: npt.ArrayLike, level: float = 0.95) -> Interval:
    """The mean of one value in [0, 1] per problem, with its interval; nan marks a problem without a value."""
    everything = np.asarray(values, dtype=float).ravel()
    defined = everything[~np.isnan(everything)]
    undefined = int(everything.size - defined.size)
    check_level(level)
    if defined.size == 0:
        return Interval(
            estimate=math.nan, low=0.0, high=1.0, level=level, method="none", problems=0, undefined=undefined
        )
    if defined.min() < 0 or defined.max() > 1:
        raise UsageError("An interval needs one value between 0 and 1 per problem.")
    distinct, times = np.unique(defined, return_counts=True)
    low, high = _bounds(distinct, times.astype(float), level)
    return Interval(
        estimate=float(defined.mean()),
        low=low,
        high=high,
        level=level,
        method="weighted-problems",
        problems=int(defined.size),
        undefined=undefined,
    )


def _bounds(values: Floats, times: Floats, level: float) -> tuple[float, float]:
    tail = (1 - level) / 2
    points = np.concatenate([values, [0.0, 1.0]])
    low = weighted_mean.quantile(tail, points, np.concatenate([times, [_FAR, _NEAR]]))
    high = weighted_mean.quantile(1 - tail, points, np.concatenate([times, [_NEAR, _FAR]]))
    # The quarter at the near end must not push a bound past what was seen: nothing right at all allows a rate of 0.
    mean = float(times @ values / times.sum())
    return (0.0 if values.max() == 0 else min(low, mean)), (1.0 if values.min() == 1 else max(high, mean))


def interval(metric: str, counts: Counts, level: float = 0.95) -> Interval:
    """The estimate and interval of a metric by name: `accuracy`, `pass@4`, `pass^4` or `g-pass@4:0.5`."""
    return mean_interval(per_problem(metric, counts), level)


def per_problem(metric: str, counts: Counts) -> Floats:
    """The metric's unbiased estimate for each problem, nan where too few samples came back."""
    n, c = counts.n, counts.c
    name, _, argument = metric.replace("^", "@^").partition("@")
    if metric == "accuracy":
        return accuracy(n, c)
    try:
        if name == "pass" and argument.startswith("^"):
            return pass_hat_k(n, c, int(argument[1:]))
        if name == "pass":
            return pass_at_k(n, c, int(argument))
        if name == "g-pass":
            k, _, tau = argument.partition(":")
            return g_pass_at_k(n, c, int(k), float(tau))
    except ValueError:
        pass  # not a number where one belongs: the sentence below says what is understood
    raise UsageError(f"Unknown metric {metric!r}; there are accuracy, pass@K, pass^K and g-pass@K:TAU.")


def check_level(level: float) -> None:
    """Refuse a confidence level outside (0, 1), such as 95 for 95 %."""
    if not 0 < level < 1:
        raise UsageError(f"The confidence level is a share such as 0.95, not {level}.")
