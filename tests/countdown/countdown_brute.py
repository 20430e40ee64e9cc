"""Countdown by brute force, with nothing in common with the package: the referee of the property tests.

All expressions are made by joining any two of what is left until one thing is left. Two are essentially the same when
they agree, up to sign, as functions of the numbers: told by their values at one random point modulo a large prime.
"""

import random
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import permutations
from typing import NamedTuple

PRIME = (1 << 61) - 1
POINT = [random.Random(position).randrange(PRIME) for position in range(8)]


class Made(NamedTuple):
    value: Fraction
    whole: bool
    divides: bool
    formula: tuple  # nested (operator, left, right) over positions


def expressions(nums: list[int]) -> Iterator[Made]:
    """Every expression that uses every number once, each at least once, none that divides by zero."""
    yield from _joined([Made(Fraction(n), True, False, (position,)) for position, n in enumerate(nums)])


def _joined(left: list[Made]) -> Iterator[Made]:
    if len(left) == 1:
        yield left[0]
        return
    for i, a in enumerate(left):
        for j, b in enumerate(left):
            if i == j:
                continue
            others = [made for k, made in enumerate(left) if k not in (i, j)]
            for operator in "+-*/":
                if (operator in "+*" and i > j) or (operator == "/" and b.value == 0):
                    continue
                yield from _joined([*others, _join(operator, a, b)])


def _join(operator: str, a: Made, b: Made) -> Made:
    value = {
        "+": lambda: a.value + b.value,
        "-": lambda: a.value - b.value,
        "*": lambda: a.value * b.value,
        "/": lambda: a.value / b.value,
    }[operator]()
    whole = a.whole and b.whole and value.denominator == 1
    return Made(value, whole, a.divides or b.divides or operator == "/", (operator, a.formula, b.formula))


def at_point(formula: tuple, point: list[int]) -> int:
    """The formula's value modulo the prime when position p holds point[p]."""
    if len(formula) == 1:
        return point[formula[0]]
    operator, a, b = formula[0], at_point(formula[1], point), at_point(formula[2], point)
    if operator == "+":
        return (a + b) % PRIME
    if operator == "-":
        return (a - b) % PRIME
    return a * (b if operator == "*" else pow(b, -1, PRIME)) % PRIME


def signature(formula: tuple, nums: list[int]) -> int:
    """The same for essentially equal formulas: up to sign, and to exchanging equal numbers."""
    values = [at_point(formula, point) for point in _exchanged_points(tuple(nums))]
    return min(min(value, PRIME - value) for value in values)


@cache
def _exchanged_points(nums: tuple[int, ...]) -> list[list[int]]:
    orders = permutations(range(len(nums)))
    return [[POINT[p] for p in order] for order in orders if all(nums[i] == nums[p] for i, p in enumerate(order))]


def solutions(nums: list[int], target: int) -> dict[int, list[Made]]:
    """The expressions that make the target, grouped into essentially different ones."""
    classes: dict[int, list[Made]] = {}
    for made in expressions(nums):
        if made.value == target:
            classes.setdefault(signature(made.formula, nums), []).append(made)
    return classes


def reachable(nums: tuple[int, ...]) -> set[Fraction]:
    """Every value that the numbers can make."""
    values: dict[tuple[int, ...], set[Fraction]] = {}

    def over(part: tuple[int, ...]) -> set[Fraction]:
        if part not in values:
            found = {Fraction(part[0])} if len(part) == 1 else set()
            for mask in range(1, 2 ** len(part) - 1):
                a = tuple(n for i, n in enumerate(part) if mask >> i & 1)
                b = tuple(n for i, n in enumerate(part) if not mask >> i & 1)
                for x in over(a):
                    for y in over(b):
                        found |= {x + y, x - y, x * y}
                        if y:
                            found.add(x / y)
            values[part] = found
        return values[part]

    return over(tuple(sorted(nums)))
