"""The difference of two means with its error distribution, which gives every interval and every p-value.

A 95 % interval therefore excludes zero exactly if p is below 5 %, and a margin is tested in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from markscheme.statistics import quantiles, weighted_mean
from markscheme.statistics.arrays import Floats
from markscheme.statistics.clusters import standard_error, sums
from markscheme.statistics.fixed_set import Sampled, Spread
from markscheme.statistics.intervals import weighted_sum

# If few problems moved, others might move as far: a quarter of a problem is imagined at either end of the largest move.
# Its weight falls with the square of the effective number of moves beyond seven.
_IMAGINED, _FEW = 0.25, 7.0
_UNSEEN, _ROOM = 0.5, 0.9  # prior weight of unseen problems, and the quantile of the room they have to move


class PairedDifference(NamedTuple):
    """B minus A over similar problems: the mean of paired differences, with Student's t."""

    estimate: float
    error: float
    freedom: float

    def bounds(self, level: float) -> tuple[float, float]:
        """Return low and high."""
        away = quantiles.student((1 + level) / 2, self.freedom) * self.error if self.error else 0.0
        return max(-1.0, self.estimate - away), min(1.0, self.estimate + away)

    def chance_above(self, value: float) -> float:
        """Return the probability of a difference above this value."""
        if not self.error:
            return 0.5 if self.estimate == value else float(self.estimate > value)
        return quantiles.student_cdf((self.estimate - value) / self.error, self.freedom)


def paired(change: Floats, clusters: Sequence[str] = (), unit: float = 0.0) -> PairedDifference:
    """Return the mean difference; problems in the same cluster are not independent.

    `unit` is about the smallest possible move of a problem, and the least that an imagined one moves.
    """
    mean = float(change.mean())
    error, freedom = standard_error(change, clusters)
    moves = sums(change, clusters)[0] if clusters else change
    if moves.size < 2:
        return PairedDifference(mean, math.inf, 1)
    largest = float(np.abs(moves).max(initial=0.0))
    largest = max(largest, unit) if largest else float(change.size / moves.size)
    moved = carrying(moves)
    imagined = 2 * _IMAGINED * min(1.0, (_FEW / moved) ** 2 if moved else 1.0) * largest**2
    guard = imagined * moves.size / (moves.size - 1) / change.size**2
    return PairedDifference(mean, math.hypot(error, math.sqrt(guard)), freedom)


def with_unseen(a: Floats, b: Floats, drawn: PairedDifference, level: float, clusters: int = 0) -> tuple[float, float]:
    """Return low and high that also allow for an unseen kind of problem, on which one model is far better.

    A Bayesian bootstrap of the differences with half a problem (or cluster) imagined as far off as the scale allows. It
    holds if one problem in twenty moves by 80 points, and is much wider if all problems look alike.
    """
    moves, repeated = np.unique(b - a, return_counts=True)
    weight, tail = _UNSEEN * (a.size / clusters if clusters else 1.0), (1 - level) / 2
    room = [float(np.quantile(each, _ROOM)) for each in (np.maximum(a, b), 1 - np.minimum(a, b))]
    ends = [
        weighted_mean.quantile(q, np.append(moves, far), np.append(repeated.astype(float), weight))
        for q, far in ((tail, -room[0]), (1 - tail, room[1]))
    ]
    low, high = drawn.bounds(level)
    return min(low, ends[0]), max(high, ends[1])


def carrying(moves: Floats) -> float:
    """Return the effective number of moves, given their sum of squares: all of them if they are equal."""
    largest = float(np.abs(moves).max(initial=0.0))
    if largest == 0:
        return 0.0
    squares = (moves / largest) ** 2
    return float(squares.sum()) ** 2 / float(np.sum(squares**2))


class FixedDifference(NamedTuple):
    """B minus A on these exact problems, from two independent scores (MOVER).

    If samples do not show their noise (one per problem), never wider than `drawn`, which has more variance.
    """

    a: Sampled | Spread
    b: Sampled | Spread
    drawn: PairedDifference | None = None

    @property
    def estimate(self) -> float:
        """B minus A."""
        return self.b.estimate - self.a.estimate

    @property
    def error(self) -> float:
        """The approximate standard error, from the 95 % interval."""
        low, high = self.bounds(0.95)
        return (high - low) / 2 / quantiles.normal(0.975)

    @property
    def freedom(self) -> float:
        """Infinite: the bounds already allow for an uncertain variance."""
        return math.inf

    def bounds(self, level: float) -> tuple[float, float]:
        """Return low and high."""
        a, b = ((part.estimate, *part.bounds(level)) for part in (self.a, self.b))
        _, low, high = weighted_sum([(-1.0, *a), (1.0, *b)])
        least, most = self.drawn.bounds(level) if self.drawn else (-1.0, 1.0)
        return max(least, low), min(most, high)

    def chance_above(self, value: float) -> float:
        """Return the probability, from the level at which a bound reaches the value, up to five standard deviations."""
        if self.estimate == value:
            return 0.5
        side = 0 if self.estimate > value else 1

        def beyond(z: float) -> float:
            bound = self.bounds(min(2 * NormalDist().cdf(z) - 1, 1 - 1e-7))[side]
            return value - bound if side == 0 else bound - value

        reached = weighted_mean.root(beyond, 0.01, 5.3, tolerance=1e-4)
        return NormalDist().cdf(reached if side == 0 else -reached)


Difference = PairedDifference | FixedDifference


def p_value(difference: Difference, value: float = 0.0) -> float:
    """Return the two-sided p-value."""
    above = difference.chance_above(value)
    return min(1.0, 2 * min(above, 1 - above))


def macro_difference(parts: Sequence[Difference]) -> PairedDifference:
    """Return the mean of independent differences."""
    error, freedom = welch([(part.error**2, part.freedom) for part in parts])
    return PairedDifference(math.fsum(part.estimate for part in parts) / len(parts), error / len(parts), freedom)


def welch(parts: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the error of a sum and its degrees of freedom (Welch-Satterthwaite), from independent variances and theirs."""
    total = math.fsum(variance for variance, _ in parts)
    squares = math.fsum(variance**2 / freedom for variance, freedom in parts)
    return math.sqrt(total), min(1e6, total**2 / squares) if squares else 1e6
