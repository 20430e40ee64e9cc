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
from markscheme.statistics.intervals import Interval, Population, mean_interval
from markscheme.statistics.metric import CountMetric, Metric
from markscheme.statistics.picking import BestOf, Majority

Floats = npt.NDArray[np.float64]
ENOUGH = 2
"""One problem in so many must have a value. With fewer, pass@16 was 15 to 50 points too high where hard problems lose more
samples, and its interval held in 82 to 92 % of the simulated runs of several kinds."""

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

    The estimate is over the problems that have a value. Where others have none the interval is about all of them: it
    takes what their samples let one expect, and always contains the estimate. A metric of several samples that fewer than
    half of the problems have a value of is undefined: those with all samples may be the easy ones. Where samples are
    missing, the interval that holds whatever they would have been is given too.
    """
    if population not in get_args(Population):
        raise UsageError(f"the population is 'problems drawn' or 'these problems', not {population!r}")
    chosen = metric(name)
    values = chosen.values(counts)
    defined = ~np.isnan(values)
    if not defined.any() or (chosen.k > 1 and ENOUGH * defined.sum() < defined.size):
        result = mean_interval(np.full(values.size, np.nan), level)
    else:
        result = _defined(chosen, counts, values, level, population)
    if not counts.missing.any():
        return result
    wrong, right = (interval(name, chosen.filled_in(counts, if_right), level, population) for if_right in (False, True))
    if not wrong.problems:  # too few were asked
        return result
    return msgspec.structs.replace(
        result, if_wrong=wrong.estimate, if_right=right.estimate, lowest=wrong.low, highest=right.high
    )


def _defined(chosen: Metric, counts: Counts, values: Floats, level: float, population: Population) -> Interval:
    """The estimate over the problems that have a value, and the interval about all of them."""
    defined = ~np.isnan(values)
    if population == "problems drawn":
        noise = np.where(defined, chosen.noise(counts), np.inf)
        expected = chosen.expected(counts)
        drawn = mean_interval(expected, level, noise, clusters=counts.clusters)
        low, high, method = drawn.low, drawn.high, drawn.method
        guessed = ~defined & ~np.isnan(expected)
        if guessed.any():
            # What problems with too few samples are expected to have is itself uncertain, and alike for all of them.
            part = counts.select([key for key, has in zip(counts.keys, guessed, strict=True) if has])
            share, bounds = float(guessed.mean()), chosen.on_these(part).bounds(level)
            away = [share * abs(bound - float(expected[guessed].mean())) for bound in bounds]
            low = max(0.0, drawn.estimate - math.hypot(drawn.estimate - low, away[0]))
            high = min(1.0, drawn.estimate + math.hypot(high - drawn.estimate, away[1]))
    else:
        (low, high), method = chosen.on_these(counts).bounds(level), "these-problems"
    mean = float(values[defined].mean())
    return Interval(
        estimate=mean,
        low=min(low, mean),
        high=max(high, mean),
        level=level,
        method=method,
        problems=int(defined.sum()),
        undefined=int((~defined).sum()),
    )
