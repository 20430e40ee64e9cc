"""Functions of exact values: trigonometric, logarithms, absolute value, floor, factorial, binomial.

Special values are exact; sums and small multiples of angles are expanded, so that identities show in the canonical
form. What stays unevaluated becomes an atom.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from markscheme.marking.equality.algebra.arithmetic import add, div, mul, neg, settle, sub
from markscheme.marking.equality.algebra.exact import (
    I_BASE,
    IMAGINARY,
    Atom,
    Expr,
    TooBig,
    Undefined,
    Value,
    atom,
    variables,
)
from markscheme.marking.equality.algebra.factoring import factor
from markscheme.marking.equality.algebra.numeric import approximate
from markscheme.marking.equality.algebra.powers import MAX_FACTORED_BITS, exponential, power, root_power
from markscheme.marking.equality.algebra.trigonometry import (
    arccosine,
    arccotangent,
    arcsine,
    arctangent,
    cosine,
    sine,
    sqrt,
    tangent,
)

MAX_FACTORIAL: Final = 3000
MAX_SHIFT: Final = 20
MAX_BINOMIAL: Final = 6000


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
    if isinstance(a, Expr) and isinstance(shift := a.terms.get(()), int) and a.den is None and abs(shift) <= MAX_SHIFT:
        # (n+2)! is (n+2)(n+1)·n!, so that quotients of factorials cancel.
        base = sub(a, shift)
        result = factorial(base)
        for k in range(1, abs(shift) + 1):
            result = mul(result, add(base, k)) if shift > 0 else div(result, sub(base, k - 1))
        return result
    return atom("factorial", a)


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
    if isinstance(n, int) and isinstance(k, int) and 0 <= k <= n:
        return atom("binomial", n, min(k, n - k))
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
    "cis": lambda a: add(cosine(a), mul(IMAGINARY, sine(a))),
    "abs": absolute,
    "floor": floor,
    "ceil": ceiling,
}
"""Functions of one argument by the name the parser gives them."""
TRIGONOMETRIC: Final = frozenset({"sin", "cos", "tan", "cot", "sec", "csc", "cis"})
"""Those whose argument may be in degrees."""
