"""Replaces a variable everywhere in an exact value, inside functions too, and simplifies again."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import lcm
from typing import Final

from markscheme.marking.equality.algebra import functions, trigonometry
from markscheme.marking.equality.algebra.powers import power
from markscheme.marking.equality.algebra.rational_functions import (
    Atom,
    Expr,
    Terms,
    Value,
    add,
    div,
    generators,
    mul,
    settle,
    variable,
    variables,
)

_REBUILT: Final[dict[str, Callable[..., Value]]] = {
    "sin": trigonometry.sine,
    "cos": trigonometry.cosine,
    "arcsin": trigonometry.arcsine,
    "arctan": trigonometry.arctangent,
    "ln": functions.logarithm,
    "abs": functions.absolute,
    "floor": functions.floor,
    "factorial": functions.factorial,
    "binomial": functions.binomial,
    "pow": power,
    "power": power,
    "root": lambda a: a,
}
"""How an atom of each kind is made again from its arguments; a root's exponent stays outside the atom."""


def substitute(value: Value, name: str, by: Value) -> Value:
    """The value with a variable replaced."""
    if not isinstance(value, Expr) or name not in generators(value):
        return value
    top = _terms(value, value.terms, name, by)
    return top if value.den is None else div(top, _terms(value, value.den, name, by))


def _terms(whole: Expr, terms: Terms, name: str, by: Value) -> Value:
    atoms = {key: made for key, inner in (whole.atoms or {}).items() if (made := _atom(inner, name, by)) is not None}
    result: Value = 0
    for mono, c in terms.items():
        kept = {g: e for g, e in mono if g != name and g not in atoms}
        product = settle({tuple(sorted(kept.items())): c}, None, whole.atoms)
        for g, e in mono:
            if g == name or g in atoms:
                product = mul(product, power(by if g == name else atoms[g], e))
        result = add(result, product)
    return result


def _atom(inner: Atom, name: str, by: Value) -> Value | None:
    """The atom made again, or None when the variable is not in it."""
    if not any(name in generators(a) for a in inner.args):
        return None
    return _REBUILT[inner.kind](*(substitute(a, name, by) for a in inner.args))


def whole_angles(a: Value, b: Value) -> tuple[Value, Value] | None:
    """Both values with x replaced by a multiple of x, such that all angles are whole multiples: x/2 and x share x/2.

    Equality is not changed by that, and identities between an angle and its half then show in the canonical form.
    """
    denominators: dict[str, int] = {}
    for value in (a, b):
        for inner in (value.atoms or {}).values() if isinstance(value, Expr) else ():
            angle = inner.args[0]
            if inner.kind in ("sin", "cos") and isinstance(angle, Expr) and angle.den is None:
                for mono, c in angle.terms.items():
                    for g, e in mono:
                        if g in variables(angle) and e == 1:
                            denominators[g] = lcm(denominators.get(g, 1), c.denominator)
    scales = {g: n for g, n in denominators.items() if 1 < n <= 12}
    if not scales:
        return None
    for g, n in scales.items():
        by = mul(variable(g), Fraction(n))
        a, b = substitute(a, g, by), substitute(b, g, by)
    return a, b
