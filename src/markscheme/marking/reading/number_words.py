"""Read numbers in words: "seven", "three quarters", "minus twenty-one". The words come from the lexicon."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from markscheme.marking.reading import kinds
from markscheme.marking.reading.words import english

_ENGLISH: Final = english()
_AND, _ONE, _ALONE, _POINT = (
    frozenset(_ENGLISH.lists[name]) for name in ("SPELLED_AND", "SPELLED_ONE", "SPELLED_ALONE", "POINT")
)
_VALUES: Final = {word: value for word, value in _ENGLISH.values.items() if len(word) > 1}  # a letter may be an unknown
# Words that multiply the number before them, as in `1.5 million`.
SCALE_WORDS: Final = {word: int(_VALUES[word]) for word in _VALUES if _ENGLISH.words[word] & kinds.SCALE}
_CARDINALS: Final = {
    word: int(_VALUES[word]) for word in _VALUES if _VALUES[word].denominator == 1 and word not in SCALE_WORDS
}
_PARTS: Final = {word: value for word, value in _VALUES.items() if value.denominator > 1}
_MINUS: Final = frozenset(word for word, classes in _ENGLISH.words.items() if classes & kinds.MINUS)
NUMBER_WORDS: Final = frozenset({*_CARDINALS, *SCALE_WORDS, *_PARTS, *_MINUS, *_POINT})
_SPLIT: Final = re.compile(r"[\s\-]+")
_MOST_WORDS: Final = 24


def total(values: Sequence[Fraction]) -> Fraction:
    """Combine the values of number words, in the order of most languages: 2, 100, 5 are 205."""
    whole = group = Fraction(0)
    for value in values:
        if value < 100 or not group:
            group += value
        elif value < 1000:
            group *= value
        else:
            whole, group = whole + group * value, Fraction(0)
    return whole + group


def number_from_words(text: str) -> int | Fraction | None:
    """Return the number that English words spell, or `None`: `seven`, `minus twenty-one`, `one and a half`, `two point
    five`.
    """
    words = [word for word in _SPLIT.split(text.lower().replace(",", " ").strip()) if word]
    if not words or len(words) > _MOST_WORDS or words[-1] in _AND | _ONE:
        return None
    if any(word not in NUMBER_WORDS | _AND | _ONE for word in words):
        return None
    if words[0] in _MINUS:
        size = _unsigned(words[1:])
        return None if size is None else -size
    return _unsigned(words)


def _unsigned(words: list[str]) -> int | Fraction | None:
    point = next((at for at, word in enumerate(words) if word in _POINT), None)
    if point is not None:
        whole = _whole(words[:point]) if point else 0
        digits = [_CARDINALS.get(word, 10) for word in words[point + 1 :]]
        if whole is None or not digits or max(digits) > 9:
            return None
        return whole + Fraction(int("".join(map(str, digits))), 10 ** len(digits))
    if words and words[-1] in _PARTS:
        if len(words) == 1 and words[0] not in _ALONE:
            return None  # "third" alone is an ordinal
        return _fraction(words[:-1], _PARTS[words[-1]])
    return _whole(words)


def _fraction(words: list[str], part: Fraction) -> Fraction | None:
    """Read `three`, `one and a`, `two and three` before the name of a fraction."""
    joins = [at for at, word in enumerate(words) if word in _AND]
    whole = _whole(words[: joins[-1]]) if joins else 0
    counted = words[joins[-1] + 1 :] if joins else words
    top = _whole(counted) if counted else 1
    return None if whole is None or top is None else whole + top * part


def _whole(words: list[str]) -> int | None:
    whole, group, seen = 0, 0, False
    for word in words:
        if word in _AND:
            if not seen:
                return None
        elif word in _ONE and not seen:
            group, seen = 1, True
        elif word in _CARDINALS:
            value = _CARDINALS[word]
            # "twenty one" adds; "one two" and "five twenty" are not numbers.
            if group % 10 or (group % 100 and value >= 10):
                return None
            group, seen = group + value, True
        elif (value := SCALE_WORDS.get(word, 0)) and group:
            if value < 1000 and (group >= 100 or (value == 100 and group >= 10)):
                return None
            whole, group = (whole, group * value) if value < 1000 else (whole + group * value, 0)
        else:
            return None
    return whole + group if seen else None
