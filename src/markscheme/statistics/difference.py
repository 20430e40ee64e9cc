"""The difference of two means with what is known of its error: any interval, and any p-value, from one distribution.

So an interval at 95 % excludes zero exactly when p is below 5 %, and a margin is tested as zero is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from markscheme.statistics import quantiles
from markscheme.statistics.clusters import standard_error, sums
from markscheme.statistics.fixed_set import Sampled, Spread, sampled_bounds

Floats = npt.NDArray[np.float64]

# With few problems moved nothing says how far the unseen ones might: a quarter of a problem is imagined at either end
# of the largest move. Where many moved it fades, with the square of their effective number beyond five.
_IMAGINED, _FEW = 0.25, 5.0


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


def paired(change: Floats, clusters: Sequence[str] = ()) -> PairedDifference:
    """From one difference a problem; problems that share a cluster are not independent."""
    mean = float(change.mean())
    error, freedom = standard_error(change, clusters)
    moves = sums(change, clusters)[0] if clusters else change
    if moves.size < 2:
        return PairedDifference(mean, math.inf, 1)
    largest = float(np.abs(moves).max(initial=0.0)) or float(change.size / moves.size)
    moved = carrying(moves)
    imagined = 2 * _IMAGINED * min(1.0, (_FEW / moved) ** 2 if moved else 1.0) * largest**2
    guard = imagined * moves.size / (moves.size - 1) / change.size**2
    return PairedDifference(mean, math.hypot(error, math.sqrt(guard)), freedom)


def carrying(moves: Floats) -> float:
    """On about how many of the moves their sum of squares rests: as many as there are if all are alike."""
    largest = float(np.abs(moves).max(initial=0.0))
    if largest == 0:
        return 0.0
    squares = (moves / largest) ** 2
    return float(squares.sum()) ** 2 / float(np.sum(squares**2))


class FixedDifference(NamedTuple):
    """B minus A on exactly these problems, from two independent scores, distance by distance (MOVER)."""

    a: Sampled | Spread
    b: Sampled | Spread

    @property
    def estimate(self) -> float:
        """B minus A."""
        return _mean(self.b) - _mean(self.a)

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
        (low_a, high_a), (low_b, high_b) = _bounds(self.a, level), _bounds(self.b, level)
        below = math.hypot(_mean(self.b) - low_b, high_a - _mean(self.a))
        above = math.hypot(high_b - _mean(self.b), _mean(self.a) - low_a)
        return max(-1.0, self.estimate - below), min(1.0, self.estimate + above)

    def chance_above(self, value: float) -> float:
        """The level at which a bound just reaches the value, looked for between 0 and 1 - 1e-7."""
        if self.estimate == value:
            return 0.5
        below = self.estimate > value
        inside, outside = 0.0, 16.0  # the level as its distance from 1, in powers of e: nothing is lost near 1
        for _ in range(24):
            middle = (inside + outside) / 2
            low, high = self.bounds(-math.expm1(-middle) if middle else 1e-9)
            if low > value if below else high < value:
                inside = middle
            else:
                outside = middle
        tail = math.exp(-outside) / 2
        return 1 - tail if below else tail


Difference = PairedDifference | FixedDifference


def _mean(found: Sampled | Spread) -> float:
    return found.estimate if isinstance(found, Spread) else found.mean


def _bounds(found: Sampled | Spread, level: float) -> tuple[float, float]:
    return found.bounds(level) if isinstance(found, Spread) else sampled_bounds(found, level)


def p_value(found: Difference, value: float = 0.0) -> float:
    """Two-sided: how far into the tails of the distribution this value lies."""
    above = found.chance_above(value)
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
