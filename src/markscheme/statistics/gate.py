"""Deciding a limit by an interval: pass, fail or inconclusive; its power, and what would decide it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np

from markscheme.statistics import quantiles
from markscheme.statistics.counts import Counts
from markscheme.statistics.intervals import Interval, Population
from markscheme.statistics.metrics import metric, per_problem
from markscheme.statistics.variances import assumed_between, difference_between, from_pilot

Decision = Literal["pass", "fail", "inconclusive"]
POWER = 0.8


class RunToRun(msgspec.Struct, frozen=True):
    """The variance between repeated runs of one model beyond sampling noise."""

    variance: float = 0.0  # of one run's score
    runs: int = 0

    def away(self, times: int, level: float) -> float:
        """Return what this adds to the half-width for one score, or for the difference of two."""
        if not self.variance:
            return 0.0
        return quantiles.student((1 + level) / 2, max(1, self.runs - 1)) * math.sqrt(times * self.variance)


def run_to_run(name: str, runs: Sequence[Counts]) -> RunToRun:
    """Estimate it from runs with the same model and settings (A/A), on the problems that all of them have."""
    keys = [key for key in runs[0].keys if all(key in counts.keys for counts in runs[1:])]
    values = np.array([per_problem(name, counts.select(keys)) for counts in runs])
    values = values[:, ~np.isnan(values).any(axis=0)]
    if len(runs) < 2 or not values.size:
        return RunToRun(0.0, len(runs))
    seen = float(values.mean(axis=1).var(ddof=1))
    sampling = float(values.var(axis=0, ddof=1).mean()) / values.shape[1]
    return RunToRun(max(0.0, seen - sampling), len(runs))


def widened(found: Interval, noise: RunToRun, times: int, scale: tuple[float, float]) -> Interval:
    """Widen an interval by the variance between runs."""
    extra = noise.away(times, found.level)
    low = max(scale[0], found.estimate - math.hypot(found.estimate - found.low, extra))
    high = min(scale[1], found.estimate + math.hypot(found.high - found.estimate, extra))
    return msgspec.structs.replace(found, low=low, high=high)


def decide(found: Interval, limit: float, *, at_least: bool) -> Decision:
    """Return pass if the interval is within the limit, fail if it is beyond it, else inconclusive."""
    kept, broken = (found.low >= limit, found.high < limit) if at_least else (found.high <= limit, found.low > limit)
    return "pass" if kept else "fail" if broken else "inconclusive"


def caught(found: Interval, limit: float, *, at_least: bool) -> float:
    """Return the value beyond the limit at which the gate fails with 80 % power, at the current width."""
    side = found.high - found.estimate if at_least else found.estimate - found.low
    away = quantiles.detectable(found.level, POWER) * (side / quantiles.normal((1 + found.level) / 2))
    return limit - away if at_least else limit + away


class Needed(msgspec.Struct, frozen=True):
    """Samples per problem, or else problems, that would decide a limit if the estimate does not change."""

    samples: int | None = None
    problems: int | None = None


def needed(
    name: str,
    runs: Sequence[Counts],
    found: Interval,
    limit: float,
    population: Population,
    noise: RunToRun,
) -> Needed:
    """Return what would decide a limit for one run, or for the difference of two."""
    z = quantiles.normal((1 + found.level) / 2)
    problems, now = len(runs[0].keys), max(1, round(float(np.mean([counts.n.mean() for counts in runs]))))
    allowed = ((found.estimate - limit) / z) ** 2 - len(runs) * noise.variance
    if allowed <= 0:
        return Needed()
    spread = from_pilot(*runs)
    between = 0.0
    if population != "these problems":
        between = spread.between
        if len(runs) == 2:
            enough = min(counts.n.min(initial=0) for counts in runs) >= 2
            between = (difference_between(runs[0], runs[1]) if enough else assumed_between(spread)).value
    within = len(runs) * spread.within * metric(name).k
    left = allowed * problems - between
    if left > 0 and (samples := math.ceil(within / left)) <= 1024:
        return Needed(samples=max(samples, now + 1))
    return Needed(problems=max(problems + 1, math.ceil((between + within / now) / allowed)))
