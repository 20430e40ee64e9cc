"""Answers as sets of real numbers: what an interval, a set of points or a list of them stands for."""

from __future__ import annotations

from fractions import Fraction

from markscheme.marking.equality.algebra import real_sets as sets
from markscheme.marking.equality.algebra.rational_functions import Value, mul
from markscheme.marking.equality.kinds import Answer, Collection, RealSet, Scalar, Sequence
from markscheme.marking.equality.read.expressions import Unreadable


def as_set(answer: Answer) -> RealSet:
    """An answer as a set of real numbers: intervals, points, unions; raises `Unreadable` for anything else."""
    if isinstance(answer, RealSet):
        return answer
    if isinstance(answer, Sequence) and len(answer.items) == 2 and answer.left in "([" and answer.right in ")]":
        low, high = answer.items
        if isinstance(low, Scalar) and isinstance(high, Scalar):
            return sets.interval(_number(low), _number(high), answer.left == "[", answer.right == "]")
    if isinstance(answer, Collection):
        if answer.braces:
            values = [_number(x) for x in answer.items if isinstance(x, Scalar)]
            if len(values) == len(answer.items):
                return sets.points(values)
        else:
            return combine([as_set(x) for x in answer.items], "or")
    raise Unreadable("not a set of real numbers")


def combine(parts: list[RealSet], joined: str) -> RealSet:
    """Inequalities in one sentence: all of them hold, or any; a comma or "and" between disjoint ones means any."""
    result = parts[0]
    if joined != "or":
        for p in parts[1:]:
            result = sets.intersection(result, p)
        if result.pieces:
            return result
        result = parts[0]
    for p in parts[1:]:
        result = sets.union(result, p)
    return result


def _number(scalar: Scalar) -> Value:
    return mul(scalar.value, Fraction(1, 100)) if scalar.percent else scalar.value
