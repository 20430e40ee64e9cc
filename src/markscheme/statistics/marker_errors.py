"""How wrong the marker is, from marks that people judged, and scores corrected for it.

Marks fall into strata (what the marker said; whether protocols agree …) and people judge a random sample of each. The
corrected score is what people would have found, with the uncertainty of problems, of sampling and of the few judgements
in one interval. Stratified rather than prediction-powered: with few labels and rare errors the normal interval of the
latter covers far less than it says (see docs/statistics.md).

pass@k depends on how errors fall together, which a few labels cannot tell. Samples of a problem are drawn alike, so what
the same rates of error can do to it has bounds: least is gained and most is lost if the errors of a problem come all
together; most is gained (by Jensen's inequality) if they fall on problems as by chance, and then little is lost. The
corrected interval holds for either. For k = 1 both are the same.

People are unsure where marks are doubtful, not at random. So nothing is assumed of what they left open: the interval reaches
from all of it lowering the score to all of it raising it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from markscheme.errors import UsageError
from markscheme.statistics import quantiles
from markscheme.statistics.estimators import pass_at_k
from markscheme.statistics.intervals import Interval, check_level, weighted_sum

Floats = npt.NDArray[np.float64]
_WIDEST = 1.5  # the most by which the spread of problems is taken to be larger than the marks show


class Shift(NamedTuple):
    """What errors do to a score: from `low` to `high` as they fall together or apart, and how far beyond labels allow."""

    low: float
    below: float
    high: float
    above: float


@dataclass(frozen=True)
class JudgedMarks:
    """The marks of a run, a row each, and what people said about a random sample of every stratum."""

    problem: npt.NDArray[np.int64]  # a number each
    stratum: npt.NDArray[np.int64]
    correct: npt.NDArray[np.bool_]  # what the marker said
    judged: npt.NDArray[np.bool_]
    overturned: npt.NDArray[np.bool_]  # judged, and people disagree with the marker
    # Shown to people who could not say, or did not: right or wrong, for all that is known.
    unsure: npt.NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        if not self.problem.size:
            raise UsageError("without marks there is nothing to correct")
        if (self.overturned & ~self.judged).any():
            raise UsageError("only a mark that was judged can be overturned")

    def settled(self, correct: bool, others: bool) -> JudgedMarks:
        """The marks if people had overturned all they were unsure about of those marked correct, and of the others."""
        unsure = np.zeros(self.judged.shape, bool) if self.unsure is None else self.unsure
        turned = unsure & np.where(self.correct, correct, others)
        return replace(self, judged=self.judged | unsure, overturned=self.overturned | turned, unsure=None)

    def shift(self, k: int, level: float) -> Shift:
        """What the marker's errors do to accuracy (k = 1) or pass@k, at a level of confidence."""
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
        # Each mark weighs what its problem has to lose or to gain, in equal parts.
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
        """Of the marks that say so, the share that people overturn."""
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
        """The weighted share of errors over all marks, low and high; strata are put together distance by distance."""
        cells = 2 * self.stratum + self.correct
        return weighted_sum(
            (float(weights[cells == cell].sum()), *self._cell(weights, cells == cell, level))
            for cell in np.unique(cells[weights > 0])
        )

    def _cell(self, weights: Floats, cell: npt.NDArray[np.bool_], level: float) -> tuple[float, float, float]:
        """One stratum's share of errors: anything where nobody judged, certain where all were."""
        inside = cell & (weights > 0)
        judged = weights[inside & self.judged]
        marks = int(inside.sum())
        if not judged.size:
            return 0.0, 0.0, 1.0
        rate = min(1.0, float(weights[inside & self.overturned].sum() / judged.sum()))
        if judged.size == marks:
            return rate, rate, rate
        # As many marks of equal weight as are worth these. Judging a good part of a stratum leaves less unknown: as if so
        # many more had been judged of an endless one.
        worth = float(judged.sum() ** 2 / (judged**2).sum())
        size = worth * (marks - 1) / (marks - judged.size)
        # Jeffreys': what it lacks at some rates, the other parts of the sum smooth out (measured, docs/statistics.md).
        return rate, *quantiles.share_bounds(rate, size, level, far=0.5)

    def spread(self) -> float:
        """How much more the problems differ than their marks show, as a factor of the width.

        A marker that is generous on hard problems makes them look alike. What the labels changed in the variance is
        taken for the share of it that is judged.
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
    """A score as people would have found it; of a difference, `first` is what is taken away. Its value is the middle."""
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
