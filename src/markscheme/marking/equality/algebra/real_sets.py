"""Sets of real numbers as unions of intervals, and the inequalities that describe them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from markscheme.marking.equality.algebra.arithmetic import add, div, mul, neg, same, settle, sub
from markscheme.marking.equality.algebra.exact import Expr, Unreadable, Value, variable, variables
from markscheme.marking.equality.algebra.numeric import approximate
from markscheme.marking.equality.algebra.trigonometry import sqrt


@dataclass(frozen=True, slots=True)
class Piece:
    """An interval. An end at infinity is open; written as closed, it is another answer."""

    low: Value
    high: Value
    low_closed: bool
    high_closed: bool


@dataclass(frozen=True, slots=True)
class RealSet:
    """A union of intervals, in order and apart. `variable` is the one an inequality was written in."""

    pieces: tuple[Piece, ...]
    variable: str = ""


INFINITY: Final = variable("∞")
MINUS_INFINITY: Final = neg(INFINITY)
REALS: Final = RealSet((Piece(MINUS_INFINITY, INFINITY, False, False),))
EMPTY: Final = RealSet(())
FLIPPED: Final = {"<": ">", ">": "<", "≤": "≥", "≥": "≤", "≠": "≠", "=": "="}


def place(value: Value) -> float:
    """Where a real number lies; infinite ends included. Raises `Unreadable` for anything else."""
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
    """The interval between two ends, in order."""
    a, b = place(low), place(high)
    if a > b:
        raise Unreadable("the ends of an interval are in the wrong order")
    if same(low, high):
        return RealSet((Piece(low, high, True, True),)) if low_closed and high_closed else EMPTY
    return RealSet((Piece(low, high, low_closed, high_closed),))


def union(a: RealSet, b: RealSet) -> RealSet:
    """All numbers in either."""
    pieces = sorted((*a.pieces, *b.pieces), key=lambda p: (place(p.low), not p.low_closed))
    merged: list[Piece] = []
    for p in pieces:
        if merged and _touch(merged[-1], p):
            merged[-1] = _join(merged[-1], p)
        else:
            merged.append(p)
    return RealSet(tuple(merged), _variable(a, b))


def _touch(a: Piece, b: Piece) -> bool:
    if same(a.high, b.low):
        return a.high_closed or b.low_closed
    return place(b.low) < place(a.high)


def _join(a: Piece, b: Piece) -> Piece:
    later = a if place(a.high) > place(b.high) else b
    closed = a.high_closed or b.high_closed if same(a.high, b.high) else later.high_closed
    low_closed = a.low_closed or (b.low_closed and same(a.low, b.low))
    return Piece(a.low, later.high, low_closed, closed)


def intersection(a: RealSet, b: RealSet) -> RealSet:
    """All numbers in both."""
    met = (_meet(p, q) for p in a.pieces for q in b.pieces)
    return RealSet(tuple(piece for piece in met if piece is not None), _variable(a, b))


def _meet(p: Piece, q: Piece) -> Piece | None:
    later = p if place(p.low) > place(q.low) else q
    sooner = p if place(p.high) < place(q.high) else q
    low, high = later.low, sooner.high
    low_closed = p.low_closed and q.low_closed if same(p.low, q.low) else later.low_closed
    high_closed = p.high_closed and q.high_closed if same(p.high, q.high) else sooner.high_closed
    if same(low, high):
        return Piece(low, high, True, True) if low_closed and high_closed else None
    return Piece(low, high, low_closed, high_closed) if place(low) < place(high) else None


def complement(a: RealSet) -> RealSet:
    """All real numbers that are not in it."""
    result = REALS
    for p in a.pieces:
        left, right = _ray("<" if p.low_closed else "≤", p.low), _ray(">" if p.high_closed else "≥", p.high)
        result = intersection(result, union(left, right))
    return RealSet(result.pieces, a.variable)


def points(values: list[Value]) -> RealSet:
    """The set of these numbers."""
    result = EMPTY
    for v in values:
        result = union(result, RealSet((Piece(v, v, True, True),)))
    return result


def _variable(a: RealSet, b: RealSet) -> str:
    return a.variable if a.variable == b.variable or not b.variable else a.variable or b.variable


def same_set(a: RealSet, b: RealSet) -> bool:
    """Whether two normal forms are the same set."""
    return len(a.pieces) == len(b.pieces) and all(
        p.low_closed == q.low_closed and p.high_closed == q.high_closed and same(p.low, q.low) and same(p.high, q.high)
        for p, q in zip(a.pieces, b.pieces, strict=True)
    )


def _ray(operator: str, bound: Value) -> RealSet:
    """x operator bound."""
    if abs(place(bound)) == math.inf:
        return REALS if (operator in "<≤" and place(bound) > 0) or (operator in ">≥" and place(bound) < 0) else EMPTY
    if operator in "<≤":
        return RealSet((Piece(MINUS_INFINITY, bound, False, operator == "≤"),))
    if operator in ">≥":
        return RealSet((Piece(bound, INFINITY, operator == "≥", False),))
    if operator == "≠":
        return union(_ray("<", bound), _ray(">", bound))
    return RealSet((Piece(bound, bound, True, True),))


def solve(left: Value, operator: str, right: Value) -> RealSet | None:
    """The solutions of an inequality in one variable that is linear, quadratic, or linear in |linear|; else None."""
    names = variables(left) | variables(right)
    infinite = "∞" in names
    names.discard("∞")
    if len(names) != 1:
        return None
    (name,) = names
    if infinite:
        if not same(left, variable(name)):
            left, right, operator = right, left, FLIPPED[operator]
        return _named(_ray(operator, right), name) if same(left, variable(name)) else None
    difference = sub(left, right)
    if not isinstance(difference, Expr) or difference.den is not None:
        return None
    inner = _absolute_inside(difference)
    if inner is not None:
        return _solve_absolute(difference, inner, operator, name)
    coefficients = _coefficients(difference, name)
    if coefficients is None:
        return None
    c0, c1, c2 = coefficients
    found = _solve_linear(c1, c0, operator) if c2 == 0 else _solve_quadratic(c2, c1, c0, operator)
    return None if found is None else _named(found, name)


def _named(a: RealSet, name: str) -> RealSet:
    return RealSet(a.pieces, name)


def _coefficients(value: Expr, name: str) -> tuple[Value, Value, Value] | None:
    """(c₀, c₁, c₂) of a polynomial in one variable, whose coefficients are numbers."""
    rows: list[Value] = [0, 0, 0]
    for mono, c in value.terms.items():
        exponents = dict(mono)
        degree = exponents.pop(name, 0)
        if degree not in (0, 1, 2) or any(g[0] == "$" for g in exponents):
            return None
        rows[int(degree)] = add(rows[int(degree)], settle({tuple(exponents.items()): c}, None, None))
    return rows[0], rows[1], rows[2]


def _solve_linear(slope: Value, constant: Value, operator: str) -> RealSet | None:
    if slope == 0:
        return None
    bound = neg(div(constant, slope))
    return _ray(operator if place(slope) > 0 else FLIPPED[operator], bound)


def _solve_quadratic(a: Value, b: Value, c: Value, operator: str) -> RealSet | None:
    discriminant = sub(mul(b, b), mul(4, mul(a, c)))
    if place(a) < 0:
        operator = FLIPPED[operator]
    if not isinstance(discriminant, Expr) and discriminant < 0:
        return REALS if operator in ">≥≠" else EMPTY
    if place(discriminant) <= 0:
        return None
    root = sqrt(discriminant)
    low, high = sorted((div(sub(neg(b), root), mul(2, a)), div(add(neg(b), root), mul(2, a))), key=place)
    if operator in "<≤":
        return interval(low, high, operator == "≤", operator == "≤")
    if operator in ">≥":
        return union(_ray("<" if operator == ">" else "≤", low), _ray(operator, high))
    return intersection(_ray("≠", low), _ray("≠", high))


def _absolute_inside(value: Expr) -> str | None:
    keys = [k for k, inner in (value.atoms or {}).items() if inner.kind == "abs"]
    return keys[0] if len(keys) == 1 and len(value.atoms or {}) == 1 else None


def _solve_absolute(value: Expr, key: str, operator: str, name: str) -> RealSet | None:
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
    return _named(intersection(above, below) if operator in "<≤≠" else union(above, below), name)
