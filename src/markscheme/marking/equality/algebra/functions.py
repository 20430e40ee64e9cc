"""Functions of exact values. Special values are exact; a function that stays unevaluated becomes an atom.

Identities between functions (sin² + cos², sums of angles, quotients of factorials) are left to sympy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from typing import Final

from markscheme.marking.equality.algebra.arithmetic import add, div, mul, neg, settle, sub
from markscheme.marking.equality.algebra.exact import (
    I_BASE,
    IMAGINARY,
    MAX_BITS,
    PI,
    Atom,
    Expr,
    Number,
    TooBig,
    Undefined,
    Value,
    atom,
    form,
    generator,
    narrow,
    variables,
)
from markscheme.marking.equality.algebra.numeric import approximate
from markscheme.marking.equality.algebra.powers import HALF, exponential, is_positive, power, prime_factors, sqrt

MAX_FACTORIAL: Final = 3000
MAX_BINOMIAL: Final = 6000


def logarithm(a: Value) -> Value:
    """Return the natural logarithm with one term for each prime and factor."""
    if not isinstance(a, Expr):
        if a <= 0:
            raise Undefined("the logarithm of a number that is not positive")
        result: Value = 0
        for p, k in prime_factors(a):
            result = add(result, mul(atom("ln", p), k))
        return result
    if a.den is not None:
        return sub(logarithm(settle(a.terms, None, a.atoms)), logarithm(settle(a.den, None, a.atoms)))
    ((mono, c),) = a.terms.items() if len(a.terms) == 1 else (((), 0),)
    if c <= 0 or any(g == I_BASE for g, _ in mono):
        return atom("ln", a, complete=False)
    result = logarithm(c)
    for g, e in mono:
        result = add(result, mul(_log_generator(g, a.atoms), e))
    return result


def _log_generator(g: str, atoms: dict[str, Atom] | None) -> Value:
    if g == "e":
        return 1
    if g[0] == "#":
        return atom("ln", int(g[1:]))
    inner = atoms.get(g) if atoms else None
    if inner is not None and inner.kind == "pow":
        return mul(inner.args[1], logarithm(inner.args[0]))
    return atom("ln", generator(g, atoms))


def log_base(base: Value, a: Value) -> Value:
    return div(logarithm(a), logarithm(base))


def _is_negative(a: Value) -> bool:
    """True if a value is written with a sign, which holds for exactly one of x - y and y - x."""
    return a.terms[min(a.terms)] < 0 if isinstance(a, Expr) else a < 0


def absolute(a: Value) -> Value:
    if not isinstance(a, Expr):
        return a if a >= 0 else -a
    if a.den is not None:
        return div(absolute(settle(a.terms, None, a.atoms)), absolute(settle(a.den, None, a.atoms)))
    if not variables(a):
        return _absolute_constant(a)
    if len(a.terms) > 1:
        return atom("abs", neg(a) if _is_negative(a) else a, complete=False)
    ((mono, c),) = a.terms.items()
    result: Value = c if c > 0 else -c
    for g, e in mono:
        plain = generator(g, a.atoms)
        even = e.denominator == 1 and e.numerator % 2 == 0
        if g != I_BASE:
            result = mul(result, power(plain if even or is_positive(g) else atom("abs", plain), e))
    return result


def _absolute_constant(a: Expr) -> Value:
    real = settle({m: c for m, c in a.terms.items() if (I_BASE, 1) not in m}, None, a.atoms)
    imaginary = div(sub(a, real), IMAGINARY)
    if imaginary != 0:
        return sqrt(add(mul(real, real), mul(imaginary, imaginary)))
    size = approximate(a)
    if size is None or abs(size.imag) > 1e-9 * abs(size):
        return atom("abs", a, complete=False)
    return a if size.real > 0 else neg(a)


def floor(a: Value) -> Value:
    if not isinstance(a, Expr):
        return math.floor(a)
    size = None if variables(a) else approximate(a)
    if size is not None and size.imag == 0 and abs(size.real) < 1e12 and abs(size.real - round(size.real)) > 1e-6:
        return math.floor(size.real)
    return atom("floor", a, complete=False)


def factorial(a: Value) -> Value:
    if isinstance(a, int) and a < 0:
        raise Undefined("the factorial of a negative number")
    if isinstance(a, int) and a <= MAX_FACTORIAL:
        return math.factorial(a)
    return atom("factorial", a, complete=not variables(a))


def binomial(n: Value, k: Value) -> Value:
    if isinstance(n, int) and isinstance(k, int) and 0 <= n <= MAX_BINOMIAL and k >= 0:
        return math.comb(n, k)
    return atom("binomial", n, k, complete=False)


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


def _cosine_of_turn(r: Number) -> Value:
    r = Fraction(r) % 2
    r = min(r, 2 - r)
    if r > HALF:
        return neg(_cosine_of_turn(1 - r))
    known = _special_cosines().get(r)
    return known if known is not None else atom("cos", mul(PI, r), complete=False)


def _turn(a: Value) -> Number | None:
    """Return r if a is r·π, else None."""
    if not isinstance(a, Expr):
        return 0 if a == 0 else None
    return a.terms.get((("π", 1),)) if a.den is None and len(a.terms) == 1 else None


def cosine(a: Value) -> Value:
    if (r := _turn(a)) is not None:
        return _cosine_of_turn(r)
    return atom("cos", neg(a) if _is_negative(a) else a, complete=False)


def sine(a: Value) -> Value:
    return _cosine_of_turn(HALF - r) if (r := _turn(a)) is not None else _odd("sin", a)


def cis(a: Value) -> Value:
    return add(cosine(a), mul(IMAGINARY, sine(a)))


def _tangent(a: Value) -> Value:
    return div(sine(a), cosine(a))


def _odd(kind: str, a: Value) -> Value:
    return neg(atom(kind, neg(a), complete=False)) if _is_negative(a) else atom(kind, a, complete=False)


@lru_cache(maxsize=1)
def _special_angles() -> dict[str, dict[str, Fraction]]:
    angles = [signed for r in _special_cosines() for signed in (HALF - r, r - HALF)]
    sines = {form(sine(mul(PI, r))): r for r in angles}
    return {"arcsin": sines, "arctan": {form(_tangent(mul(PI, r))): r for r in angles if abs(r) != HALF}}


def _inverse(kind: str, *, co: bool = False) -> Callable[[Value], Value]:
    """Return arcsin or arctan; with `co`, arccos or arccot, which are π/2 minus that."""

    def apply(a: Value) -> Value:
        known = _special_angles()[kind].get(form(a))
        angle = _odd(kind, a) if known is None else mul(PI, known)
        return sub(mul(PI, HALF), angle) if co else angle

    return apply


def of_several(kind: str, values: Sequence[Value]) -> Value:
    numbers = [v for v in values if not isinstance(v, Expr)]
    if len(numbers) == len(values) and kind in ("max", "min"):
        return max(numbers) if kind == "max" else min(numbers)
    if len(numbers) == len(values):
        if sum(n.numerator.bit_length() + n.denominator.bit_length() for n in numbers) > MAX_BITS:
            raise TooBig
        below = math.lcm(*(n.denominator for n in numbers))
        whole = [n.numerator * (below // n.denominator) for n in numbers]
        return narrow(Fraction(math.gcd(*whole) if kind == "gcd" else math.lcm(*whole), below))
    distinct = {form(v): v for v in values}
    ordered = [distinct[name] for name in sorted(distinct)]
    return ordered[0] if len(ordered) == 1 else atom(kind, *ordered, complete=False)


# Functions of one argument, by the parser's name.
FUNCTIONS: Final[dict[str, Callable[[Value], Value]]] = {
    "sqrt": sqrt,
    "cbrt": lambda a: power(a, Fraction(1, 3)),
    "sin": sine,
    "cos": cosine,
    "tan": _tangent,
    "cot": lambda a: div(cosine(a), sine(a)),
    "sec": lambda a: div(1, cosine(a)),
    "csc": lambda a: div(1, sine(a)),
    "arcsin": _inverse("arcsin"),
    "arccos": _inverse("arcsin", co=True),
    "arctan": _inverse("arctan"),
    "arccot": _inverse("arctan", co=True),
    **{name: partial(atom, name, complete=False) for name in ("sinh", "cosh", "tanh", "asinh", "acosh", "atanh")},
    "ln": logarithm,
    "log": logarithm,
    "lg": lambda a: log_base(10, a),
    "exp": exponential,
    "cis": cis,
    "abs": absolute,
    "floor": floor,
    "ceil": lambda a: neg(floor(neg(a))),
    "factorial": factorial,
}
# Functions whose argument may be in degrees.
TRIGONOMETRIC: Final = frozenset({"sin", "cos", "tan", "cot", "sec", "csc", "cis"})
