"""Sets of real numbers as unions of intervals, and the inequalities that describe them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from markscheme.marking.equality.algebra.arithmetic import add, div, mul, neg, same, settle, sub
from markscheme.marking.equality.algebra.exact import Expr, TooBig, Unreadable, Value, generator, variables
from markscheme.marking.equality.algebra.numeric import approximate
from markscheme.marking.equality.algebra.powers import sqrt


@dataclass(frozen=True, slots=True)
class Piece:
    """An interval. An end at infinity is open; a closed one is a different answer."""

    low: Value
    high: Value
    low_closed: bool
    high_closed: bool


@dataclass(frozen=True, slots=True)
class RealSet:
    """A union of disjoint intervals in order. `variable` is that of the inequality."""

    pieces: tuple[Piece, ...]
    variable: str = ""


_MAX_PIECES: Final = 120  # no answer is a union of more, and each further one sorts them all again
INFINITY: Final = generator("∞")
MINUS_INFINITY: Final = neg(INFINITY)
REALS: Final = RealSet((Piece(MINUS_INFINITY, INFINITY, False, False),))
EMPTY: Final = RealSet(())
FLIPPED: Final = {"<": ">", ">": "<", "≤": "≥", "≥": "≤", "≠": "≠", "=": "="}


def place(value: Value) -> float:
    """Return a real number or an infinite end as a float. Raises `Unreadable` for anything else."""
    if isinstance(value, Expr) and "∞" in variables(value):
        ((_, c),) = value.terms.items() if len(value.terms) == 1 else (((), 0),)
        if not c:
            raise Unreadable("infinity inside an expression")
        return math.inf if c > 0 else -math.inf
    size = approximate(value)
    if size is None or abs(size.imag) > 1e-9 * max(1.0, abs(size)):
        raise Unreadable("not a real number")
    return size.real


def interval(low: Value, high: Value, low_closed: bool, high_closed: bool) -> RealSet:
    if place(low) > place(high):
        raise Unreadable("the ends of an interval are in the wrong order")
    if same(low, high):
        return points([low]) if low_closed and high_closed else EMPTY
    return RealSet((Piece(low, high, low_closed, high_closed),))


def points(values: list[Value]) -> RealSet:
    return union(RealSet(tuple(Piece(v, v, True, True) for v in values)), EMPTY)


def union(a: RealSet, b: RealSet) -> RealSet:
    return _combined(a, b, lambda left, right: left or right)


def intersection(a: RealSet, b: RealSet) -> RealSet:
    return _combined(a, b, lambda left, right: left and right)


def difference(a: RealSet, b: RealSet) -> RealSet:
    return _combined(a, b, lambda left, right: left and not right)


def _combined(a: RealSet, b: RealSet, kept: Callable[[bool, bool], bool]) -> RealSet:
    """Return the numbers for which `kept`, called with whether they are in a and in b, is true.

    The sorted ends cut the line into cells: everything before the first end, that end, everything before the next …
    """
    if len(a.pieces) + len(b.pieces) > _MAX_PIECES:
        raise TooBig
    ends: list[Value] = []
    cell: dict[int, int] = {}  # of each end, which the pieces keep alive
    for value in sorted((v for p in (*a.pieces, *b.pieces) for v in (p.low, p.high)), key=place):
        if not ends or not same(ends[-1], value):
            ends.append(value)
        cell[id(value)] = 2 * len(ends) - 1

    def cells(numbers: RealSet) -> list[bool]:
        inside = [False] * (2 * len(ends) + 1)
        for p in numbers.pieces:
            first, last = cell[id(p.low)] + (not p.low_closed), cell[id(p.high)] - (not p.high_closed)
            inside[first : last + 1] = [True] * (last + 1 - first)
        return inside

    pieces: list[Piece] = []
    at = 0
    for chosen, run in itertools.groupby(map(kept, cells(a), cells(b))):
        first, at = at, at + len(list(run))
        if chosen:
            pieces.append(Piece(ends[(first - 1) // 2], ends[(at - 1) // 2], first % 2 == 1, at % 2 == 0))
    return RealSet(tuple(pieces), a.variable or b.variable)


def same_set(a: RealSet, b: RealSet) -> bool:
    return len(a.pieces) == len(b.pieces) and all(
        p.low_closed == q.low_closed and p.high_closed == q.high_closed and same(p.low, q.low) and same(p.high, q.high)
        for p, q in zip(a.pieces, b.pieces, strict=True)
    )


def solve(left: Value, operator: str, right: Value) -> RealSet | None:
    """Solve an inequality in one variable that is linear, quadratic, or linear in |linear|; else return None."""
    names = variables(left) | variables(right)
    infinite = "∞" in names
    names.discard("∞")
    if len(names) != 1:
        return None
    (name,) = names
    if infinite:
        if not same(left, generator(name)):
            left, right, operator = right, left, FLIPPED[operator]
        # Every number is below infinity.
        everything = operator in ("<≤" if place(right) > 0 else ">≥")
        return RealSet(REALS.pieces if everything else (), name) if same(left, generator(name)) else None
    value = sub(left, right)
    if not isinstance(value, Expr) or value.den is not None:
        return None
    inner = [key for key, one in (value.atoms or {}).items() if one.kind == "abs"]
    if inner and len(value.atoms or {}) == 1:
        return _solve_absolute(value, inner[0], operator)
    coefficients = _coefficients(value, name)
    solved = _solve_polynomial(*coefficients, operator) if coefficients else None
    return None if solved is None else RealSet(solved.pieces, name)


def _coefficients(value: Expr, name: str) -> tuple[Value, Value, Value] | None:
    """Return (c₀, c₁, c₂) of a polynomial in one variable with constant coefficients."""
    rows: list[Value] = [0, 0, 0]
    for mono, c in value.terms.items():
        exponents = dict(mono)
        degree = exponents.pop(name, 0)
        if degree not in (0, 1, 2) or any(g[0] == "$" for g in exponents):
            return None
        rows[int(degree)] = add(rows[int(degree)], settle({tuple(exponents.items()): c}, None, None))
    return rows[0], rows[1], rows[2]


def _solve_polynomial(c: Value, b: Value, a: Value, operator: str) -> RealSet | None:
    """Solve ax² + bx + c against zero: the sign changes at each root, and far to the right it is that of a or b."""
    roots: list[Value] = []
    if a == 0 and b == 0:
        return None
    if a == 0:
        roots = [neg(div(c, b))]
    else:
        discriminant = sub(mul(b, b), mul(4, mul(a, c)))
        if discriminant == 0:
            return None
        if place(discriminant) > 0:
            root = sqrt(discriminant)
            roots = sorted((div(add(neg(b), signed), mul(2, a)) for signed in (root, neg(root))), key=place)
    positive = place(a if a != 0 else b) > 0
    pieces = [Piece(root, root, True, True) for root in roots if operator in "≤≥="]
    for low, high in reversed(list(itertools.pairwise([MINUS_INFINITY, *roots, INFINITY]))):
        if operator in (">≥≠" if positive else "<≤≠"):
            pieces.append(Piece(low, high, False, False))
        positive = not positive
    return union(RealSet(tuple(pieces)), EMPTY)


def _solve_absolute(value: Expr, key: str, operator: str) -> RealSet | None:
    scale = value.terms.get(((key, 1),))
    rest = {m: c for m, c in value.terms.items() if m != ((key, 1),)}
    constant = settle(rest, None, None)
    if not scale or variables(constant) or any(g == key for m in rest for g, _ in m):
        return None
    bound = mul(neg(constant), Fraction(1) / scale)
    if scale < 0:
        operator = FLIPPED[operator]
    inside = (value.atoms or {})[key].args[0]
    above, below = solve(inside, operator, bound), solve(inside, FLIPPED[operator], neg(bound))
    if above is None or below is None or place(bound) < 0:
        return None
    return intersection(above, below) if operator in "<≤≠" else union(above, below)
