"""The difference of two means with what is known of its error: any interval, and any p-value, from one distribution.

So an interval at 95 % excludes zero exactly when p is below 5 %, and a margin is tested as zero is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from markscheme.statistics import quantiles, weighted_mean
from markscheme.statistics.clusters import standard_error, sums
from markscheme.statistics.fixed_set import Sampled, Spread
from markscheme.statistics.intervals import weighted_sum

Floats = npt.NDArray[np.float64]

# With few problems moved nothing says how far the unseen ones might: a quarter of a problem is imagined at either end
# of the largest move. Where many moved it fades, with the square of their effective number beyond seven.
_IMAGINED, _FEW = 0.25, 7.0
_UNSEEN, _ROOM = 0.5, 0.9  # problems of a kind not seen, and how far they may jump: as nine in ten could


class PairedDifference(NamedTuple):
    """B minus A over problems drawn: the mean of paired differences, Student's t."""

    estimate: float
    error: float
    freedom: float

    def bounds(self, level: float) -> tuple[float, float]:
        """Low and high."""
        away = quantiles.student((1 + level) / 2, self.freedom) * self.error if self.error else 0.0
        return max(-1.0, self.estimate - away), min(1.0, self.estimate + away)

    def chance_above(self, value: float) -> float:
        """That the difference is above this value, by the same distribution as the bounds."""
        if not self.error:
            return 0.5 if self.estimate == value else float(self.estimate > value)
        return quantiles.student_cdf((self.estimate - value) / self.error, self.freedom)


def paired(change: Floats, clusters: Sequence[str] = (), unit: float = 0.0) -> PairedDifference:
    """From one difference a problem; problems that share a cluster are not independent.

    `unit` is about the least that a problem moves if it moves at all: an imagined one does not move less.
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
    """Low and high that also allow for a kind of problem that was not seen, on which one model is far better.

    The Bayesian bootstrap of the differences with half a problem (or cluster of them) imagined as far off as any is from the
    end of the scale. Where one problem in twenty jumps by 80 points it holds; by far the wider one where all look alike.
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
    """On about how many of the moves their sum of squares rests: as many as there are if all are alike."""
    largest = float(np.abs(moves).max(initial=0.0))
    if largest == 0:
        return 0.0
    squares = (moves / largest) ** 2
    return float(squares.sum()) ** 2 / float(np.sum(squares**2))


class FixedDifference(NamedTuple):
    """B minus A on exactly these problems, from two independent scores, distance by distance (MOVER).

    Where samples do not show their noise (one of each), never further than for problems drawn, which vary more.
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
        """About the standard error, from the 95 % interval."""
        low, high = self.bounds(0.95)
        return (high - low) / 2 / quantiles.normal(0.975)

    @property
    def freedom(self) -> float:
        """The bounds have their own way of being careful."""
        return math.inf

    def bounds(self, level: float) -> tuple[float, float]:
        """Low and high."""
        a, b = ((part.estimate, *part.bounds(level)) for part in (self.a, self.b))
        _, low, high = weighted_sum([(-1.0, *a), (1.0, *b)])
        least, most = self.drawn.bounds(level) if self.drawn else (-1.0, 1.0)
        return max(least, low), min(most, high)

    def chance_above(self, value: float) -> float:
        """From the level at which a bound just reaches the value, up to five standard deviations."""
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
    """Two-sided: how far into the tails of the distribution this value lies."""
    above = difference.chance_above(value)
    return min(1.0, 2 * min(above, 1 - above))


def macro_difference(parts: Sequence[Difference]) -> PairedDifference:
    """The plain mean of independent differences; degrees of freedom after Welch and Satterthwaite."""
    variances = [part.error**2 for part in parts]
    total = math.fsum(variances)
    squares = math.fsum(v**2 / part.freedom for v, part in zip(variances, parts, strict=True))
    return PairedDifference(
        math.fsum(part.estimate for part in parts) / len(parts),
        math.sqrt(total) / len(parts),
        min(1e6, total**2 / squares) if squares else 1e6,
    )
