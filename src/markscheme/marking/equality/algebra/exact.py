"""What an exact value is: a rational function over Q in variables, constants, radicals and unevaluated functions.

A value is an `int`, a `Fraction` or an `Expr`. An `Expr` is a sum of monomials over an optional denominator; a
monomial maps generators to rational exponents. Generators are variables, `π`, `e`, `#i` (the imaginary unit), `#p`
(the prime p, so that roots of numbers have one form only: products of fractional prime powers are linearly
independent over Q) and `$…` (atoms: functions that stay unevaluated). How much work a value may cost is counted in
operations and not by a clock, so that verdicts are repeatable.
"""

from __future__ import annotations

import threading
from fractions import Fraction
from typing import Final, NamedTuple

MAX_BITS: Final = 1 << 16  # of one coefficient: 2004! has 19,000 bits
MAX_TERMS: Final = 1500  # of one sum
_effort = threading.local()
# Term products and characters of names that one answer or one comparison may cost: about 40 ms; real answers cost up
# to 2,000.
MAX_EFFORT: Final = 40_000


def fresh_effort() -> None:
    """Start counting the work of this thread anew."""
    _effort.spent = 0


def effort_spent() -> int:
    """The work counted since then."""
    return getattr(_effort, "spent", 0)


def spend(amount: int) -> None:
    """Count work, and stop when it gets too much."""
    _effort.spent = effort_spent() + amount
    if _effort.spent > MAX_EFFORT:
        raise TooBig


class TooBig(ArithmeticError):  # noqa: N818 - a reason to stop, caught where the comparison is decided
    """The exact value would not fit the bounds."""


class Undefined(ArithmeticError):  # noqa: N818
    """The expression has no value, such as 1/0."""


class Unreadable(ValueError):  # noqa: N818 - reads as what it says
    """Not an expression this grammar knows."""


Number = int | Fraction
Mono = tuple[tuple[str, Number], ...]
Terms = dict[Mono, Number]


class Atom(NamedTuple):
    """A generator with structure: `kind` names the function, `args` are its exact arguments.

    `complete` says that the canonical form knows every relation the atom takes part in, so that different forms are
    different values; sin(π/7) for one is not complete.
    """

    kind: str
    args: tuple[Value, ...]
    complete: bool


class Expr:
    """A sum of monomials over an optional denominator. Immutable by convention; made by the functions here."""

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
    """A variable, or the atom of that name in a table."""
    return Expr({((name, 1),): 1}, None, {name: atoms[name]} if atoms and name in atoms else None)


def atom(kind: str, *args: Value, complete: bool = True) -> Expr:
    """An unevaluated function of exact arguments."""
    key = "$" + kind + "(" + ";".join(form(a) for a in args) + ")"
    spend(len(key))
    return Expr({((key, 1),): 1}, None, {key: Atom(kind, args, complete and all(is_complete(a) for a in args))})


def narrow(n: Number) -> Number:
    """An integer where the fraction is one; refuses coefficients beyond `MAX_BITS`."""
    if isinstance(n, int):
        if n.bit_length() > MAX_BITS:
            raise TooBig
        return n
    if n.denominator == 1:
        return narrow(n.numerator)
    if n.numerator.bit_length() > MAX_BITS or n.denominator.bit_length() > MAX_BITS:
        raise TooBig
    return n


def lift(value: Value) -> Expr:
    """The same value as an `Expr`."""
    return value if isinstance(value, Expr) else Expr({(): value} if value else {})


def merge_atoms(a: dict[str, Atom] | None, b: dict[str, Atom] | None) -> dict[str, Atom] | None:
    """Both tables of atoms in one."""
    if not a:
        return b
    if not b or a is b:
        return a
    return {**a, **b}


def is_complete(a: Value) -> bool:
    """Whether a different canonical form proves a different value."""
    return not isinstance(a, Expr) or not a.atoms or all(x.complete for x in a.atoms.values())


def variables(a: Value) -> set[str]:
    """The free variables of the expression, those inside its atoms included."""
    names: set[str] = set()
    waiting: list[Value] = [a]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Expr):
            names.update(g for mono in (*value.terms, *(value.den or ())) for g, _ in mono)
            waiting.extend(argument for x in (value.atoms or {}).values() for argument in x.args)
    return {g for g in names if g[0] not in "#$" and g not in ("π", "e")}


def form(a: Value) -> str:
    """A text that two values share only if they are the same."""
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
