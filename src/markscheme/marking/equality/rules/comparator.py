"""One comparison of two read answers: finds the rule for their kinds, compares values, and keeps what it noticed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from markscheme.marking.equality.algebra.evaluation import COMMON_LOG
from markscheme.marking.equality.algebra.functions import logarithm
from markscheme.marking.equality.algebra.numeric import approximate, differ
from markscheme.marking.equality.algebra.rational_functions import (
    I_BASE,
    IMAGINARY,
    Expr,
    Value,
    div,
    generators,
    is_complete,
    same,
    variables,
)
from markscheme.marking.equality.algebra.substitution import substitute, whole_angles
from markscheme.marking.equality.kinds import (
    Answer,
    Collection,
)


@dataclass(slots=True)
class Judge:
    """One comparison: what it noticed on the way, and what it could not decide."""

    flags: list[str] = field(default_factory=list)
    flipped: bool = False
    """Whether the first of the two is the gold: rules are written for one order of kinds only."""
    places: int | None = None
    """The decimal places the problem asks for, if it asks for rounding."""
    numeric: bool = False
    exhausted: bool = False

    def flag(self, text: str) -> None:
        if text not in self.flags:
            self.flags.append(text)

    def same(self, a: Answer, b: Answer) -> bool | None:
        """Whether two answers are equal; None when that could not be told."""
        a, b = plain(a), plain(b)
        rule = RULES.get((type(a), type(b)))
        if rule is not None:
            return rule(self, a, b)
        rule = RULES.get((type(b), type(a)))
        if rule is None:
            return False
        self.flipped = not self.flipped
        verdict = rule(self, b, a)
        self.flipped = not self.flipped
        return verdict

    def values(self, a: Value, b: Value) -> bool | None:
        """Whether two values are equal: exactly, or as rounded as the problem asks."""
        verdict = self.exact(a, b)
        if verdict is not True and self.places is not None:
            given, gold = (b, a) if self.flipped else (a, b)
            if _is_rounded(given, gold, self.places):
                self.flag("rounded")
                return True
        return verdict

    def exact(self, a: Value, b: Value) -> bool | None:
        """Whether two exact values are equal."""
        if not isinstance(a, Expr) and not isinstance(b, Expr):
            return a == b
        if same(a, b):
            return True
        names = variables(a) | variables(b)
        if COMMON_LOG in names:
            return self.logs(a, b)
        for letter in ("I", "j"):
            # sympy's and the engineers' imaginary unit
            if letter in names and I_BASE in generators(a) | generators(b):
                return self.exact(substitute(a, letter, IMAGINARY), substitute(b, letter, IMAGINARY))
        if is_complete(a) and is_complete(b):
            return False
        if differ(a, b, names):
            self.numeric = True
            return False
        scaled = whole_angles(a, b)
        if scaled is not None and same(*scaled):
            return True
        return self.undecided(a, b)

    def undecided(self, a: Value, b: Value) -> bool | None:  # noqa: ARG002
        """The verdict on two values that agree numerically, though their canonical forms differ."""
        return None

    def logs(self, a: Value, b: Value) -> bool | None:
        """Values with a bare `log`: equal if they are for base 10 or for base e."""
        verdicts: list[bool | None] = []
        for scale in (div(1, logarithm(10)), 1):
            verdicts.append(self.exact(substitute(a, COMMON_LOG, scale), substitute(b, COMMON_LOG, scale)))
        return True if True in verdicts else (None if None in verdicts else False)

    def all(self, pairs: list[tuple[Answer, Answer]]) -> bool | None:
        """Whether every pair is equal."""
        undecided = False
        for a, b in pairs:
            verdict = self.same(a, b)
            if verdict is False:
                return False
            undecided = undecided or verdict is None
        return None if undecided else True


def _is_rounded(given: Value, gold: Value, places: int) -> bool:
    """Whether an answer has no more than so many decimals and is the gold rounded to them.

    An answer with more decimals was not rounded as asked; so a gold that is rounded itself has only itself as answer.
    """
    if isinstance(given, Expr) or (given * 10**places).denominator != 1:
        return False
    size = approximate(gold)
    if size is None or abs(size.imag) > 1e-12:
        return False
    return abs(float(given) - size.real) <= 0.5 * 10.0**-places * (1 + 1e-9)


def plain(answer: Answer) -> Answer:
    """A set of one element stands for the element."""
    while isinstance(answer, Collection) and len(answer.items) == 1:
        (answer,) = answer.items
    return answer


Rule = Callable[..., bool | None]
RULES: dict[tuple[type, type], Rule] = {}
"""The rule for each pair of kinds, in one order; `rules` fills it."""
