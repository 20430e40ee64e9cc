"""Powers and roots of exact values: prime by prime for numbers, term by term in exponents.

Roots follow school usage: an odd root of a negative number is real, √(x²) is |x|, and a fractional power of a product is
the product of the powers. Nested roots and powers of sums are left to sympy.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import gcd, isqrt, lcm
from typing import Final

from markscheme.marking.equality.algebra.arithmetic import common_powers, div, int_power, mul, neg, settle
from markscheme.marking.equality.algebra.exact import (
    EULER,
    I_BASE,
    IMAGINARY,
    MAX_BITS,
    Atom,
    Expr,
    Mono,
    Number,
    TooBig,
    Undefined,
    Value,
    atom,
    generator,
    lift,
    spend,
    variables,
)
from markscheme.marking.equality.algebra.numeric import approximate

MAX_FACTORED_BITS: Final = 4096
MAX_DIVISOR: Final = 30_000  # of trial division: about 3 ms
HALF: Final = Fraction(1, 2)


def is_positive(g: str) -> bool:
    return g in ("π", "e") or (g[0] in "#$" and g != I_BASE and g.startswith(("#", "$pow", "$abs", "$root")))


@lru_cache(maxsize=2048)
def factor(n: int) -> tuple[tuple[int, int], ...]:
    """Return the prime factors of n ≥ 1 with their exponents.

    A number without a divisor up to `MAX_DIVISOR` (1,000 above 64 bits) counts as prime.
    """
    exponents: dict[int, int] = {}
    divisor = 2
    while divisor * divisor <= n and (divisor < 1000 or (divisor <= MAX_DIVISOR and n.bit_length() <= 64)):
        while n % divisor == 0:
            n //= divisor
            exponents[divisor] = exponents.get(divisor, 0) + 1
        divisor += 1 if divisor == 2 else 2
    if n > 1:
        root = isqrt(n)
        prime, times = (root, 2) if root * root == n else (n, 1)
        exponents[prime] = exponents.get(prime, 0) + times
    return tuple(exponents.items())


def prime_factors(n: Number) -> list[tuple[int, int]]:
    """Return the primes of a positive number with their exponents, which are negative in the denominator."""
    if max(n.numerator.bit_length(), n.denominator.bit_length()) > MAX_FACTORED_BITS:
        raise TooBig
    spend(min(isqrt(n.numerator * n.denominator), MAX_DIVISOR) // 10)  # also if cached, so that verdicts are repeatable
    return [*factor(n.numerator), *((p, -k) for p, k in factor(n.denominator))]


def sqrt(a: Value) -> Value:
    return power(a, HALF)


def power(base: Value, exponent: Value) -> Value:
    if isinstance(exponent, Expr):
        return _symbolic_power(base, exponent)
    if exponent.denominator == 1:
        return _whole_power(base, exponent.numerator)
    q = Fraction(exponent)
    if not isinstance(base, Expr):
        return _number_root(base, q)
    if base.den is not None:
        return div(power(settle(base.terms, None, base.atoms), q), power(settle(base.den, None, base.atoms), q))
    return _monomial_root(base, q) if len(base.terms) == 1 else _sum_root(base, q)


def _whole_power(base: Value, n: int) -> Value:
    if n < 0 and not isinstance(base, Expr) and base == 0:
        raise Undefined("division by zero")
    try:
        return int_power(base, n)
    except TooBig:
        if isinstance(base, Expr):
            return atom("power", base, n, complete=False)
    # A power too large to write out is kept over its primes: 9^(9^9) is 3^774840978.
    if base.numerator.bit_length() + base.denominator.bit_length() > 256 or abs(n).bit_length() > MAX_BITS:
        raise TooBig
    return mul(-1 if base < 0 and n % 2 else 1, _prime_powers(base if base > 0 else -base, n))


def _number_root(n: Number, q: Fraction) -> Value:
    if n > 0:
        return _prime_powers(n, q)
    if n < 0:
        return _negative_root(-n, q)
    if q < 0:
        raise Undefined("division by zero")
    return 0


def _negative_root(size: Value, q: Fraction) -> Value:
    if q.denominator % 2:
        return power(size, q) if q.numerator % 2 == 0 else neg(power(size, q))
    if q.denominator == 2:
        return mul(power(size, q), int_power(IMAGINARY, q.numerator))
    return atom("power", neg(size), q, complete=False)


def _prime_powers(n: Number, q: Number) -> Value:
    return _tidied(tuple(sorted((f"#{p}", k * q) for p, k in prime_factors(n))), None)


def _tidied(mono: Mono, atoms: dict[str, Atom] | None) -> Value:
    """Apply the rules of special generators to a monomial."""
    return int_power(Expr({mono: 1}, None, atoms), 1)


def _monomial_root(base: Expr, q: Fraction) -> Value:
    ((mono, c),) = base.terms.items()
    result: Value = _number_root(c, q)
    for g, e in mono:
        if g == I_BASE:
            return atom("power", base, q, complete=False)
        plain = generator(g, base.atoms)
        if q.denominator % 2 == 0 and e.denominator == 1 and e.numerator % 2 == 0 and not is_positive(g):
            plain = atom("abs", plain)
        result = mul(result, _raised(plain, e * q))
    return result


def _raised(plain: Expr, e: Number) -> Value:
    ((mono, _),) = plain.terms.items()
    return _tidied(((mono[0][0], e),), plain.atoms)


def _sum_root(base: Expr, q: Fraction) -> Value:
    constant = not variables(base)
    size = approximate(base) if constant else None
    if size is not None and abs(size.imag) < 1e-9 * abs(size) and size.real < 0 and (q.denominator % 2 or q == HALF):
        return _negative_root(neg(base), q)
    # Move rational content and common powers of variables outside: √(4x + 8) is 2√(x + 2).
    numbers = base.terms.values()
    content = Fraction(gcd(*(c.numerator for c in numbers)), lcm(*(c.denominator for c in numbers)))
    outside = settle({tuple(sorted(common_powers(base.terms).items())): content}, None, None)
    inner = lift(div(base, outside))
    linear = all(len(m) <= 1 and all(e == 1 and g[0] not in "#$" for g, e in m) for m in inner.terms)
    return mul(power(outside, q), _raised(atom("root", inner, complete=linear and not constant), q))


def _symbolic_power(base: Value, exponent: Expr) -> Value:
    """Return base ** exponent for a non-rational exponent, with one factor for each prime or generator of the base."""
    one = lift(base)
    if exponent.den is None and one.den is None and len(one.terms) == 1 and len(exponent.terms) <= 8:
        ((mono, c),) = one.terms.items()
        if c > 0 and all(g != I_BASE for g, _ in mono):
            result: Value = 1
            for p, k in prime_factors(c):
                result = mul(result, _generator_power(p, mul(exponent, k)))
            for g, e in mono:
                result = mul(result, _generator_power(generator(g, one.atoms), mul(exponent, e)))
            return result
    return atom("power", base, exponent, complete=False)


def _generator_power(base: Value, exponent: Value) -> Value:
    """Return base ** exponent with one factor for each term: 2^(x+1) is 2·2^x, e^(iπ/3) is cos π/3 + i sin π/3."""
    from markscheme.marking.equality.algebra.functions import cis

    result: Value = 1
    whole = lift(exponent)
    below, atoms = lift(base), whole.atoms
    for mono, c in whole.terms.items():
        rest = tuple(pair for pair in mono if pair[0] != I_BASE)
        if not mono:
            part = power(base, c)
        elif rest != mono and below.terms == EULER.terms:
            part = cis(settle({rest: c}, None, atoms))
        else:
            plain = below.atoms is None and not any(g[0] == "$" for g, _ in mono)  # e^(ln 5) has another form
            part = _raised(atom("pow", base, Expr({mono: 1}, None, atoms), complete=plain), c)
        result = mul(result, part)
    return result


def exponential(exponent: Value) -> Value:
    return power(EULER, exponent)
