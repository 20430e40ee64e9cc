"""One figure over several benchmarks: macro (each counts the same) or micro (each problem counts the same)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markscheme.errors import UsageError
from markscheme.statistics.intervals import Interval


def macro(parts: Sequence[Interval]) -> Interval:
    """The mean of the scores of several benchmarks."""
    return _combined(parts, [1.0] * len(parts), "macro")


def micro(parts: Sequence[Interval]) -> Interval:
    """The score over all problems of several benchmarks."""
    return _combined(parts, [float(part.problems) for part in parts], "micro")


def _combined(parts: Sequence[Interval], shares: Sequence[float], method: str) -> Interval:
    """Independent intervals put together distance by distance (MOVER), which keeps each one's asymmetry.

    For symmetric intervals this is the usual root of the sum of squared errors.
    """
    if not parts:
        raise UsageError("an average needs at least one score")
    if len({part.level for part in parts}) > 1:
        raise UsageError("only intervals of one level can be averaged")
    problems, undefined = sum(part.problems for part in parts), sum(part.undefined for part in parts)
    level = parts[0].level
    if any(part.problems == 0 for part in parts):  # a score is missing, and so is the average
        return Interval(
            estimate=math.nan, low=0.0, high=1.0, level=level, method=method, problems=problems, undefined=undefined
        )
    weights = [share / sum(shares) for share in shares]
    pairs = list(zip(weights, parts, strict=True))
    mean = math.fsum(weight * part.estimate for weight, part in pairs)
    below = math.hypot(*(weight * (part.estimate - part.low) for weight, part in pairs))
    above = math.hypot(*(weight * (part.high - part.estimate) for weight, part in pairs))
    return Interval(
        estimate=mean,
        low=max(0.0, mean - below),
        high=min(1.0, mean + above),
        level=level,
        method=method,
        problems=problems,
        undefined=undefined,
    )
