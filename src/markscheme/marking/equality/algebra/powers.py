"""Powers and roots of exact values: prime by prime for numbers, term by term in exponents, nested roots unnested.

Roots follow school usage: an odd root of a negative number is real, √(x²) is |x|, and a fractional power of a product
is the product of the powers.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from markscheme.marking.equality.algebra.arithmetic import add, div, int_power, mul, neg, settle, sub
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
    lift,
    variables,
)
from markscheme.marking.equality.algebra.factoring import factor
from markscheme.marking.equality.algebra.numeric import approximate
from markscheme.marking.equality.algebra.polynomials import content

MAX_FACTORED_BITS = 4096


def power(base: Value, exponent: Value) -> Value:
    """base ** exponent."""
    if isinstance(exponent, Fraction) and exponent.denominator == 1:
        exponent = exponent.numerator
    if isinstance(exponent, int):
        if exponent < 0 and not isinstance(base, Expr) and base == 0:
            raise Undefined("division by zero")
        try:
            return int_power(base, exponent)
        except TooBig:
            if isinstance(base, Expr):
                return atom("power", base, exponent, complete=False)
            return _huge_power(base, exponent)
    if isinstance(exponent, Fraction):
        return root_power(base, exponent)
    return _symbolic_power(base, exponent)


def root_power(base: Value, q: Fraction) -> Value:
    """base ** q for a fraction q."""
    if not isinstance(base, Expr):
        return _number_root(base, q)
    if base.den is not None:
        return div(
            root_power(settle(base.terms, None, base.atoms), q), root_power(settle(base.den, None, base.atoms), q)
        )
    if len(base.terms) == 1:
        return _monomial_root(base, q)
    return _sum_root(base, q)


def _number_root(n: Number, q: Fraction) -> Value:
    if n == 0:
        if q < 0:
            raise Undefined("division by zero")
        return 0
    if n < 0:
        size = _number_root(-n, q)
        if q.denominator % 2:
            return size if q.numerator % 2 == 0 else neg(size)
        if q.denominator == 2:
            return mul(size, int_power(IMAGINARY, q.numerator))
        from markscheme.marking.equality.algebra.trigonometry import turn

        return mul(size, turn(q))
    return _prime_powers(n, q)


def _prime_powers(n: Number, q: Number) -> Value:
    """n ** q for n > 0, written over the primes of n."""
    if max(n.numerator.bit_length(), n.denominator.bit_length()) > MAX_FACTORED_BITS:
        raise TooBig
    exponents: dict[str, Number] = {}
    for p, k in factor(n.numerator):
        exponents[f"#{p}"] = k * q
    for p, k in factor(n.denominator):
        exponents[f"#{p}"] = -k * q
    return tidied(tuple(sorted(exponents.items())), 1, None)


def tidied(mono: Mono, c: Number, atoms: dict[str, Atom] | None) -> Value:
    """The monomial with the rules of its special generators applied."""
    return int_power(Expr({mono: c}, None, atoms), 1)


def _huge_power(n: Number, e: int) -> Value:
    """A power too large to write out, kept over its primes: 9^(9^9) is 3^774840978."""
    if n.numerator.bit_length() + n.denominator.bit_length() > 256 or abs(e).bit_length() > MAX_BITS:
        raise TooBig
    sign = -1 if n < 0 and e % 2 else 1
    return mul(sign, _prime_powers(n if n > 0 else -n, e))


def _monomial_root(base: Expr, q: Fraction) -> Value:
    ((mono, c),) = base.terms.items()
    result: Value = _number_root(c, q)
    for g, e in mono:
        if g == I_BASE:
            return _root_atom(base, q, complete=False)
        factor_base: Value = Expr({((g, 1),): 1}, None, {g: base.atoms[g]} if base.atoms and g in base.atoms else None)
        even = q.denominator % 2 == 0 and e.denominator == 1 and e.numerator % 2 == 0
        if even and g not in ("π", "e") and g[0] != "#" and not g.startswith(("$pow", "$abs", "$root")):
            factor_base = atom("abs", factor_base)
        (name, _), *_ = next(iter(lift(factor_base).terms))
        result = mul(result, tidied(((name, e * q),), 1, lift(factor_base).atoms))
    return result


def _sum_root(base: Expr, q: Fraction) -> Value:
    constant = not variables(base)
    if constant:
        size = approximate(base)
        if size is not None and abs(size.imag) < 1e-9 * abs(size) and size.real < 0:
            inner = root_power(neg(base), q)
            if q.denominator % 2:
                return inner if q.numerator % 2 == 0 else neg(inner)
            if q.denominator == 2:
                return mul(int_power(IMAGINARY, q.numerator), inner)
        if q.denominator == 2:
            simple = _unnest(base)
            if simple is not None:
                return int_power(simple, q.numerator)
    outside, inner = _split_common(base)
    linear = all(len(m) <= 1 and all(e == 1 and g[0] not in "#$" for g, e in m) for m in inner.terms)
    return mul(root_power(outside, q), _root_atom(inner, q, complete=linear and not constant))


def _split_common(base: Expr) -> tuple[Value, Expr]:
    """The sum as (rational content and common powers of variables) times a primitive sum."""
    rows = [dict(m) for m in base.terms]
    names = {g for row in rows for g in row if g[0] not in "#$"}
    lowest = {g: low for g in names if (low := min(row.get(g, 0) for row in rows))}
    outside = Expr({tuple(sorted(lowest.items())): content(base.terms)})
    return settle(outside.terms, None, None), lift(div(base, outside))


def _root_atom(base: Expr, q: Fraction, *, complete: bool) -> Value:
    made = atom("root", base, complete=complete)
    ((mono, _),) = made.terms.items()
    return tidied(((mono[0][0], q),), 1, made.atoms)


def _unnest(base: Expr) -> Value | None:
    """√(a + b√c) as √x ± √y with rational x and y, when a² - b²c is a rational square."""
    if len(base.terms) != 2 or base.atoms:
        return None
    a = base.terms.get(())
    if a is None or a <= 0:
        return None
    (surd,) = (Expr({m: c}) for m, c in base.terms.items() if m != ())
    square = mul(surd, surd)
    if isinstance(square, Expr) or square < 0:
        return None
    s = rational_root(a * a - square)
    if s is None:
        return None
    positive = next(iter(surd.terms.values())) > 0
    x, y = _number_root((a + s) / Fraction(2), Fraction(1, 2)), _number_root((a - s) / Fraction(2), Fraction(1, 2))
    return add(x, y) if positive else sub(x, y)


def rational_root(n: Number) -> Number | None:
    """The rational square root, if there is one."""
    if n < 0:
        return None
    top, below = isqrt(n.numerator), isqrt(n.denominator)
    if top * top != n.numerator or below * below != n.denominator:
        return None
    return Fraction(top, below)


def _symbolic_power(base: Value, exponent: Expr) -> Value:
    """base ** exponent with an exponent that is not a rational number."""
    if not isinstance(base, Expr):
        if base == 1:
            return 1
        if base <= 0:
            return atom("power", base, exponent, complete=False)
        if max(base.numerator.bit_length(), base.denominator.bit_length()) > MAX_FACTORED_BITS:
            raise TooBig
        result: Value = 1
        for n, sign in ((base.numerator, 1), (base.denominator, -1)):
            for p, k in factor(n):
                result = mul(result, _generator_power(p, mul(exponent, k * sign)))
        return result
    if base.den is None and len(base.terms) == 1:
        ((mono, c),) = base.terms.items()
        if c > 0 and all(g != I_BASE for g, _ in mono):
            result = 1 if c == 1 else _symbolic_power(c, exponent)
            for g, e in mono:
                atoms = {g: base.atoms[g]} if base.atoms and g in base.atoms else None
                if g == "e" or g.startswith("$pow"):
                    part = _power_of_power(g, atoms, mul(exponent, e))
                else:
                    part = _generator_power(Expr({((g, 1),): 1}, None, atoms), mul(exponent, e))
                result = mul(result, part)
            return result
    return atom("power", base, exponent, complete=False)


def _power_of_power(g: str, atoms: dict[str, Atom] | None, exponent: Value) -> Value:
    if g == "e":
        return exponential(exponent)
    inner = (atoms or {})[g]
    return power(inner.args[0], mul(inner.args[1], exponent))


def _generator_power(base: Value, exponent: Value) -> Value:
    """base ** exponent, one factor for each term of the exponent, so that 2^(x+1) is 2·2^x."""
    if not isinstance(exponent, Expr):
        return power(base, exponent)
    if exponent.den is not None or len(exponent.terms) > 8:
        return atom("power", base, exponent, complete=False)
    result: Value = 1
    ((logarithm, _),) = next(iter(atom("ln", base).terms))
    for mono, c in exponent.terms.items():
        if not mono:
            result = mul(result, power(base, c))
            continue
        if (logarithm, -1) in mono:
            # 2^(ln 5 / ln 2) is 5
            rest = tuple(pair for pair in mono if pair != (logarithm, -1))
            result = mul(result, exponential(settle({rest: c}, None, exponent.atoms)))
            continue
        made = atom("pow", base, Expr({mono: 1}, None, exponent.atoms))
        ((name, _),) = next(iter(made.terms))
        result = mul(result, tidied(((name, c),), 1, made.atoms))
    return result


def exponential(exponent: Value) -> Value:
    """e ** exponent; Euler's formula for the imaginary terms, and e^(ln p) is p."""
    from markscheme.marking.equality.algebra.trigonometry import cosine, sine

    if not isinstance(exponent, Expr):
        return power(EULER, exponent)
    if exponent.den is not None:
        return atom("power", EULER, exponent, complete=False)
    result: Value = 1
    for mono, c in exponent.terms.items():
        inner = (
            next((exponent.atoms[g] for g, e in mono if e == 1 and g.startswith("$ln(")), None)
            if exponent.atoms
            else None
        )
        if any(g == I_BASE for g, _ in mono):
            angle = settle({tuple((g, e) for g, e in mono if g != I_BASE): c}, None, exponent.atoms)
            factor_ = add(cosine(angle), mul(IMAGINARY, sine(angle)))
        elif inner is not None:
            # e^(x ln 2) is 2^x
            rest = tuple((g, e) for g, e in mono if not (e == 1 and (exponent.atoms or {}).get(g) is inner))
            factor_ = power(inner.args[0], settle({rest: c}, None, exponent.atoms))
        else:
            factor_ = _generator_power(EULER, settle({mono: c}, None, exponent.atoms))
        result = mul(result, factor_)
    return result
