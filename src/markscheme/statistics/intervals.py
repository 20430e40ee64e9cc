"""Intervals for a mean over problems, with the problem as the sampling unit.

The problems are a sample from a population of similar problems, and the interval covers the population mean. It is the
Bayesian bootstrap over problems with one imagined problem at the ends of the scale, so that 30 of 30 correct still has
an interval with some width. With one sample per problem it is a beta interval between Jeffreys' and Clopper-Pearson.
Chosen by measured coverage; see docs/statistics.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec
import numpy as np

from markscheme.errors import UsageError
from markscheme.statistics import weighted_mean
from markscheme.statistics.arrays import ArrayLike, Floats
from markscheme.statistics.clusters import cluster_bounds

# What a score is about: similar problems, of which these are a sample; these exact problems; or the benchmark of which
# these are a random part.
Population = Literal["problems drawn", "these problems", "the whole benchmark"]

# The imagined problem: three quarters of it are at the end that the bound guards against, one quarter at the other.
# With all of it there and one sample per problem the interval would be Clopper-Pearson (never below 95 %, often 98 %);
# half and half, Jeffreys' (down to 88 %). With three quarters, coverage is at least 92.7 % for every rate and every
# number of problems.
_FAR, _NEAR = 0.75, 0.25
# The part of the three quarters that is dropped if problems clearly differ beyond chance without forming two camps: the
# observed problems then show what others may be like.
_GIVEN_UP = 0.4


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """An estimate over problems and its interval with coverage `level`."""

    estimate: float
    low: float
    high: float
    level: float
    method: str
    problems: int  # problems with all the samples it needs
    # Problems with fewer samples. Their value is estimated from these; a problem without any is left out.
    undefined: int = 0
    # The estimate over all problems if every missing response is wrong, and if every one is right.
    if_wrong: float | None = None
    if_right: float | None = None
    # The lower bound in the first case and the upper one in the second: they hold for any content of the missing
    # responses.
    lowest: float | None = None
    highest: float | None = None

    @property
    def half_width(self) -> float:
        """Half of high - low; the interval need not be symmetric."""
        return (self.high - self.low) / 2


def mean_interval(
    values: ArrayLike,
    level: float = 0.95,
    noise: ArrayLike | None = None,
    times: ArrayLike | None = None,
    clusters: Sequence[str] = (),
) -> Interval:
    """Return the mean of one value in [0, 1] per problem with its interval; nan marks a problem without a value.

    `noise` is the sampling variance of each value, if known; it only ever makes the interval narrower. `times` is the
    number of problems with each value, to avoid repeating millions of them. `clusters` is a label per problem.
    """
    check_level(level)
    everything = np.asarray(values, dtype=float).ravel()
    problems = np.ones(everything.size) if times is None else np.asarray(times, dtype=float).ravel()
    defined = ~np.isnan(everything) & (problems > 0)
    kept, counted = everything[defined], problems[defined]
    if kept.size and (kept.min() < 0 or kept.max() > 1):
        raise UsageError("an interval needs one value between 0 and 1 per problem")
    low, high = 0.0, 1.0
    if kept.size:
        known = None if noise is None else np.asarray(noise, dtype=float).ravel()[defined]
        labels = [label for label, has in zip(clusters, defined, strict=True) if has] if clusters else []
        if len(set(labels)) < len(labels):
            low, high = cluster_bounds(kept, labels, level)
        else:
            low, high = _bounds(kept, known, level, counted)
    return Interval(
        estimate=_mean(kept, counted) if kept.size else math.nan,
        low=low,
        high=high,
        level=level,
        method="cluster" if len(set(clusters)) < len(clusters) else "problem-bootstrap",
        problems=int(counted.sum()),
        undefined=int(problems.sum() - counted.sum()),
    )


def _bounds(values: Floats, noise: Floats | None, level: float, times: Floats) -> tuple[float, float]:
    """Return low and high for independent problems: the Bayesian bootstrap with the imagined one."""
    count, mean, tail = int(times.sum()), _mean(values, times), (1 - level) / 2
    spread = _mean((values - mean) ** 2, times)
    # 1 for two camps at 0 and 1, 0 for problems that are all alike.
    camps = min(1.0, spread / (mean * (1 - mean))) if 0 < mean < 1 else 1.0
    far_part = _FAR - _GIVEN_UP * (1 - camps) * _evident(spread, _typical(noise, times), count)
    distinct, places = np.unique(values, return_inverse=True)
    repeated = np.bincount(places, weights=times).astype(float)
    # The near quarter is at the extreme observed value: at the end of the scale it would pull a bound inwards by more than
    # nearly equal problems differ.
    least, most = distinct[0], distinct[-1]
    low, high = (
        weighted_mean.quantile(q, np.append(distinct, [far, near]), np.append(repeated, [far_part, _NEAR]))
        for q, far, near in ((tail, 0.0, most), (1 - tail, 1.0, least))
    )
    mean = float(repeated @ distinct / repeated.sum())
    return (0.0 if most == 0 else min(low, mean)), (1.0 if least == 1 else max(high, mean))


def _mean(values: Floats, times: Floats) -> float:
    return float((values * times).sum() / times.sum())


def _typical(noise: Floats | None, times: Floats) -> float:
    """Return the mean noise if it is known for most problems, else infinity."""
    if noise is None:
        return math.inf
    known = np.isfinite(noise)
    return _mean(noise[known], times[known]) if 2 * times[known].sum() > times.sum() else math.inf


def _evident(spread: float, by_chance: float, count: int) -> float:
    """Return the evidence that problems differ beyond sampling noise, from 0 to 1.

    For equal problems, the ratio of observed to expected variance is 1 with a standard deviation of about
    sqrt(2 / (count - 1)); two of these are no evidence, four are full evidence.
    """
    if count < 2 or spread == 0 or not math.isfinite(by_chance):
        return 0.0
    if by_chance == 0:
        return 1.0
    excess = spread * count / (count - 1) / by_chance - 1
    return min(1.0, max(0.0, excess / math.sqrt(2 / (count - 1)) / 2 - 1))


def check_level(level: float) -> None:
    """Raise `UsageError` for a confidence level outside (0, 1), such as 95 for 95 %."""
    if not 0 < level < 1:
        raise UsageError(f"the confidence level must be a share such as 0.95, not {level}")


def weighted_sum(parts: Iterable[tuple[float, float, float, float]]) -> tuple[float, float, float]:
    """Return the sum of independent estimates, given as weight, value, low and high, by MOVER.

    That keeps asymmetry; for symmetric intervals it is the root of the sum of squared errors.
    """
    rows = [(weight * value, *sorted((weight * low, weight * high))) for weight, value, low, high in parts]
    total = math.fsum(value for value, _, _ in rows)
    below, above = (math.hypot(*(row[end] - row[0] for row in rows)) for end in (1, 2))
    return total, total - below, total + above


def macro(parts: Sequence[Interval]) -> Interval:
    """Return the unweighted mean of the scores of several benchmarks; undefined if one of them is."""
    if not parts:
        raise UsageError("an average needs at least one score")
    if len({part.level for part in parts}) > 1:
        raise UsageError("intervals of different levels cannot be averaged")
    mean, low, high = math.nan, 0.0, 1.0
    if all(part.problems for part in parts):
        mean, low, high = weighted_sum((1 / len(parts), part.estimate, part.low, part.high) for part in parts)
    return Interval(
        estimate=mean,
        low=max(0.0, low),
        high=min(1.0, high),
        level=parts[0].level,
        method="macro",
        problems=sum(part.problems for part in parts),
        undefined=sum(part.undefined for part in parts),
    )
