"""Arithmetic with infinity as limits have it: ∞ + 5 is ∞, 1/∞ is 0, and ∞ - ∞, 0·∞, ∞/∞, ∞⁰ and 1^∞ are `Undefined`."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Final

from markscheme.marking.equality.algebra.arithmetic import add, div, mul, neg, sub
from markscheme.marking.equality.algebra.exact import Undefined, Unreadable, Value, variables
from markscheme.marking.equality.algebra.powers import power
from markscheme.marking.equality.algebra.real_sets import INFINITY, place


def _power(base: float, exponent: float) -> float:
    """Python's power without the forms that have no limit. A negative base has no known sign."""
    return math.nan if base < 0 or base == 1 or exponent == 0 else base**exponent


def _extended(exact: Callable[[Value, Value], Value], limit: Callable[[float, float], float]) -> Callable[..., Value]:
    def operation(a: Value, b: Value) -> Value:
        if (variables(a) | variables(b)) != {"∞"}:
            return exact(a, b)  # with a variable, which may be negative, infinity is kept
        try:
            left, right = place(a), place(b)
            found = limit(left, right)
        except Unreadable:
            return exact(a, b)
        except ZeroDivisionError:
            found = math.nan
        if math.isnan(found):
            raise Undefined("an operation with infinity that has no value")
        return 0 if found == 0 else INFINITY if found > 0 else neg(INFINITY)

    return operation


_LIMITS: Final = {add: operator.add, sub: operator.sub, mul: operator.mul, div: operator.truediv, power: _power}
# The operation with infinity for each exact operation.
WITH_INFINITY: Final = {exact: _extended(exact, limit) for exact, limit in _LIMITS.items()}
