"""How wrong the marker is, from marks that people judged, and the accuracy corrected for it.

Marks fall into strata (what the marker said; whether protocols agree …) and people judge a random sample of each. The
corrected accuracy is what people would have found, with the uncertainty of the problems, of sampling and of the few
judgements in one interval. Stratified rather than prediction-powered: with few labels and rare errors the normal
interval of the latter covers far less than it says (see docs/statistics.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from markscheme.errors import UsageError
from markscheme.statistics import quantiles
from markscheme.statistics.intervals import Interval, check_level, weighted_sum


class JudgedStratum(msgspec.Struct, frozen=True, kw_only=True):
    """Marks of one kind, and what people said about a random sample of them."""

    marked_correct: bool
    marks: int
    """How many marks of this kind there are."""
    judged: int
    """How many of these, drawn at random, people judged."""
    overturned: int
    """In how many of those they disagreed with the marker."""


class MarkerErrors(msgspec.Struct, frozen=True, kw_only=True):
    """Rates of error of the marker, and the accuracy without them."""

    false_positive: Interval
    """Of the responses marked correct, the share that people call wrong."""
    false_negative: Interval
    """Of the responses marked wrong, the share that people call right."""
    accuracy: Interval
    """Corrected, with all uncertainties."""
    correction: float
    """Corrected minus marked."""
    judged: int


def corrected(accuracy: Interval, strata: Sequence[JudgedStratum]) -> MarkerErrors:
    """The accuracy that people would have found, from the marked one and the judged strata; at its level."""
    parts = _parts(strata, accuracy.level)
    shift = math.fsum(weight * rate for weight, rate, _, _ in parts)
    value, low, high = weighted_sum([(1.0, accuracy.estimate, accuracy.low, accuracy.high), *parts])
    found = msgspec.structs.replace(
        accuracy,
        estimate=min(1.0, max(0.0, value)),
        low=max(0.0, low),
        high=min(1.0, high),
        method=f"{accuracy.method}, corrected",
    )
    return MarkerErrors(
        false_positive=_pooled([each for each in strata if each.marked_correct], accuracy.level),
        false_negative=_pooled([each for each in strata if not each.marked_correct], accuracy.level),
        accuracy=found,
        correction=shift,
        judged=sum(each.judged for each in strata),
    )


def corrected_difference(
    difference: Interval, first: Sequence[JudgedStratum], second: Sequence[JudgedStratum]
) -> Interval:
    """The difference in accuracy, second minus first, that people would have found; at its level."""
    taken = [(-weight, rate, low, high) for weight, rate, low, high in _parts(first, difference.level)]
    own = (1.0, difference.estimate, difference.low, difference.high)
    value, low, high = weighted_sum([own, *taken, *_parts(second, difference.level)])
    return msgspec.structs.replace(
        difference, estimate=value, low=max(-1.0, low), high=min(1.0, high), method=f"{difference.method}, corrected"
    )


def _parts(strata: Sequence[JudgedStratum], level: float) -> list[tuple[float, float, float, float]]:
    """What each stratum does to the accuracy: its weight, and its rate of error with bounds."""
    check_level(level)
    for each in strata:
        if not 0 <= each.overturned <= each.judged <= each.marks:
            raise UsageError("of a stratum's marks at most all are judged, and of these at most all are overturned")
    total = sum(each.marks for each in strata)
    if not total:
        raise UsageError("without marks there is nothing to correct")
    # A false positive lowers the score.
    return [((-1 if each.marked_correct else 1) * each.marks / total, *_error_rate(each, level)) for each in strata]


def _error_rate(stratum: JudgedStratum, level: float) -> tuple[float, float, float]:
    """The share overturned, low and high; from nothing to everything where nobody judged, certain where all were."""
    if stratum.judged == 0:
        return 0.0, 0.0, 1.0
    rate = stratum.overturned / stratum.judged
    if stratum.judged == stratum.marks:
        return rate, rate, rate
    # Judging a good part of a stratum leaves less unknown: as if so many more had been judged of an endless one.
    size = stratum.judged * (stratum.marks - 1) / (stratum.marks - stratum.judged)
    return rate, *quantiles.share_bounds(rate, size, level)


def _pooled(strata: Sequence[JudgedStratum], level: float) -> Interval:
    """One rate over strata, each weighing as many marks as it has."""
    total = sum(each.marks for each in strata)
    rate, low, high = math.nan, 0.0, 1.0
    if total:
        rate, low, high = weighted_sum((each.marks / total, *_error_rate(each, level)) for each in strata)
    return Interval(estimate=rate, low=max(0.0, low), high=min(1.0, high), level=level, method="stratified", problems=0)
