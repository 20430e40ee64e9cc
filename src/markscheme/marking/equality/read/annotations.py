"""What stands behind a number: its unit, a scale word, a percent sign in letters, or the base it is written in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final

from markscheme.marking.equality.algebra.rational_functions import add, mul
from markscheme.marking.equality.kinds import Answer, Based, Scalar
from markscheme.marking.equality.read.expressions import Unreadable, read_number
from markscheme.marking.equality.read.tokens import Token
from markscheme.marking.equality.read.units import Unit, read_unit
from markscheme.marking.extraction.number_words import SCALE_WORDS, number_from_words

BASE_WORDS: Final = frozenset({"base", "(base"})
_PERCENT: Final = frozenset({"percent", "percentage", "pct", "percents"})
_ORDINALS: Final = frozenset({"th", "st", "nd", "rd"})
_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"


def annotate(number: Scalar, tokens: Sequence[Token]) -> Scalar | None:
    """The number with the words behind it taken into account; None when they are more than a unit."""
    rest = list(tokens)
    if any(t.kind in ("r", "f", "u", "|") or (t.kind == "c" and t.text != "frac") for t in rest):
        return None
    if any(t.kind == "o" and t.text in "+-±" and rest[k - 1].kind != "{" for k, t in enumerate(rest)):
        return None  # 12 cm + 1
    word = rest[0].text.lower()
    if word in SCALE_WORDS:
        number = replace(number, value=mul(number.value, SCALE_WORDS[word]))
        rest = rest[1:]
    elif word in _PERCENT:
        return replace(number, percent=True)
    elif word in _ORDINALS:
        rest = rest[1:]
    elif word == "mod":
        return replace(number, unit=Unit((), Fraction(1), "mod" + "".join(t.text for t in rest[1:] if t.kind == "n")))
    if not rest:
        return number
    unit = read_unit(_spelled(rest))
    more = _second_amount(rest)
    if more is not None and unit is not None:
        return _compound(number, unit, rest[more:])
    if unit is None:
        return number
    if number.unit is not None and number.unit != unit:
        # "$5 per hour", "$3 million": the first unit decides.
        return number
    return replace(number, unit=unit)


def _spelled(tokens: Sequence[Token]) -> str:
    text = "".join((" " if t.kind == "x" or t.spaced else "") + ("" if t.kind == "c" else t.text) for t in tokens)
    return text.replace("}{", "/")


def _second_amount(tokens: Sequence[Token]) -> int | None:
    """Where a second number with its own unit starts: 3 hours 20 minutes."""
    for k in range(1, len(tokens) - 1):
        if tokens[k].kind == "n" and tokens[k - 1].kind == "x" and tokens[k + 1].kind == "x":
            return k
    return None


def _compound(first: Scalar, unit: Unit, tokens: Sequence[Token]) -> Scalar | None:
    more = read_unit(_spelled(tokens[1:]))
    if more is None or more.word or unit.word or more.dimensions != unit.dimensions:
        return None
    total = add(mul(first.value, unit.factor), mul(read_number(tokens[0].text), more.factor))
    return Scalar(total, Unit(unit.dimensions, Fraction(1)))


def read_base(digits: Sequence[Token], base: str) -> Answer:
    """A number written in a base; the base may be in words."""
    text = base.strip().strip("()").lower().removeprefix("base").strip().strip("()")
    value: int | Fraction | None = int(text) if text.isdigit() and len(text) < 4 else number_from_words(text)
    if not isinstance(value, int) or not 2 <= value <= 36:
        raise Unreadable("a subscript that is no base")
    body = "".join(t.text for t in digits if t.kind not in "{}()")
    sign = "-" if body.startswith("-") else ""
    body = body.removeprefix("-").lower()
    if not body or any(c not in _DIGITS for c in body.replace(".", "").replace(",", "")):
        raise Unreadable("a base behind something that is no number")
    return Based(sign + (body.replace(",", "").lstrip("0") or "0"), value)
