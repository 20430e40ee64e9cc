"""Sines, cosines and their inverses of exact values: special values, sums and small multiples of angles expanded."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Final

from markscheme.marking.equality.algebra.arithmetic import add, div, mul, neg, settle, sub
from markscheme.marking.equality.algebra.exact import IMAGINARY, PI, Expr, Number, Value, atom, form
from markscheme.marking.equality.algebra.powers import root_power

HALF: Final = Fraction(1, 2)


def sqrt(a: Value) -> Value:
    """The principal square root."""
    return root_power(a, HALF) if isinstance(a, Expr) or a not in (0, 1) else a


def turn(q: Fraction) -> Value:
    """e^(iπq)."""
    angle = mul(PI, q)
    return add(cosine(angle), mul(IMAGINARY, sine(angle)))


def pi_multiple(a: Value) -> Number | None:
    """r where a is r·π, else None."""
    if not isinstance(a, Expr):
        return 0 if a == 0 else None
    if a.den is None and len(a.terms) == 1:
        return a.terms.get((("π", 1),))
    return None


def sine(a: Value) -> Value:
    """sin a."""
    return _angle(a)[1]


def cosine(a: Value) -> Value:
    """cos a."""
    return _angle(a)[0]


def _angle(a: Value) -> tuple[Value, Value]:
    """(cos a, sin a), with the terms of the angle expanded one after the other."""
    r = pi_multiple(a)
    if r is not None:
        return _cos_pi(r), _cos_pi(HALF - r)
    if not isinstance(a, Expr):
        return _cos_sin_atoms(a)
    if a.den is not None or len(a.terms) > 3:
        return _cos_sin_atoms(a)
    cos_total: Value = 1
    sin_total: Value = 0
    for mono, c in sorted(a.terms.items()):
        cos_one, sin_one = _angle_term(settle({mono: 1}, None, a.atoms), c)
        cos_total, sin_total = (
            sub(mul(cos_total, cos_one), mul(sin_total, sin_one)),
            add(mul(sin_total, cos_one), mul(cos_total, sin_one)),
        )
    return cos_total, sin_total


def _angle_term(unit: Value, c: Number) -> tuple[Value, Value]:
    """cos and sin of c·unit: of -3x/2 through the multiple angle of x/2."""
    if unit == 1:
        return _cos_sin_atoms(c)
    if pi_multiple(unit) is not None:
        return _angle(mul(unit, c))
    times, base = abs(c.numerator), mul(unit, Fraction(1, c.denominator))
    if times > 6:
        return _cos_sin_atoms(mul(unit, c))
    cos_base, sin_base = _cos_sin_atoms(base, complete=c.denominator == 1)
    cos_n, sin_n = cos_base, sin_base
    for _ in range(times - 1):
        cos_n, sin_n = (
            sub(mul(cos_n, cos_base), mul(sin_n, sin_base)),
            add(mul(sin_n, cos_base), mul(cos_n, sin_base)),
        )
    return cos_n, sin_n if c > 0 else neg(sin_n)


def _cos_sin_atoms(a: Value, *, complete: bool = False) -> tuple[Value, Value]:
    negative = a < 0 if not isinstance(a, Expr) else a.terms[min(a.terms)] < 0
    inner = neg(a) if negative else a
    cos_atom, sin_atom = atom("cos", inner, complete=complete), atom("sin", inner, complete=complete)
    return cos_atom, neg(sin_atom) if negative else sin_atom


@lru_cache(maxsize=1)
def _special_cosines() -> dict[Fraction, Value]:
    root2, root3, root5, root6 = (sqrt(n) for n in (2, 3, 5, 6))
    return {
        Fraction(0): 1,
        Fraction(1, 12): div(add(root6, root2), 4),
        Fraction(1, 10): div(sqrt(add(10, mul(2, root5))), 4),
        Fraction(1, 8): div(sqrt(add(2, root2)), 2),
        Fraction(1, 6): div(root3, 2),
        Fraction(1, 5): div(add(1, root5), 4),
        Fraction(1, 4): div(root2, 2),
        Fraction(3, 10): div(sqrt(sub(10, mul(2, root5))), 4),
        Fraction(1, 3): HALF,
        Fraction(3, 8): div(sqrt(sub(2, root2)), 2),
        Fraction(2, 5): div(sub(root5, 1), 4),
        Fraction(5, 12): div(sub(root6, root2), 4),
        HALF: 0,
    }


def _cos_pi(r: Number) -> Value:
    """cos(rπ): the angle is brought into [0, π/2] first."""
    r = Fraction(r) % 2
    if r > 1:
        r = 2 - r
    if r > HALF:
        return neg(_cos_pi(1 - r))
    known = _special_cosines().get(r)
    return known if known is not None else atom("cos", mul(PI, r), complete=False)


def tangent(a: Value) -> Value:
    """tan a."""
    return div(sine(a), cosine(a))


@lru_cache(maxsize=1)
def _special_angles() -> tuple[dict[str, Fraction], dict[str, Fraction]]:
    sines: dict[str, Fraction] = {}
    tangents: dict[str, Fraction] = {}
    for r in _special_cosines():
        for signed in (HALF - r, r - HALF):
            sines[form(sine(mul(PI, signed)))] = signed
            if abs(signed) != HALF:
                tangents[form(tangent(mul(PI, signed)))] = signed
    return sines, tangents


def arcsine(a: Value) -> Value:
    """arcsin a."""
    known = _special_angles()[0].get(form(a))
    return mul(PI, known) if known is not None else _odd_atom("arcsin", a)


def arccosine(a: Value) -> Value:
    """arccos a."""
    return sub(mul(PI, HALF), arcsine(a))


def arctangent(a: Value) -> Value:
    """arctan a."""
    known = _special_angles()[1].get(form(a))
    return mul(PI, known) if known is not None else _odd_atom("arctan", a)


def arccotangent(a: Value) -> Value:
    """arccot a, in (0, π)."""
    return sub(mul(PI, HALF), arctangent(a))


def _odd_atom(kind: str, a: Value) -> Value:
    negative = a < 0 if not isinstance(a, Expr) else a.terms[min(a.terms)] < 0
    return neg(atom(kind, neg(a), complete=False)) if negative else atom(kind, a, complete=False)
