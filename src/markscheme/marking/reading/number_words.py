"""Words that stand for numbers: "seven", "three quarters", "minus twenty-one"."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

_UNITS: Final = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS: Final = {
    w: 10 * k for k, w in enumerate(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], 2)
}
_SCALES: Final = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_CARDINALS: Final = {**{w: k for k, w in enumerate(_UNITS)}, **_TENS, "fourty": 40}
_PARTS: Final = {
    "half": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
    "tenth": 10, "eleventh": 11, "twelfth": 12, "sixteenth": 16, "twentieth": 20, "hundredth": 100, "thousandth": 1000,
}  # fmt: skip
_PLURALS: Final = {**{w + "s": n for w, n in _PARTS.items() if w != "half"}, "halves": 2}

NUMBER_WORDS: Final = frozenset(
    {*_CARDINALS, *_SCALES, "hundred", "dozen", "minus", "negative", "point", *_PARTS, *_PLURALS}
)
# Words that multiply the number before them: `1.5 million`.
SCALE_WORDS: Final = {**_SCALES, "hundred": 100, "dozen": 12, "millions": 10**6, "thousands": 10**3, "billions": 10**9}

# Number words in a row, as they stand in a sentence.
NUMBER_RUN: Final = re.compile(
    r"\b(?:{0})(?:[\s-]+(?:{0}))*\b".format(
        "|".join(sorted({*_CARDINALS, *_SCALES, "hundred", "dozen"}, key=len, reverse=True))
    ),
    re.IGNORECASE,
)
_SPLIT: Final = re.compile(r"[\s\-]+")


def number_from_words(text: str) -> int | Fraction | None:
    """The number that English words spell, or None. `seven`, `minus twenty-one`, `one and a half`, `two point five`."""
    words = [w for w in _SPLIT.split(text.lower().replace(",", " ").strip()) if w]
    if not words or len(words) > 24 or any(w not in NUMBER_WORDS and w not in ("and", "a", "an") for w in words):
        return None
    if words[-1] in ("and", "a", "an"):
        return None
    if words[0] in ("minus", "negative"):
        size = _unsigned(words[1:])
        return None if size is None else -size
    return _unsigned(words)


def _unsigned(words: list[str]) -> int | Fraction | None:
    if not words:
        return None
    if "point" in words:
        k = words.index("point")
        whole = _whole(words[:k]) if k else 0
        digits = [_CARDINALS.get(w, 10) for w in words[k + 1 :]]
        if whole is None or not digits or max(digits) > 9:
            return None
        return whole + Fraction(int("".join(map(str, digits))), 10 ** len(digits))
    last = words[-1]
    if last in _PARTS or last in _PLURALS:
        if len(words) == 1 and last not in ("half", "quarter"):
            return None  # "third" by itself is a place in a row
        return _fraction(words[:-1], _PARTS.get(last) or _PLURALS[last])
    return _whole(words)


def _fraction(words: list[str], below: int) -> Fraction | None:
    """`three`, `one and a`, `two and three` before the name of a part."""
    if "and" in words:
        k = len(words) - 1 - words[::-1].index("and")
        whole, top = _whole(words[:k]), _whole(words[k + 1 :] or ["one"])
        return None if whole is None or top is None else whole + Fraction(top, below)
    top = _whole(words or ["one"])
    return None if top is None else Fraction(top, below)


def _whole(words: list[str]) -> int | None:
    total, group, seen = 0, 0, False
    for w in words:
        if w == "and":
            if not seen:
                return None
            continue
        if w in ("a", "an") and not seen:
            group, seen = 1, True
        elif w in _CARDINALS:
            value = _CARDINALS[w]
            # "twenty one" adds, "one two" and "five twenty" are not numbers.
            if group % 10 or (group % 100 and value >= 10):
                return None
            group, seen = group + value, True
        elif w == "hundred" and seen and 0 < group < 10:
            group *= 100
        elif w == "dozen" and seen and group < 1000:
            group *= 12
        elif w in _SCALES and seen and group:
            total, group = total + group * _SCALES[w], 0
        else:
            return None
    return total + group if seen else None
