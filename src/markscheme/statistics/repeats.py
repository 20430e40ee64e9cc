"""Several runs of one setting (other seeds, servers, prompts): the run is a variance component of its own.

Every run has every problem, so the residual after problem and run means is sampling noise (two-way analysis of variance),
and the variance between runs is what their means differ beyond it. Student's t has one degree of freedom less than runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from markscheme.errors import UsageError
from markscheme.statistics import quantiles
from markscheme.statistics.arrays import Floats
from markscheme.statistics.comparison import shared
from markscheme.statistics.counts import Counts
from markscheme.statistics.difference import PairedDifference, paired, welch
from markscheme.statistics.intervals import Interval, Population, mean_interval
from markscheme.statistics.metrics import metric, per_problem


class Repeated(msgspec.Struct, frozen=True, kw_only=True):
    """The score of a setting over its runs, and its sources of uncertainty."""

    metric: str
    population: Population
    score: Interval  # for further runs too
    runs: tuple[float, ...]  # the score of each run
    # Standard errors of the mean over all runs, from problems, runs and sampling.
    from_problems: float
    from_runs: float
    from_sampling: float
    between_runs: float  # standard deviation of one run's score, without sampling noise


class _Level(msgspec.Struct, frozen=True):
    """The means of problems and runs of one setting."""

    values: Floats  # of each problem, over all runs
    runs: Floats
    noise: float  # sampling variance of one run's mean

    @property
    def seen(self) -> float:
        """The variance of the runs' means, with sampling noise."""
        return float(self.runs.var(ddof=1)) if self.runs.size > 1 else math.nan

    @property
    def between(self) -> float:
        """The variance of the runs' means, without sampling noise."""
        return max(0.0, self.seen - self.noise)


def _level(name: str, runs: Sequence[Counts]) -> _Level:
    table = np.array([per_problem(name, each) for each in runs])
    means, problems = table.mean(axis=1), table.shape[1]
    left = table - table.mean(axis=0) - means[:, None] + table.mean()
    freedom = (len(runs) - 1) * (problems - 1)
    noise = float((left**2).sum()) / freedom / problems if freedom else 0.0
    return _Level(table.mean(axis=0), means, noise)


def over_runs(
    name: str, runs: Sequence[Counts], level: float = 0.95, population: Population = "problems drawn"
) -> Repeated:
    """Return the score of a setting from several of its runs, on the problems for which all of them have a value."""
    if len(runs) < 2:
        raise UsageError("the variance between runs of one setting needs two or more of them")
    parts = shared(name, list(runs))
    of = _level(name, parts)
    count, problems = len(runs), of.values.size
    drawn = mean_interval(of.values, level, clusters=parts[0].clusters if population != "these problems" else ())
    t = quantiles.student((1 + level) / 2, count - 1)
    low, high = drawn.low, drawn.high
    if population == "these problems":
        away = t * math.sqrt(max(of.seen, of.noise) / count)
        low, high = max(0.0, drawn.estimate - away), min(1.0, drawn.estimate + away)
    else:
        away = t * math.sqrt(of.between / count)
        low = max(0.0, drawn.estimate - math.hypot(drawn.estimate - low, away))
        high = min(1.0, drawn.estimate + math.hypot(high - drawn.estimate, away))
    sampling = of.noise / count
    spread = max(0.0, float(of.values.var(ddof=1)) / problems - sampling) if problems > 1 else math.nan
    return Repeated(
        metric=name,
        population=population,
        score=msgspec.structs.replace(drawn, low=low, high=high, method="over runs"),
        runs=tuple(of.runs.tolist()),
        from_problems=math.sqrt(spread),
        from_runs=math.sqrt(of.between / count),
        from_sampling=math.sqrt(sampling),
        between_runs=math.sqrt(of.between),
    )


def difference_over_runs(
    name: str, a: Sequence[Counts], b: Sequence[Counts], population: Population = "problems drawn"
) -> PairedDifference:
    """Return B minus A over problems and runs. A setting with a single run is assumed to vary like the other one."""
    parts = shared(name, [*a, *b])
    one, two = _level(name, parts[: len(a)]), _level(name, parts[len(a) :])
    sides = [(one, two), (two, one)]
    these = population == "these problems"

    def variance(mine: _Level, other: _Level) -> tuple[float, float]:
        known = mine if mine.runs.size > 1 else other
        # Half of the sampling noise stays in: two runs often agree by chance, which would leave no variance.
        apart = max(known.seen, known.noise) - (0.0 if these else known.noise / 2)
        return apart / mine.runs.size, known.runs.size - 1.0

    shares = [variance(*side) for side in sides]
    if not these:
        unit = metric(name).k / max(1.0, float(min(each.n.mean() for each in parts)))
        drawn = paired(two.values - one.values, parts[0].clusters, min(1.0, unit))
        shares.append((drawn.error**2, drawn.freedom))
    return PairedDifference(float(two.values.mean() - one.values.mean()), *welch(shares))
