"""Arithmetic on exact values. Raises `TooBig` before computing too large a value, and `Undefined` if there is no value."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from markscheme.marking.equality.algebra.exact import (
    I_BASE,
    MAX_BITS,
    MAX_TERMS,
    Atom,
    Expr,
    Mono,
    Number,
    Terms,
    TooBig,
    Undefined,
    Value,
    lift,
    merge_atoms,
    narrow,
    spend,
)


def settle(terms: Terms, den: Terms | None, atoms: dict[str, Atom] | None) -> Value:
    """Return the simplest form of terms/den: a plain number if possible."""
    if not terms:
        return 0
    if den is not None:
        return _quotient(terms, den, atoms)
    return narrow(terms[()]) if len(terms) == 1 and () in terms else Expr(terms, None, atoms)


def add(a: Value, b: Value) -> Value:
    if not isinstance(a, Expr) and not isinstance(b, Expr):
        return narrow(a + b)
    x, y = lift(a), lift(b)
    atoms = merge_atoms(x.atoms, y.atoms)
    if x.den is None and y.den is None:
        return settle(_add_terms(x.terms, y.terms), None, atoms)
    if x.den == y.den:
        return settle(_add_terms(x.terms, y.terms), x.den, atoms)
    # Over a common denominator, through `mul` since both products may contain squares of atoms.
    (a, c), (b, d) = ((Expr(v.terms, None, atoms), Expr(v.den or {(): 1}, None, atoms)) for v in (x, y))
    return div(add(mul(a, d), mul(b, c)), mul(c, d))


def neg(a: Value) -> Value:
    if not isinstance(a, Expr):
        return -a
    return Expr({m: -c for m, c in a.terms.items()}, a.den, a.atoms)


def sub(a: Value, b: Value) -> Value:
    return add(a, neg(b))


def mul(a: Value, b: Value) -> Value:
    if not isinstance(a, Expr):
        if not isinstance(b, Expr):
            return narrow(a * b)
        a, b = b, a
    if not isinstance(b, Expr):
        if b == 0:
            return 0
        return Expr({m: narrow(c * b) for m, c in a.terms.items()}, a.den, a.atoms)
    atoms = merge_atoms(a.atoms, b.atoms)
    top = _mul_terms(a.terms, b.terms, atoms)
    if a.den is None and b.den is None:
        return top
    if a.den is None or b.den is None:
        below: Value = Expr(a.den or b.den or {}, None, atoms)
    else:
        below = _mul_terms(a.den, b.den, atoms)
    return div(top, below)


def div(a: Value, b: Value) -> Value:
    if not isinstance(b, Expr):
        if b == 0:
            raise Undefined("division by zero")
        return narrow(Fraction(a, b)) if not isinstance(a, Expr) else mul(a, Fraction(1, b))
    if b.den is not None:
        return div(mul(a, Expr(b.den, None, b.atoms)), Expr(b.terms, None, b.atoms))
    if len(b.terms) == 1:
        ((mono, coefficient),) = b.terms.items()
        inverse = _mul_terms({tuple((g, -e) for g, e in mono): Fraction(1) / coefficient}, {(): 1}, b.atoms, tidy=True)
        return mul(a, inverse)
    if (conjugate := _rationaliser(b)) is not None:
        return div(mul(a, conjugate), mul(b, conjugate))
    x = lift(a)
    atoms = merge_atoms(x.atoms, b.atoms)
    if x.den is None:
        return settle(x.terms, b.terms, atoms)
    return div(Expr(x.terms, None, atoms), _mul_terms(x.den, b.terms, atoms))


def int_power(a: Value, n: int) -> Value:
    """Return a ** n for an integer n. Raises `TooBig` before computing too large a result."""
    if n < 0:
        return div(1, int_power(a, -n))
    if n == 0:
        return 1
    if not isinstance(a, Expr):
        size = max(abs(a.numerator), a.denominator).bit_length()
        if size > 1 and (size - 1) * n > MAX_BITS:
            raise TooBig
        return narrow(a**n)
    if len(a.terms) > 1 and n > 64:
        raise TooBig
    if len(a.terms) == 1 and a.den is None:
        ((mono, coefficient),) = a.terms.items()
        scaled: Terms = {tuple((g, e * n) for g, e in mono): int_power(coefficient, n)}  # type: ignore[dict-item]
        return _mul_terms(scaled, {(): 1}, a.atoms, tidy=True)
    result: Value = 1
    square: Value = a
    while n:
        if n & 1:
            result = mul(result, square)
        n >>= 1
        if n:
            square = mul(square, square)
    return result


def same(a: Value, b: Value) -> bool:
    """True if a and b have the same canonical form; see `is_complete` for what a difference means."""
    if not isinstance(a, Expr):
        a, b = b, a
    if not isinstance(a, Expr):
        return a == b
    if not isinstance(b, Expr):
        # With neither denominator nor atoms, a number would have been settled as one.
        return (a.den is not None or a.atoms is not None) and sub(a, b) == 0
    if a.terms == b.terms and a.den == b.den:
        return True
    if a.den is None and b.den is None and a.atoms is None and b.atoms is None:
        return False
    atoms = merge_atoms(a.atoms, b.atoms)
    left = mul(Expr(a.terms, None, atoms), Expr(b.den or {(): 1}, None, atoms))
    right = mul(Expr(b.terms, None, atoms), Expr(a.den or {(): 1}, None, atoms))
    return sub(left, right) == 0


def _add_terms(a: Terms, b: Terms) -> Terms:
    result = dict(a)
    for mono, c in b.items():
        total = result.get(mono, 0) + c
        if total == 0:
            del result[mono]
        else:
            result[mono] = narrow(total)
    spend(len(a) + len(b))
    if len(result) > MAX_TERMS:
        raise TooBig
    return result


def _mul_terms(a: Terms, b: Terms, atoms: dict[str, Atom] | None, *, tidy: bool = False) -> Value:
    """Multiply two sums. `tidy` applies the rules of special generators even if one factor is 1."""
    spend(len(a) * len(b))
    result: Terms = {}
    extra: list[tuple[Terms, Value]] = []
    for m1, c1 in a.items():
        for m2, c2 in b.items():
            mono, special = _mul_mono(m1, m2)
            c = c1 * c2
            if special or tidy:
                mono, c, factor = _tidy(mono, c, atoms)
                if factor is not None:
                    extra.append(({mono: c}, factor))
                    continue
            total = result.get(mono, 0) + c
            if total == 0:
                result.pop(mono, None)
            else:
                result[mono] = narrow(total)
    if len(result) > MAX_TERMS:
        raise TooBig
    value = settle(result, None, atoms)
    for rest, factor in extra:
        value = add(value, mul(settle(rest, None, atoms), factor))
    return value


def _mul_mono(m1: Mono, m2: Mono) -> tuple[Mono, bool]:
    if not m1:
        return m2, False
    if not m2:
        return m1, False
    exponents = dict(m1)
    special = False
    for g, e in m2:
        if g in exponents:
            total = exponents[g] + e
            if total == 0:
                del exponents[g]
                continue
            exponents[g] = total
            special = special or g[0] in "#$"
        else:
            exponents[g] = e
    return tuple(sorted(exponents.items())), special


def _tidy(mono: Mono, c: Number, atoms: dict[str, Atom] | None) -> tuple[Mono, Number, Value | None]:
    """Apply the rules of special generators: i² = -1, whole powers of primes, (√s)² = s, |x|² = x²."""
    kept: list[tuple[str, Number]] = []
    factor: Value | None = None
    for g, e in mono:
        if g == I_BASE:
            turns = int(e) % 4
            if turns >= 2:
                c = -c
            if turns % 2:
                kept.append((g, 1))
        elif g[0] == "#":
            left, times = _split_prime(int(g[1:]), e)
            c = narrow(c * times)
            if left:
                kept.append((g, left))
        elif g[0] == "$" and atoms is not None and (done := _unfold(atoms[g], e)) is not None:
            rest, power = done
            if rest:
                kept.append((g, rest))
            factor = power if factor is None else mul(factor, power)
        else:
            kept.append((g, e if isinstance(e, int) or e.denominator != 1 else e.numerator))
    return tuple(kept), c, factor


def _split_prime(p: int, e: Number) -> tuple[Number, Number]:
    """Return p**e as p**(0 ≤ left < 1) times a rational; a power too large to write out stays as it is."""
    whole = e.numerator // e.denominator
    if abs(whole) * p.bit_length() > MAX_BITS // 2:
        return e, 1
    times = Fraction(p) ** whole if whole < 0 else p**whole
    left = e - whole
    return (left if isinstance(left, int) or left.denominator != 1 else left.numerator), times


def _rationaliser(b: Expr) -> Value | None:
    """Return a factor that removes one square root or i from a constant, or None."""
    chosen = ""
    for mono in b.terms:
        for g, e in mono:
            if g != I_BASE and (g[0] != "#" or e != Fraction(1, 2)):
                return None
            chosen = max(chosen, g)
    roots = {g for mono in b.terms for g, _ in mono}
    if not chosen or len(roots) > 4:
        return None
    return Expr({m: (-c if any(g == chosen for g, _ in m) else c) for m, c in b.terms.items()})


def _quotient(terms: Terms, den: Terms, atoms: dict[str, Atom] | None) -> Value:
    """Cancel common monomials and make the first coefficient below 1. Sums are not divided, since `same` cross-multiplies."""
    spend(len(terms) + len(den))
    common = common_powers((*terms, *den))
    top, below = _shifted(terms, common), _shifted(den, common)
    first = min(below)
    scale = Fraction(1) / below[first]
    if len(below) == 1:
        return div(Expr(top, None, atoms), Expr(below, None, atoms))
    if len(top) == len(below) and all(top.get(m) == top.get(first, 0) * scale * c for m, c in below.items()):
        return narrow(top[first] * scale)
    return Expr({m: narrow(c * scale) for m, c in top.items()}, {m: narrow(c * scale) for m, c in below.items()}, atoms)


def common_powers(monos: Iterable[Mono]) -> dict[str, Number]:
    """Return the powers of variables that divide every monomial."""
    rows = [dict(mono) for mono in monos]
    names = {g for row in rows for g in row if g[0] not in "#$"}
    return {g: low for g in names if (low := min(row.get(g, 0) for row in rows))}


def _shifted(terms: Terms, by: dict[str, Number]) -> Terms:
    if not by:
        return terms
    inverse = tuple(sorted((g, -e) for g, e in by.items()))
    return {_mul_mono(mono, inverse)[0]: c for mono, c in terms.items()}


def _unfold(inner: Atom, e: Number) -> tuple[Number, Value] | None:
    """Return an atom's power as (remaining exponent, factor), or None if no rule applies."""
    step = {"root": 1, "abs": 2}.get(inner.kind, 0)
    whole = e.numerator // e.denominator // step * step if step else 0
    return (e - whole, int_power(inner.args[0], whole)) if whole else None
