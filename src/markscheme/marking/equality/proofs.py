"""Proofs by sympy. Only worker processes import this module: their time and memory are limited."""

from __future__ import annotations

from typing import Any, Final

import sympy

from markscheme.marking.equality.algebra.exact import (
    Expr,
    Number,
    Terms,
    TooBig,
    Undefined,
    Unreadable,
    Value,
    variables,
)
from markscheme.marking.equality.read.parsing import read
from markscheme.marking.equality.rules.rulebook import Comparator


def decide(answer: str, gold: str) -> bool | None:
    """Compare with sympy for the pairs of values that exact arithmetic cannot decide."""
    try:
        return SymbolicComparator().same(read(answer), read(gold))
    except (Unreadable, Undefined, TooBig, RecursionError):
        return None


class SymbolicComparator(Comparator):
    def undecided(self, a: Value, b: Value) -> bool | None:
        """Decide by a proof that the difference is zero, or by a value that is certainly not zero."""
        difference = to_sympy(a) - to_sympy(b)
        if difference == 0:
            return True
        if not variables(a) and not variables(b):
            return _constant_is_zero(difference)
        attempts = (
            sympy.simplify,
            lambda e: sympy.simplify(_factored(e)),
            lambda e: sympy.simplify(sympy.expand_log(_factored(e), force=True)),
            lambda e: sympy.simplify(e.rewrite(sympy.exp)),
        )
        return True if any(attempt(difference) == 0 for attempt in attempts) else None

    def is_constant(self, value: Value) -> bool | None:
        """Decide by a proof that all derivatives are zero."""
        expression = to_sympy(value)
        slopes = [expression.diff(name) for name in expression.free_symbols]
        # Exponentials first: simplify takes seconds for cos(8x - 6) and sin(16x - 12), and finds nothing.
        return True if all(e.rewrite(sympy.exp).expand() == 0 or sympy.simplify(e) == 0 for e in slopes) else None


def _factored(expression: Any) -> Any:
    rooted = expression.replace(
        lambda e: e.is_Pow and not e.exp.is_integer and e.base.is_Add, lambda e: sympy.Pow(sympy.factor(e.base), e.exp)
    )
    return rooted.replace(sympy.log, lambda z: sympy.log(sympy.factor(z)))


def _constant_is_zero(difference: Any) -> bool | None:
    size = difference.evalf(60)
    if size.is_number and abs(size) > sympy.Float(10) ** -40:
        return False
    if difference.is_algebraic:
        # A number is zero if and only if its minimal polynomial is x.
        x = sympy.Dummy("x")
        return bool(sympy.minimal_polynomial(difference, x) == x)
    # A number this small whose sine is zero is zero. This proves sums of inverse functions in 20 ms; `simplify` takes 1 s.
    sine = sympy.expand_trig(sympy.sin(difference))
    if sympy.radsimp(sympy.expand(sine)) == 0:
        return True
    if any(sympy.simplify(form) == 0 for form in (difference, difference.rewrite(sympy.log))):
        return True
    return True if sympy.simplify(sine) == 0 else None


def to_sympy(value: Value) -> Any:
    """Convert an exact value to sympy. Variables are taken to be positive, as in the rules for roots."""
    if not isinstance(value, Expr):
        return _rational(value)
    known = {key: _function(inner.kind)(*map(to_sympy, inner.args)) for key, inner in (value.atoms or {}).items()}
    known |= {"π": sympy.pi, "e": sympy.E, "#i": sympy.I}

    def generator(g: str) -> Any:
        if g in known:
            return known[g]
        return sympy.Integer(int(g[1:])) if g[0] == "#" else sympy.Symbol(g, positive=True)

    def total(terms: Terms) -> Any:
        products = (
            sympy.Mul(_rational(c), *(generator(g) ** _rational(e) for g, e in mono)) for mono, c in terms.items()
        )
        return sympy.Add(*products)

    return total(value.terms) if value.den is None else total(value.terms) / total(value.den)


def _rational(number: Number) -> Any:
    return sympy.Rational(number.numerator, number.denominator)


# Sympy's names of functions if they differ from ours.
_NAMES: Final = {
    "arcsin": "asin", "arctan": "atan", "ln": "log", "root": "Id", "pow": "Pow", "power": "Pow", "abs": "Abs",
    "max": "Max", "min": "Min",
}  # fmt: skip


def _function(kind: str) -> Any:
    if kind in ("gcd", "lcm"):  # sympy's functions need polynomials, where a and b have no common factor
        return sympy.Function(kind)
    return getattr(sympy, _NAMES.get(kind, kind))
