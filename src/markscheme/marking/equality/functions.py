"""Functions of exact values: trigonometric, logarithms, absolute value, floor, factorial, binomial.

Special values are exact; sums and small multiples of angles are expanded, so that identities show in the canonical
form. What stays unevaluated becomes an atom.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Final

from markscheme.marking.equality.algebra import (
    EULER,
    I_BASE,
    IMAGINARY,
    PI,
    Atom,
    Expr,
    Number,
    TooBig,
    Undefined,
    Value,
    add,
    atom,
    div,
    form,
    int_power,
    lift,
    mul,
    neg,
    settle,
    sub,
    variables,
)
from markscheme.marking.equality.integers import factor
from markscheme.marking.equality.numeric import approximate
from markscheme.marking.equality.powers import MAX_FACTORED_BITS, exponential, power, root_power

HALF: Final = Fraction(1, 2)
MAX_FACTORIAL: Final = 3000
MAX_BINOMIAL: Final = 6000


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


def logarithm(a: Value) -> Value:
    """The natural logarithm, one term for each prime and each factor."""
    if not isinstance(a, Expr):
        if a <= 0:
            raise Undefined("the logarithm of a number that is not positive")
        if max(a.numerator.bit_length(), a.denominator.bit_length()) > MAX_FACTORED_BITS:
            raise TooBig
        result: Value = 0
        for n, sign in ((a.numerator, 1), (a.denominator, -1)):
            for p, k in factor(n):
                result = add(result, mul(atom("ln", p), k * sign))
        return result
    if a.den is None and len(a.terms) == 1:
        ((mono, c),) = a.terms.items()
        if c > 0 and all(g != I_BASE for g, _ in mono):
            result = logarithm(c)
            for g, e in mono:
                result = add(result, mul(_log_generator(g, a.atoms), e))
            return result
    if a.den is not None:
        return sub(logarithm(settle(a.terms, None, a.atoms)), logarithm(settle(a.den, None, a.atoms)))
    return atom("ln", a, complete=False)


def _log_generator(g: str, atoms: dict[str, Atom] | None) -> Value:
    if g == "e":
        return 1
    if g[0] == "#":
        return atom("ln", int(g[1:]))
    inner = atoms.get(g) if atoms else None
    if inner is not None and inner.kind == "pow":
        return mul(inner.args[1], logarithm(inner.args[0]))
    return atom("ln", Expr({((g, 1),): 1}, None, {g: inner} if inner else None))


def log_base(base: Value, a: Value) -> Value:
    """log of a to a base."""
    return div(logarithm(a), logarithm(base))


def absolute(a: Value) -> Value:
    """|a|."""
    if not isinstance(a, Expr):
        return a if a >= 0 else -a
    if a.den is not None:
        return div(absolute(settle(a.terms, None, a.atoms)), absolute(settle(a.den, None, a.atoms)))
    if not variables(a):
        return _absolute_constant(a)
    if len(a.terms) == 1:
        ((mono, c),) = a.terms.items()
        result: Value = c if c > 0 else -c
        for g, e in mono:
            atoms = {g: a.atoms[g]} if a.atoms and g in a.atoms else None
            plain = Expr({((g, 1),): 1}, None, atoms)
            even = e.denominator == 1 and e.numerator % 2 == 0
            positive = even or g in ("π", "e") or g[0] == "#" or g.startswith(("$pow", "$abs", "$root"))
            result = mul(result, power(plain if positive else atom("abs", plain), e))
        return result
    return atom("abs", neg(a) if a.terms[min(a.terms)] < 0 else a, complete=False)


def _absolute_constant(a: Expr) -> Value:
    if any(g == I_BASE for mono in a.terms for g, _ in mono):
        real = settle({m: c for m, c in a.terms.items() if all(g != I_BASE for g, _ in m)}, None, a.atoms)
        imaginary = div(sub(a, real), IMAGINARY)
        return sqrt(add(mul(real, real), mul(imaginary, imaginary)))
    size = approximate(a)
    if size is None or abs(size.imag) > 1e-9 * abs(size):
        return atom("abs", a, complete=False)
    return a if size.real > 0 else neg(a)


def floor(a: Value) -> Value:
    """⌊a⌋."""
    if not isinstance(a, Expr):
        return math.floor(a)
    if not variables(a):
        size = approximate(a)
        if size is not None and size.imag == 0 and abs(size.real) < 1e12 and abs(size.real - round(size.real)) > 1e-6:
            return math.floor(size.real)
    return atom("floor", a, complete=False)


def ceiling(a: Value) -> Value:
    """⌈a⌉."""
    return neg(floor(neg(a)))


def factorial(a: Value) -> Value:
    """a!."""
    if isinstance(a, int):
        if a < 0:
            raise Undefined("the factorial of a negative number")
        if a <= MAX_FACTORIAL:
            return math.factorial(a)
    return atom("factorial", a, complete=isinstance(a, int))


def binomial(n: Value, k: Value) -> Value:
    """n choose k; a polynomial in n for a small k."""
    if isinstance(n, int) and isinstance(k, int):
        if 0 <= k <= n <= MAX_BINOMIAL:
            return math.comb(n, k)
        if 0 <= n < k:
            return 0
    if isinstance(k, int) and 0 <= k <= 8:
        result: Value = 1
        for j in range(k):
            result = mul(result, sub(n, j))
        return div(result, math.factorial(k))
    return atom("binomial", n, k, complete=False)


def _hyperbolic(sign: int, *, over: bool = False) -> Callable[[Value], Value]:
    def apply(a: Value) -> Value:
        up, down = exponential(a), exponential(neg(a))
        top = add(up, mul(sign, down))
        return div(top, add(up, down)) if over else div(top, 2)

    return apply


FUNCTIONS: Final[dict[str, Callable[[Value], Value]]] = {
    "sqrt": sqrt,
    "cbrt": lambda a: root_power(a, Fraction(1, 3)),
    "sin": sine,
    "cos": cosine,
    "tan": tangent,
    "cot": lambda a: div(cosine(a), sine(a)),
    "sec": lambda a: div(1, cosine(a)),
    "csc": lambda a: div(1, sine(a)),
    "arcsin": arcsine,
    "arccos": arccosine,
    "arctan": arctangent,
    "arccot": arccotangent,
    "sinh": _hyperbolic(-1),
    "cosh": _hyperbolic(1),
    "tanh": _hyperbolic(-1, over=True),
    "ln": logarithm,
    "exp": exponential,
    "abs": absolute,
    "floor": floor,
    "ceil": ceiling,
}
"""Functions of one argument by the name the parser gives them."""

TRIGONOMETRIC: Final = frozenset({"sin", "cos", "tan", "cot", "sec", "csc"})
"""Those whose argument may be in degrees."""

__all__ = ["EULER", "FUNCTIONS", "TRIGONOMETRIC", "binomial", "factorial", "int_power", "lift", "log_base"]
