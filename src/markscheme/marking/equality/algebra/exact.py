"""Exact values: rational functions over Q in variables, constants, radicals and unevaluated functions.

A value is an `int`, a `Fraction` or an `Expr`. An `Expr` is a sum of monomials over an optional denominator; a monomial
maps generators to rational exponents. Generators are variables, `π`, `e`, `#i` (the imaginary unit), `#p` (the prime p:
products of fractional prime powers are linearly independent over Q, so roots of numbers have one form) and `$…` (atoms:
unevaluated functions). The cost of a value is counted in operations, not in time, so that verdicts are repeatable.
"""

from __future__ import annotations

import threading
from fractions import Fraction
from typing import Final, NamedTuple

MAX_BITS: Final = 1 << 16  # of one coefficient: 2004! has 19,000 bits
MAX_TERMS: Final = 1500  # of one sum
_effort = threading.local()
MAX_EFFORT: Final = 40_000  # term products and characters of names: about 40 ms; real answers cost up to 2,000


def fresh_effort() -> None:
    _effort.spent = 0


def effort_spent() -> int:
    return getattr(_effort, "spent", 0)


def spend(amount: int) -> None:
    """Count work. Raises `TooBig` above `MAX_EFFORT`."""
    _effort.spent = effort_spent() + amount
    if _effort.spent > MAX_EFFORT:
        raise TooBig


class TooBig(ArithmeticError):  # noqa: N818
    """The exact value would exceed the bounds."""


class Undefined(ArithmeticError):  # noqa: N818
    """The expression has no value, such as 1/0."""


class Unreadable(ValueError):  # noqa: N818
    """The text is not an expression of this grammar."""


Number = int | Fraction
Mono = tuple[tuple[str, Number], ...]
Terms = dict[Mono, Number]


class Atom(NamedTuple):
    """A generator with structure: `kind` names the function, `args` are its exact arguments.

    `complete` is true if different canonical forms are different values. It is false for sin(π/7), for example.
    """

    kind: str
    args: tuple[Value, ...]
    complete: bool


class Expr:
    """A sum of monomials over an optional denominator. Immutable by convention."""

    __slots__ = ("atoms", "den", "terms")

    def __init__(self, terms: Terms, den: Terms | None = None, atoms: dict[str, Atom] | None = None) -> None:
        self.terms = terms
        self.den = den
        self.atoms = atoms


Value = int | Fraction | Expr
I_BASE: Final = "#i"
PI: Final = Expr({(("π", 1),): 1})
EULER: Final = Expr({(("e", 1),): 1})
IMAGINARY: Final = Expr({((I_BASE, 1),): 1})


def generator(name: str, atoms: dict[str, Atom] | None = None) -> Expr:
    return Expr({((name, 1),): 1}, None, {name: atoms[name]} if atoms and name in atoms else None)


def atom(kind: str, *args: Value, complete: bool = True) -> Expr:
    key = "$" + kind + "(" + ";".join(form(a) for a in args) + ")"
    spend(len(key))
    return Expr({((key, 1),): 1}, None, {key: Atom(kind, args, complete and all(is_complete(a) for a in args))})


def narrow(n: Number) -> Number:
    """Return an integer if the fraction is one. Raises `TooBig` above `MAX_BITS`."""
    if not isinstance(n, int) and n.denominator == 1:
        n = n.numerator
    if n.numerator.bit_length() > MAX_BITS or n.denominator.bit_length() > MAX_BITS:
        raise TooBig
    return n


def lift(value: Value) -> Expr:
    return value if isinstance(value, Expr) else Expr({(): value} if value else {})


def merge_atoms(a: dict[str, Atom] | None, b: dict[str, Atom] | None) -> dict[str, Atom] | None:
    if not a or not b or a is b:
        return a or b
    return {**a, **b}


def is_complete(a: Value) -> bool:
    """True if a different canonical form proves a different value."""
    return not isinstance(a, Expr) or not a.atoms or all(x.complete for x in a.atoms.values())


def variables(a: Value) -> set[str]:
    """Return the free variables, including those inside atoms."""
    names: set[str] = set()
    waiting: list[Value] = [a]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Expr):
            names.update(g for mono in (*value.terms, *(value.den or ())) for g, _ in mono)
            waiting.extend(argument for x in (value.atoms or {}).values() for argument in x.args)
    return {g for g in names if g[0] not in "#$" and g not in ("π", "e")}


def form(a: Value) -> str:
    """Return a string that two values share only if they are equal."""
    if not isinstance(a, Expr):
        return _form_number(a)
    text = _form_terms(a.terms)
    return text if a.den is None else f"({text})/({_form_terms(a.den)})"


def _form_terms(terms: Terms) -> str:
    return "+".join(
        sorted(
            "*".join([_form_number(c), *(g if e == 1 else f"{g}^{e}" for g, e in mono)]) for mono, c in terms.items()
        )
    )


def _form_number(c: Number) -> str:
    # str() of a huge integer is quadratic and refused by Python beyond 4300 digits.
    if max(c.numerator.bit_length(), c.denominator.bit_length()) < 2000:
        return str(c)
    return f"{c.numerator:x}h/{c.denominator:x}h"
