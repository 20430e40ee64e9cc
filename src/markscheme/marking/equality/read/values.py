"""Reads one value with what stands around it: currency, unit, percent and degree signs, the base it is written in."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final

from markscheme.marking.equality.algebra.arithmetic import add, mul, neg
from markscheme.marking.equality.algebra.exact import Expr, Unreadable, Value
from markscheme.marking.equality.algebra.programs import SIGNS, run
from markscheme.marking.equality.kinds import Based, Collection, ParsedAnswer, Scalar
from markscheme.marking.equality.read.expressions import parse, read_number
from markscheme.marking.equality.read.token_ranges import TokenRanges
from markscheme.marking.equality.read.tokens import Token
from markscheme.marking.equality.units import Unit, read_unit
from markscheme.marking.extraction.number_words import SCALE_WORDS, number_from_words

_DEGREES: Final = Unit((("deg", 1),), Fraction(1))
_DOLLARS: Final = Unit((("usd", 1),), Fraction(1))


class ValueReader(TokenRanges):
    """Reads a range that is one value, or words."""

    def scalar(self, low: int, high: int) -> ParsedAnswer:
        """One value with what stands around it: currency, unit, percent sign, base."""
        unit: Unit | None = None
        kinds = [self.tokens[k].kind for k in range(low, high)]
        if "$" in kinds:
            low, high, unit = self.currency(low, high), high - (kinds[-1] == "$"), _DOLLARS
        if "b" in kinds:
            return self.based(low, high)
        cut = next((k for k in self.level(low, high) if self.is_annotation(k, low, high)), high)
        if cut == low:
            return self.after_words(low, high)
        if cut < high:
            return self.annotated(low, cut, high)
        percent = False
        angle = any(self.tokens[k].kind == "f" for k in self.level(low, high))  # sin 30° keeps its sign
        while high - low > 1 and not angle and self.tokens[high - 1][:2] in (("o", "%"), ("o", "°")):
            percent = percent or self.tokens[high - 1].text == "%"
            unit = _DEGREES if self.tokens[high - 1].text == "°" else unit
            high -= 1
        if high - low > 2 and self.tokens[high - 2][:2] == ("o", "°") and self.tokens[high - 1].text in ("C", "F"):
            unit = read_unit("°" + self.tokens[high - 1].text)
            high -= 2
        return self.value(low, high, unit, percent)

    def is_annotation(self, k: int, low: int, high: int) -> bool:
        """Whether words start at k, perhaps in brackets or over a fraction bar: cm, (base 8), m over s."""
        kind, text, _ = self.tokens[k]
        if kind in ("x", "mod"):
            return True
        if k == low or k + 2 >= high:
            return False
        after = self.tokens[k + 2] if (kind, text) == ("c", "frac") else self.tokens[k + 1]
        return after.kind == "x" and text in ("(", "{", "frac")

    def annotated(self, low: int, cut: int, high: int) -> ParsedAnswer:
        rest = self.tokens[cut:high]
        if rest[0].kind in "({" and self.match[cut] == high - 1:
            rest = rest[1:-1]
        words = [t.text.lower() for t in rest[:2]]
        if words[0] in BASE_WORDS or words == ["in", "base"]:
            start = 1 if words[0] in BASE_WORDS else 2
            return read_base(self.tokens[low:cut], "".join(t.text for t in rest[start:]))
        number = self.scalar(low, cut)
        if not isinstance(number, Scalar) or len(number.letters) > 2 or number.letters in ("a", "A"):
            return self.words(low, high)  # Mrs Hilt; a circle
        return annotate(number, rest) or self.words(low, high)

    def value(self, low: int, high: int, unit: Unit | None, percent: bool) -> ParsedAnswer:
        if high - low == 1 and self.tokens[low].kind == "n":
            return Scalar(read_number(self.tokens[low].text), unit, percent)
        program = parse(self.tokens, self.match, low, high)
        if ("°", False) in program:
            unit = unit or _DEGREES
        signs = [1 if "±" in op else -1 for op, _ in program if op in SIGNS]
        if not signs:
            return Scalar(value := run(program), unit, percent, self.letters(value, low, high))
        if len(signs) > 4:
            raise Unreadable("too many signs to choose")
        # With a ∓ all signs change together.
        both = [signs, [-s for s in signs]] if -1 in signs else itertools.product((1, -1), repeat=len(signs))
        return Collection(tuple(Scalar(run(program, chosen), unit, percent) for chosen in both), False, "or")

    def letters(self, value: Value, low: int, high: int) -> str:
        """The letters of a value that is written with nothing else."""
        tokens = self.tokens[low:high] if isinstance(value, Expr) else []
        return "".join(t.text for t in tokens) if all(t.kind == "v" and len(t.text) == 1 for t in tokens) else ""

    def currency(self, low: int, high: int) -> int:
        """Where the amount starts after a leading dollar sign; a sign before it moves behind it."""
        if self.tokens[low].kind == "$":
            return low + 1
        if self.tokens[low][:2] == ("o", "-") and low + 1 < high and self.tokens[low + 1].kind == "$":
            self.tokens[low + 1] = self.tokens[low]
            return low + 1
        return low

    def based(self, low: int, high: int) -> ParsedAnswer:
        k = next(k for k in range(low, high) if self.tokens[k].kind == "b")
        if k != high - 1:
            raise Unreadable("something after a base")
        return read_base(self.tokens[low:k], self.tokens[k].text)

    def after_words(self, low: int, high: int) -> ParsedAnswer:
        """An answer that starts with words: a label (`Area: 5`), a currency, or words altogether."""
        k = low
        while k < high and self.tokens[k].kind in ("x", ":"):
            k += 1
        if k == high:
            spelled = number_from_words(" ".join(t.text for t in self.tokens[low:high]))
            return self.words(low, high) if spelled is None else Scalar(spelled)
        if self.tokens[k - 1].kind == ":":
            return self.scalar(k, high)
        if k - low == 1 and self.tokens[low].text.lower() in ("negative", "minus"):
            number = self.scalar(k, high)
            return replace(number, value=neg(number.value)) if isinstance(number, Scalar) else self.words(low, high)
        unit = read_unit(" ".join(t.text for t in self.tokens[low:k]))
        if unit is not None and not unit.word and self.tokens[k].kind in ("n", "o"):
            number = self.scalar(k, high)  # €77, USD 18.90
            if isinstance(number, Scalar):
                return replace(number, unit=unit)
        return self.words(low, high)


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
    more = _second_amount(rest)
    unit = read_unit(_spelled(rest[:more]))
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


def read_base(digits: Sequence[Token], base: str) -> ParsedAnswer:
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
