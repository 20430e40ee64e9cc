"""Rules for single values, words, choices, bases and times."""
# ruff: noqa: ARG001 - the rules share one signature

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from markscheme.marking.equality.algebra.arithmetic import div, mul, same
from markscheme.marking.equality.algebra.exact import PI
from markscheme.marking.equality.algebra.numeric import approximate
from markscheme.marking.equality.algebra.real_sets import INFINITY
from markscheme.marking.equality.kinds import Based, Choice, Clock, ParsedAnswer, Scalar, Text
from markscheme.marking.equality.rules.antiderivatives import antiderivatives
from markscheme.marking.equality.units import angle, compatible

if TYPE_CHECKING:
    from markscheme.marking.equality.rules.rulebook import Comparator


def scalars(comparator: Comparator, a: Scalar, b: Scalar) -> bool | None:
    if a.letters and b.letters and a.letters != b.letters and max(len(a.letters), len(b.letters)) == 1:
        # Choice letters are often in lower case; after H a letter is more likely a variable, and e is a number.
        return a.letters.lower() == b.letters.lower() and a.letters.lower() in "abcdfgh"
    if a.letters and b.letters and (_is_spelling(a.letters) or _is_spelling(b.letters)):
        return a.letters.lower() == b.letters.lower()
    if a.percent != b.percent:
        return _percent(comparator, *((a, b) if a.percent else (b, a)))
    unit = a.unit or b.unit
    if unit is None:
        verdict = comparator.values(a.value, b.value)
        return antiderivatives(comparator, a.value, b.value) if verdict is False else verdict
    if a.unit is None or b.unit is None:
        if angle(unit) == "deg":
            return _degrees(comparator, *((a, b) if a.unit else (b, a)))
        verdict = comparator.values(a.value, b.value)
        if verdict is not False:
            comparator.flag("unit ignored")
        return verdict
    if not compatible(a.unit, b.unit):
        if {angle(a.unit), angle(b.unit)} == {"deg", "rad"}:
            return _degrees(comparator, *((a, b) if angle(a.unit) == "deg" else (b, a)))
        return False
    if a.unit.dimensions != b.unit.dimensions:
        # Square units against square inches, cents per ounce against cents.
        comparator.flag("unit ignored")
        return comparator.values(a.value, b.value)
    if a.unit.factor == b.unit.factor:
        return comparator.values(a.value, b.value)
    return comparator.values(mul(a.value, a.unit.factor), mul(b.value, b.unit.factor))


def _is_spelling(letters: str) -> bool:
    """True if letters are a string, in which order counts, rather than a product.

    A product has small letters, each once: `zyx` is `xyz`, but `aab` would be a²b, and `CAB` names points or choices. Two
    capitals are a segment, and AB is BA.
    """
    return len(letters) > 2 and (letters.isupper() or len(set(letters)) < len(letters))


def _degrees(comparator: Comparator, degrees: Scalar, other: Scalar) -> bool | None:
    """Compare 90° with 90 or with π/2 radians."""
    verdict = comparator.exact(degrees.value, other.value) if other.unit is None else False
    if verdict is not False:
        comparator.flag("unit ignored")
        return verdict
    if other.unit is not None and angle(other.unit) == "rad":
        return comparator.exact(mul(degrees.value, div(PI, 180)), other.value)
    return False


def _percent(comparator: Comparator, percent: Scalar, number: Scalar) -> bool | None:
    """Compare 10% with 0.1, or with 10 in case the question asks for a percentage."""
    verdict = comparator.exact(div(percent.value, 100), number.value)
    if verdict is not False:
        return verdict
    verdict = comparator.exact(percent.value, number.value) if number.unit is None else False
    if verdict:
        size = approximate(number.value)
        # Below one the sign matters: half a percent is not one half.
        if size is None or abs(size) <= 1:
            return False
        comparator.flag("percent sign ignored")
    return verdict


def texts(comparator: Comparator, a: Text, b: Text) -> bool | None:
    if a.subject and b.subject and a.subject != b.subject:
        return False  # Ann is taller, not Tom
    one, two = sorted((a.words, b.words), key=len)
    if one.startswith("date ") and len(one.split()) == 3 and two.startswith(one + " "):
        comparator.flag("year not stated")
        return True
    return one.replace(" ", "") == two.replace(" ", "")


def text_scalar(comparator: Comparator, a: Text, b: Scalar) -> bool | None:
    if a.words == "infinitely many" and b.unit is None:
        return same(b.value, INFINITY)
    return bool(b.letters) and a.words.replace(" ", "") == b.letters.lower()


def choice_scalar(comparator: Comparator, a: Choice, b: Scalar) -> bool | None:
    if len(b.letters) == 1 and b.letters.upper() == a.letter and b.unit is None:
        return True
    return choice_value(comparator, a, b)


def choice_value(comparator: Comparator, a: Choice, b: ParsedAnswer) -> bool | None:
    """Compare `(C) 12` with 12."""
    return False if a.value is None else comparator.same(a.value, b)


def choice_text(comparator: Comparator, a: Choice, b: Text) -> bool | None:
    if isinstance(a.value, Text) and comparator.same(a.value, b):
        return True
    return b.words.replace(" ", "") in (a.letter.lower(), (a.letter + a.rest).lower().replace(" ", ""))


def based_scalar(comparator: Comparator, a: Based, b: Scalar) -> bool | None:
    """Compare a number in a base. An answer may omit the gold's base, since the problem states it, but not add one."""
    plain = b.unit is None and not b.percent and isinstance(b.value, int) and b.value.bit_length() < 1000
    if plain and a.base == 10 and str(b.value) == a.digits:
        return True
    if comparator.flipped and plain and str(b.value) == a.digits:
        comparator.flag("base not stated")
        return True
    return False


def clocks(comparator: Comparator, a: Clock, b: Clock) -> bool | None:
    if a.half or b.half:
        if _seconds(a) == _seconds(b):
            return True
        if bool(a.half) != bool(b.half) and _seconds(Clock(a.parts)) == _seconds(Clock(b.parts)):
            comparator.flag("am or pm not stated")
            return True
        return False
    if a.parts == b.parts or (_seconds(a) is not None and _seconds(a) == _seconds(b)):
        return True
    return len(a.parts) == len(b.parts) and _ratio(a.parts) == _ratio(b.parts)


def _seconds(clock: Clock) -> Fraction | None:
    hours, minutes, *more = (*clock.parts, Fraction(0)) if len(clock.parts) == 1 else clock.parts
    seconds = more[0] if more else Fraction(0)
    if hours > 24 or minutes >= 60 or seconds >= 60 or len(more) > 1:
        return None
    if clock.half:
        hours = hours % 12 + (12 if clock.half == "pm" else 0)
    return hours * 3600 + minutes * 60 + seconds


def _ratio(parts: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    return tuple(p / parts[0] for p in parts) if all(parts) else parts


def clock_scalar(comparator: Comparator, a: Clock, b: Scalar) -> bool | None:
    """Compare the ratio 3:4 with 3/4, and 2:00 pm with 2."""
    if not any(a.parts[1:]) and b.value == a.parts[0]:
        comparator.flag("unit ignored")
        return True
    if a.half or len(a.parts) != 2 or not a.parts[1]:
        return False
    verdict = comparator.values(a.parts[0] / a.parts[1], b.value)
    if verdict:
        comparator.flag("ratio written as a fraction")
    return verdict
