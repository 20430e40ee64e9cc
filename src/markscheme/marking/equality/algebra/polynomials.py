"""Cancelling a common factor of numerator and denominator, where that is cheap; otherwise they stay as they are."""

from __future__ import annotations

from fractions import Fraction
from math import gcd

from markscheme.marking.equality.algebra.exact import Mono, Number, Terms, narrow, spend

MAX_DEGREE = 40


def cancel(top: Terms, below: Terms) -> tuple[Terms, Terms]:
    """An equal quotient, smaller where a common monomial, an exact division or a univariate gcd makes it so."""
    top, below = _without_common_monomial(top, below)
    if len(below) == 1:
        return top, below
    if not (_is_polynomial(top) and _is_polynomial(below)):
        return top, below
    whole = divide(top, below)
    if whole is not None:
        return whole, {(): 1}
    part = divide(below, top)
    if part is not None:
        return {(): 1}, part
    return _cancel_univariate(top, below)


def _without_common_monomial(top: Terms, below: Terms) -> tuple[Terms, Terms]:
    exponents = [dict(mono) for mono in (*top, *below)]
    names = {g for row in exponents for g in row if g[0] not in "#$"}
    lowest = {g: low for g in names if (low := min(row.get(g, 0) for row in exponents))}
    if not lowest:
        return top, below
    return _shift(top, lowest), _shift(below, lowest)


def _shift(terms: Terms, by: dict[str, Number]) -> Terms:
    result: Terms = {}
    for mono, c in terms.items():
        exponents = dict(mono)
        for g, e in by.items():
            exponents[g] = exponents.get(g, 0) - e
        result[tuple(sorted((g, e) for g, e in exponents.items() if e))] = c
    return result


def _is_polynomial(terms: Terms) -> bool:
    """Whether all generators are ordinary ones with natural exponents."""
    return all(g[0] not in "#$" and isinstance(e, int) and 0 < e <= MAX_DEGREE for mono in terms for g, e in mono)


def divide(top: Terms, below: Terms) -> Terms | None:
    """The polynomial quotient top/below if the division leaves nothing, else None."""
    if len(top) * len(below) > 2000:
        return None
    spend(len(top) * len(below))
    order = sorted({g for terms in (top, below) for mono in terms for g, _ in mono})

    def dense(mono: Mono) -> tuple[Number, ...]:
        exponents = dict(mono)
        return tuple(exponents.get(g, 0) for g in order)

    rest = {dense(m): c for m, c in top.items()}
    divisor = {dense(m): c for m, c in below.items()}
    lead = max(divisor)
    quotient: Terms = {}
    while rest:
        head = max(rest)
        step = tuple(h - k for h, k in zip(head, lead, strict=True))
        if min(step, default=0) < 0 or len(quotient) > 200:
            return None
        factor = narrow(Fraction(rest[head]) / divisor[lead])
        quotient[tuple((g, e) for g, e in zip(order, step, strict=True) if e)] = factor
        for m, c in divisor.items():
            place = tuple(x + y for x, y in zip(m, step, strict=True))
            left = rest.get(place, 0) - factor * c
            if left:
                rest[place] = left
            else:
                rest.pop(place, None)
    return quotient


def _cancel_univariate(top: Terms, below: Terms) -> tuple[Terms, Terms]:
    names = {g for terms in (top, below) for mono in terms for g, _ in mono}
    if len(names) != 1:
        return top, below
    (name,) = names
    a, b = _coefficients(top), _coefficients(below)
    spend(20 * len(a) * len(b))
    while any(b):
        a, b = b, _remainder(a, b)
    if len(a) <= 1:
        return top, below
    common: Terms = {((name, k),) if k else (): c for k, c in enumerate(a) if c}
    smaller = divide(top, common), divide(below, common)
    return (smaller[0], smaller[1]) if smaller[0] and smaller[1] else (top, below)


def _coefficients(terms: Terms) -> list[Fraction]:
    degree = max((int(m[0][1]) if m else 0) for m in terms)
    row = [Fraction(0)] * (degree + 1)
    for m, c in terms.items():
        row[int(m[0][1]) if m else 0] = Fraction(c)
    return row


def _remainder(a: list[Fraction], b: list[Fraction]) -> list[Fraction]:
    a = list(a)
    while len(a) >= len(b):
        factor = a[-1] / b[-1]
        if factor:
            shift = len(a) - len(b)
            for k, c in enumerate(b):
                a[shift + k] -= factor * c
        a.pop()
    while a and not a[-1]:
        a.pop()
    if a:
        # Monic remainders keep the coefficients from exploding.
        a = [c / a[-1] for c in a]
    return a


def content(terms: Terms) -> Number:
    """The greatest rational that divides every coefficient into an integer."""
    top = 0
    below = 1
    for c in terms.values():
        top = gcd(top, c.numerator)
        below = below * c.denominator // gcd(below, c.denominator)
    return narrow(Fraction(top, below))
