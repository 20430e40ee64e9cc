"""One table of metrics by name, and the interval of any of them: for problems like these, or for these problems."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import get_args

import msgspec
import numpy as np
import numpy.typing as npt

from markscheme.errors import UsageError
from markscheme.statistics.counts import Counts
from markscheme.statistics.estimators import accuracy, g_pass_at_k, pass_at_k, pass_hat_k
from markscheme.statistics.fixed_set import fixed_interval
from markscheme.statistics.intervals import Interval, Population, mean_interval
from markscheme.statistics.metric import CountMetric, Metric, PassMetric
from markscheme.statistics.picking import BestOf, Majority

Floats = npt.NDArray[np.float64]


def _pass(k: str) -> Metric:
    return PassMetric(int(k), lambda n, c: pass_at_k(n, c, int(k)), every=False)


def _pass_hat(k: str) -> Metric:
    return PassMetric(int(k), lambda n, c: pass_hat_k(n, c, int(k)), every=True)


def _g_pass(k: str, tau: str) -> Metric:
    return CountMetric(int(k), lambda n, c: g_pass_at_k(n, c, int(k), float(tau)))


# How a name is written, its pattern, and the metric that the parts of the pattern make. A new metric is a line here.
TABLE: tuple[tuple[str, str, Callable[..., Metric]], ...] = (
    ("accuracy", r"accuracy", lambda: CountMetric(1, accuracy)),
    ("pass@K", r"pass@([1-9]\d*)", _pass),
    ("pass^K", r"pass\^([1-9]\d*)", _pass_hat),
    ("g-pass@K:TAU", r"g-pass@([1-9]\d*):(\d*\.?\d+)", _g_pass),
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


def noise(name: str, counts: Counts) -> Floats:
    """The variance of each problem's estimate from sampling alone, infinite where it cannot be told."""
    return metric(name).noise(counts)


def interval(name: str, counts: Counts, level: float = 0.95, population: Population = "problems drawn") -> Interval:
    """The estimate and interval of a metric by name.

    The estimate is over the problems that have a value. Where others have none the interval is about all of them: it
    takes what their samples let one expect, and always contains the estimate.
    """
    if population not in get_args(Population):
        raise UsageError(f"the population is 'problems drawn' or 'these problems', not {population!r}")
    chosen = metric(name)
    values = chosen.values(counts)
    defined = ~np.isnan(values)
    if not defined.any():
        return mean_interval(values, level)
    if population == "problems drawn":
        spread = np.where(defined, chosen.noise(counts), np.inf)
        found = mean_interval(chosen.expected(counts), level, spread, clusters=counts.clusters)
    else:
        found = fixed_interval(chosen.on_these(counts), level, int(defined.sum()))
    mean = float(values[defined].mean())
    wrong, right = (float(each.mean()) for each in chosen.extremes(counts)) if counts.missing.any() else (None, None)
    return msgspec.structs.replace(
        found,
        estimate=mean,
        low=min(found.low, mean),
        high=max(found.high, mean),
        problems=int(defined.sum()),
        undefined=int((~defined).sum()),
        if_wrong=wrong,
        if_right=right,
    )
