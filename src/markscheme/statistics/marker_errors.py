"""The marker's error rates from marks that people judged, and scores corrected for them.

Marks are in strata (the verdict; whether protocols agree …) and people judge a random sample of each. The interval of
the corrected score includes the uncertainty of problems, samples and labels. It is stratified rather than
prediction-powered, since the normal interval of the latter under-covers with few labels and rare errors (see
docs/statistics.md).

pass@k depends on how errors are spread over problems, which a few labels do not show. The gain is smallest and the loss
largest if the errors of a problem all come together; the gain is largest (Jensen) if they are spread at random. The
corrected interval holds for both. For k = 1 they are equal.

People are unsure about doubtful marks, not at random. Nothing is assumed about these: the interval covers both extremes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import msgspec
import numpy as np

from markscheme.errors import UsageError
from markscheme.statistics import quantiles
from markscheme.statistics.arrays import Bools, Floats, Ints
from markscheme.statistics.estimators import pass_at_k
from markscheme.statistics.intervals import Interval, check_level, weighted_sum

_WIDEST = 1.5  # the largest factor by which the true spread of problems may exceed that of the marks


class Shift(NamedTuple):
    """The change of a score by errors, from `low` (together) to `high` (spread out), and the uncertainty beyond each."""

    low: float
    below: float
    high: float
    above: float


@dataclass(frozen=True)
class JudgedMarks:
    """The marks of a run, a row each, and the labels of a random sample of every stratum."""

    problem: Ints
    stratum: Ints
    correct: Bools  # what the marker said
    judged: Bools
    overturned: Bools  # judged, and people disagree with the marker
    # Shown to people who were unsure or gave no label.
    unsure: Bools | None = None

    def __post_init__(self) -> None:
        if not self.problem.size:
            raise UsageError("there are no marks to correct")
        if (self.overturned & ~self.judged).any():
            raise UsageError("a mark that was not judged cannot be overturned")

    def settled(self, correct: bool, others: bool) -> JudgedMarks:
        """Return the marks with every unsure one overturned or confirmed, for `correct` marks and for the others."""
        unsure = np.zeros(self.judged.shape, bool) if self.unsure is None else self.unsure
        turned = unsure & np.where(self.correct, correct, others)
        return replace(self, judged=self.judged | unsure, overturned=self.overturned | turned, unsure=None)

    def shift(self, k: int, level: float) -> Shift:
        """Return the change of accuracy (k = 1) or pass@k by marker errors."""
        if self.unsure is None or not self.unsure.any():
            return self._shift(k, level)
        least, most = (self.settled(turned, not turned)._shift(k, level) for turned in (True, False))
        return Shift(least.low, least.below, most.high, most.above)

    def _shift(self, k: int, level: float) -> Shift:
        check_level(level)
        n, c = np.bincount(self.problem), np.bincount(self.problem, self.correct)
        solved = pass_at_k(n, c, k)
        defined = n >= k
        share = np.where(defined, solved, 0.0) / max(1, defined.sum())
        rest = np.where(defined, 1 - solved, 0.0) / max(1, defined.sum())
        # The weight of a mark is what its problem can lose or gain, in equal parts.
        marks = np.where(self.correct, share[self.problem] / np.maximum(c, 1)[self.problem], 0.0)
        others = np.where(self.correct, 0.0, rest[self.problem] / np.maximum(n - c, 1)[self.problem])
        lost, lost_low, lost_high = self._rate(marks, level)
        won, won_low, won_high = self._rate(others, level)
        low = won - lost
        below, above = math.hypot(lost_high - lost, won - won_low), math.hypot(lost - lost_low, won_high - won)
        if k == 1:
            return Shift(low, below, low, above)
        left = max(float(rest.sum()), 1e-12)
        high, highest = (left * (1 - (1 - min(1.0, gain / left)) ** k) for gain in (won, won_high))
        return Shift(low, below, high, highest - high)

    def rate(self, correct: bool, level: float) -> Interval:
        """Return the share of marks with this verdict that people overturn."""
        chosen = self.correct == correct
        rate, low, high = math.nan, 0.0, 1.0
        if chosen.any():
            weights = chosen / chosen.sum()
            rate = self._rate(weights, level)[0]
            low, high = (self.settled(all_, all_)._rate(weights, level)[1 + all_] for all_ in (False, True))
            low, high = min(low, rate), max(high, rate)
        return Interval(
            estimate=rate, low=max(0.0, low), high=min(1.0, high), level=level, method="stratified", problems=0
        )

    def _rate(self, weights: Floats, level: float) -> tuple[float, float, float]:
        """Return the weighted share of errors over all marks, low and high; strata are combined by MOVER."""
        cells = 2 * self.stratum + self.correct
        return weighted_sum(
            (float(weights[cells == cell].sum()), *self._cell(weights, cells == cell, level))
            for cell in np.unique(cells[weights > 0])
        )

    def _cell(self, weights: Floats, cell: Bools, level: float) -> tuple[float, float, float]:
        """Return one stratum's share of errors, low and high."""
        inside = cell & (weights > 0)
        judged = weights[inside & self.judged]
        marks = int(inside.sum())
        if not judged.size:
            return 0.0, 0.0, 1.0
        rate = min(1.0, float(weights[inside & self.overturned].sum() / judged.sum()))
        if judged.size == marks:
            return rate, rate, rate
        # The effective number of marks, with a finite population correction.
        worth = float(judged.sum() ** 2 / (judged**2).sum())
        size = worth * (marks - 1) / (marks - judged.size)
        # Jeffreys' interval: the other parts of the sum make up for its coverage (measured, docs/statistics.md).
        return rate, *quantiles.share_bounds(rate, size, level, far=0.5)

    def spread(self) -> float:
        """Return the factor by which problems differ more than their marks show.

        A marker that is generous on hard problems makes them look alike. The change of the variance by the labels is
        scaled up from the judged share.
        """
        n = np.maximum(np.bincount(self.problem), 1)
        marked, known = (
            (np.bincount(self.problem, right) / n)[np.bincount(self.problem) > 0].var()
            for right in (self.correct, self.correct ^ self.overturned)
        )
        part = float(self.judged.mean())
        if not marked or not part:
            return 1.0
        return min(_WIDEST, math.sqrt(max(1.0, 1 + (known / marked - 1) / part)))


def corrected(marked: Interval, shift: Shift, first: Shift | None = None, spread: float = 1.0) -> Interval:
    """Correct a score; for a difference, `first` is the shift of the score subtracted. The value is the middle."""
    low, below, high, above = shift
    floor = 0.0
    if first is not None:
        low, high, floor = low - first.high, high - first.low, -1.0
        below, above = math.hypot(below, first.above), math.hypot(above, first.below)
    value = marked.estimate + (low + high) / 2
    lowest = marked.estimate + low - math.hypot(spread * (marked.estimate - marked.low), below)
    highest = marked.estimate + high + math.hypot(spread * (marked.high - marked.estimate), above)
    return msgspec.structs.replace(
        marked,
        estimate=min(1.0, max(floor, value)),
        low=min(1.0, max(floor, lowest)),
        high=max(floor, min(1.0, highest)),
        method=f"{marked.method}, corrected",
        # These are about the marks.
        if_wrong=None, if_right=None, lowest=None, highest=None,
    )  # fmt: skip
