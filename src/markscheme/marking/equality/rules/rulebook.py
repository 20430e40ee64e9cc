"""The rules of equality, one for each pair of kinds, and the comparator that applies them."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final, Self

import msgspec

from markscheme.marking.equality.algebra.arithmetic import same
from markscheme.marking.equality.algebra.exact import Expr, Value, is_complete, variables
from markscheme.marking.equality.algebra.numeric import approximate, differ
from markscheme.marking.equality.algebra.real_sets import RealSet
from markscheme.marking.equality.kinds import (
    Based,
    Choice,
    Clock,
    Collection,
    Matrix,
    ParsedAnswer,
    Relation,
    Scalar,
    Sequence,
    Text,
)
from markscheme.marking.equality.rules import equations, lists, scalars

Rule = Callable[..., bool | None]
# The rule for two kinds, in either order. Kinds without a rule are never equal.
RULES: Final[dict[tuple[type, type], Rule]] = {
    (Scalar, Scalar): scalars.scalars,
    (Text, Text): scalars.texts,
    (Text, Scalar): scalars.text_scalar,
    (Choice, Choice): lambda _, a, b: a.letter == b.letter,
    (Choice, Scalar): scalars.choice_scalar,
    (Choice, Text): scalars.choice_text,
    **{(Choice, kind): scalars.choice_value for kind in (Sequence, Collection, RealSet, Matrix)},
    (Based, Based): lambda _, a, b: a == b,
    (Based, Scalar): scalars.based_scalar,
    (Clock, Clock): scalars.clocks,
    (Clock, Scalar): scalars.clock_scalar,
    (Sequence, Sequence): lists.sequences,
    (Collection, Collection): lists.collections,
    (Collection, Sequence): lists.collection_sequence,
    (Collection, Scalar): lists.collection_scalar,
    **{(kind, RealSet): lists.as_sets for kind in (Collection, Sequence, RealSet)},
    (Matrix, Matrix): lists.matrices,
    (Matrix, Sequence): lists.matrix_sequence,
    (Relation, Relation): equations.relations,
    **{
        (Relation, kind): equations.relation_other
        for kind in (Scalar, Sequence, Collection, RealSet, Matrix, Text, Based, Clock, Choice)
    },
}


_SIMPLE: Final = 10**9  # no decimal of 13 digits or more is a fraction of smaller numbers
_SIMPLE_DENOMINATOR = 99
_LAST_DIGIT = Fraction(1, 10**15)


class Comparator(msgspec.Struct):
    """One comparison with its flags."""

    flags: list[str] = []
    flipped: bool = False  # True if the first answer is the gold: rules are written for one order of kinds only
    places: int | None = None  # number of decimals if the problem asks for rounding
    numeric: bool = False
    exhausted: bool = False

    def fresh(self) -> Self:
        return type(self)(flipped=self.flipped, places=self.places)

    def flag(self, text: str) -> None:
        if text not in self.flags:
            self.flags.append(text)

    def same(self, a: ParsedAnswer, b: ParsedAnswer) -> bool | None:
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
        """True if two values are equal exactly, after the rounding that the problem asks for, or as floating-point output."""
        verdict = self.exact(a, b)
        if verdict:
            return True
        given, gold = (b, a) if self.flipped else (a, b)
        if self.places is not None and _is_rounded(given, gold, self.places):
            self.flag("rounded")
            return True
        if _is_float_of(a, b) or _is_float_of(b, a):
            self.flag("floating point")
            return True
        return verdict

    def exact(self, a: Value, b: Value) -> bool | None:
        if not isinstance(a, Expr) and not isinstance(b, Expr):
            return a == b
        if same(a, b):
            return True
        if is_complete(a) and is_complete(b):
            return False
        if differ(a, b, variables(a) | variables(b)):
            self.numeric = True
            return False
        return self.undecided(a, b)

    def undecided(self, a: Value, b: Value) -> bool | None:  # noqa: ARG002
        """Decide on two values that agree numerically and have different canonical forms."""
        return None

    def is_constant(self, value: Value) -> bool | None:  # noqa: ARG002
        """Decide on a value with variables that is the same at a few points."""
        return None

    def all(self, pairs: list[tuple[ParsedAnswer, ParsedAnswer]]) -> bool | None:
        undecided = False
        for a, b in pairs:
            verdict = self.same(a, b)
            if verdict is False:
                return False
            undecided = undecided or verdict is None
        return None if undecided else True


def _is_rounded(given: Value, gold: Value, places: int) -> bool:
    """True if an answer has at most `places` decimals and is the gold rounded to them."""
    if isinstance(given, Expr) or (given * 10**places).denominator != 1:
        return False
    size = approximate(gold)
    if size is None or abs(size.imag) > 1e-12:
        return False
    return abs(float(given) - size.real) <= 0.5 * 10.0**-places * (1 + 1e-9)


def _is_float_of(printed: Value, value: Value) -> bool:
    """True if a decimal of 12 to 17 digits, as code and calculators print a double, is a value but for its last digits.

    With 15 or more digits the last ones are noise; with fewer the value is rounded or truncated. Two such decimals are
    equal if both print the same simple fraction or one is the other rounded.
    """
    digits, known = _digits(printed), _digits(value)
    if digits >= 15 <= known <= 17 and isinstance(printed, Fraction) and isinstance(value, Fraction):
        simple = printed.limit_denominator(_SIMPLE_DENOMINATOR)
        return abs(simple) < 1_000 and all(abs(one - simple) <= abs(simple) * _LAST_DIGIT for one in (printed, value))
    if not 12 <= digits <= 17 or known > min(12, digits - 3):
        return False
    size = approximate(value)
    if size is None or size.imag:
        return False
    shown = float(printed)  # type: ignore[arg-type]
    off = abs(shown) - math.copysign(size.real, shown * size.real)
    if digits >= 15:
        rounded = 11 <= known <= 12 and abs(off) <= 0.51 * 10.0 ** (math.floor(math.log10(abs(shown))) + 1 - known)
        return rounded or abs(off) <= 1e-12 * abs(size.real)
    last = 10.0 ** (math.floor(math.log10(abs(shown))) + 1 - digits)
    return -0.99 * last < off <= 0.51 * last


def _digits(value: Value) -> int:
    if not isinstance(value, Fraction) or not _SIMPLE < max(abs(value.numerator), value.denominator) < 10**40:
        return 0
    places = next((k for k in range(1, 41) if 10**k % value.denominator == 0), 0)
    return len(str(abs(value.numerator) * 10**places // value.denominator)) if places else 0


def plain(answer: ParsedAnswer) -> ParsedAnswer:
    while isinstance(answer, Collection) and len(answer.items) == 1:
        (answer,) = answer.items
    return answer
