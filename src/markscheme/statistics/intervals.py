"""Intervals for a mean over problems, with the problem as the cluster.

The problems are taken as a sample from a population of such problems and the samples as draws of the model; the
interval covers the mean over that population. It is the Bayesian bootstrap over problems with one more imagined
problem that sits at the ends of the scale, so 30 of 30 correct has an interval of some width, and for one sample per
problem it becomes a beta interval between Jeffreys' and Clopper and Pearson's. Chosen by measured coverage; see
docs/statistics.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from markscheme.errors import UsageError
from markscheme.statistics import weighted_mean
from markscheme.statistics.clusters import cluster_bounds

Floats = npt.NDArray[np.float64]
# What a score is about: problems like these, of which these were drawn; these problems and no others; or the
# benchmark of which these are a part drawn at random, asked as these were.
Population = Literal["problems drawn", "these problems", "the whole benchmark"]

# The imagined problem: three quarters of it lie at the end that the bound guards against, one quarter at the other.
# With all of it there and one sample a problem the interval would be Clopper and Pearson's (never below 95 %, often
# 98 %); half and half, Jeffreys' (down to 88 %). At three quarters coverage is at least 92.7 % for every rate and
# every number of problems.
_FAR, _NEAR = 0.75, 0.25
# How much of the three quarters is given up where the problems visibly differ from one another by more than chance and
# do not fall into two camps: then those that were seen tell what the unseen ones may be like.
_GIVEN_UP = 0.4


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """An estimate over problems and the range that covers the population mean with probability `level`."""

    estimate: float
    low: float
    high: float
    level: float
    method: str
    problems: int  # problems that have all the samples it needs
    # Problems that have fewer; they count with what these let one expect, and without any not at all.
    undefined: int = 0
    # What the estimate over all problems would be if every missing response were wrong; and if it were right.
    if_wrong: float | None = None
    if_right: float | None = None
    # The lower bound in the first case and the upper one in the second: they hold whatever the missing ones were.
    lowest: float | None = None
    highest: float | None = None

    @property
    def half_width(self) -> float:
        """Half of high - low: the number behind the ± (the interval need not be symmetric)."""
        return (self.high - self.low) / 2


def mean_interval(
    values: npt.ArrayLike,
    level: float = 0.95,
    noise: npt.ArrayLike | None = None,
    times: npt.ArrayLike | None = None,
    clusters: Sequence[str] = (),
) -> Interval:
    """The mean of one value in [0, 1] per problem, with its interval; nan marks a problem without a value.

    `noise` is, where it is known, the variance that sampling alone puts into each problem's value. It only ever makes
    the interval tighter: without it, alike values may be luck. `times` is how many problems there are of each value
    (and its noise), for those who have millions and need not write them all out. `clusters` is a label per problem,
    where problems come in families.
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
    """Low and high for independent problems: the Bayesian bootstrap with the imagined one."""
    count, mean, tail = int(times.sum()), _mean(values, times), (1 - level) / 2
    spread = _mean((values - mean) ** 2, times)
    # 1 for two camps at 0 and 1, 0 for problems that are all alike.
    camps = min(1.0, spread / (mean * (1 - mean))) if 0 < mean < 1 else 1.0
    far_part = _FAR - _GIVEN_UP * (1 - camps) * _evident(spread, _typical(noise, times), count)
    distinct, places = np.unique(values, return_inverse=True)
    repeated = np.bincount(places, weights=times).astype(float)
    # The near quarter goes no further than what was seen: at the end of the scale it would pull a bound towards the
    # other one, by more than problems differ that are all alike.
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
    """The mean noise where it is known for most problems, else infinite."""
    if noise is None:
        return math.inf
    known = np.isfinite(noise)
    return _mean(noise[known], times[known]) if 2 * times[known].sum() > times.sum() else math.inf


def _evident(spread: float, by_chance: float, count: int) -> float:
    """From 0 (alike, as far as one can see) to 1 (surely different): how much problems differ beyond sampling noise.

    Of problems that are all alike, the ratio of observed to expected variance has a standard deviation of about
    sqrt(2 / (count - 1)) around 1; two of these are not yet evidence, four are.
    """
    if count < 2 or spread == 0 or not math.isfinite(by_chance):
        return 0.0
    if by_chance == 0:
        return 1.0
    excess = spread * count / (count - 1) / by_chance - 1
    return min(1.0, max(0.0, excess / math.sqrt(2 / (count - 1)) / 2 - 1))


def check_level(level: float) -> None:
    """Refuse a confidence level outside (0, 1), such as 95 for 95 %."""
    if not 0 < level < 1:
        raise UsageError(f"the confidence level is a share such as 0.95, not {level}")


def weighted_sum(parts: Iterable[tuple[float, float, float, float]]) -> tuple[float, float, float]:
    """The sum of independent estimates, each with its weight, value, low and high; put together distance by distance.

    That (MOVER) keeps each one's asymmetry; for symmetric intervals it is the usual root of the sum of squared errors.
    """
    rows = [(weight * value, *sorted((weight * low, weight * high))) for weight, value, low, high in parts]
    total = math.fsum(value for value, _, _ in rows)
    below, above = (math.hypot(*(row[end] - row[0] for row in rows)) for end in (1, 2))
    return total, total - below, total + above


def macro(parts: Sequence[Interval]) -> Interval:
    """The mean of the scores of several benchmarks, each weighing the same; undefined where one is."""
    if not parts:
        raise UsageError("an average needs at least one score")
    if len({part.level for part in parts}) > 1:
        raise UsageError("only intervals of one level can be averaged")
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
