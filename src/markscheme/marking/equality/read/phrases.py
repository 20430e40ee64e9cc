"""Answers read from the whole text instead of its tokens: times, ratios, choice letters, counts and numbers in words."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

from markscheme.marking.equality.kinds import Choice, Clock, ParsedAnswer, Scalar
from markscheme.marking.equality.letters import SIGNS
from markscheme.marking.equality.read.values import DENIALS
from markscheme.marking.equality.read.wording import MONTHS, meaning, numeric_date, undressed, words_of
from markscheme.marking.equality.units import read_unit
from markscheme.marking.reading.number_words import NUMBER_WORDS, number_from_words

_HALF: Final = r"(?:(?P<half>[ap])\.?\s*m\b\.?|in the (?P<part>morning|afternoon|evening)|o'clock)"
_CLOCK: Final = re.compile(
    rf"(?P<parts>\d{{1,6}}(?:\.\d{{1,6}})?(?:\s*:\s*\d{{1,6}}(?:\.\d{{1,6}})?){{1,3}})\s*{_HALF}?", re.IGNORECASE
)
_HOUR: Final = re.compile(rf"(?P<parts>\d{{1,2}})\s*{_HALF}", re.IGNORECASE)
_NOON: Final = {"noon": "pm", "12 noon": "pm", "midday": "pm", "midnight": "am", "12 midnight": "am"}
_RATIO: Final = re.compile(r"(\d{1,6})\s+to\s+(\d{1,6})")
_CHOICE: Final = re.compile(
    r"(?:(?:option|choice|answer|letter)\s*:?\s*)?"
    r"(?:(?:\(\s*([A-Z])\s*\)|([A-Z])\s*\))(?:[.:]|(?=\s|[\d$]|\Z))|([A-Z])[.:](?=\s))"
    r"\s*(?:(?![-+*/^=<>]|\\(?:cup|cap|cdot|times|in)\b)(.+))?",
    re.DOTALL,
)
_LABEL: Final = re.compile(r"[,;]\s*[A-Z]:")  # `J: 4 hr, S: 14 hr` names values, not a choice
_NAMED_CHOICE: Final = re.compile(r"(?:option|choice|answer|letter)\s*:?\s*\(?([A-Za-z])\)?", re.IGNORECASE)
_AND_A_PART: Final = re.compile(r"(\d{1,9})\s+and\s+((?:a|one|two|three)[\s-][a-z]+)", re.IGNORECASE)
_COUNTED: Final = re.compile(
    r"(\d{1,30}(?:[.,]\d{1,30})?)\s*"
    r"(?:\(\s*((?!base\b|mod\b|in base\b)[A-Za-z][A-Za-z' -]{2,60})\)|\s([A-Za-z]{1,20}-[A-Za-z-]{3,20}(?: [A-Za-z]{2,20}){0,3}))"
)
_LETTERS: Final = re.compile(rf"[^\W\d_](?:[^\W\d_]|[{SIGNS}\s,'’\-])*")


def read_phrase(text: str) -> ParsedAnswer | None:
    """Read a time, ratio, choice, count, number in words or well-known phrase; None for anything else."""
    if len(text) > 300:
        return None
    plain = undressed(text)
    if not plain:
        return None
    if plain[0].isdigit():
        return _from_digits(plain)
    if plain[0] in "(ABCDEFGHIJKLMNOPQRSTUVWXYZoclO":
        m = _CHOICE.fullmatch(plain)
        if m is not None and not _LABEL.search(m[4] or ""):
            return Choice(m[1] or m[2] or m[3], words_of(m[4] or ""))
        m = _NAMED_CHOICE.fullmatch(plain)
        if m is not None:
            return Choice(m[1].upper())
    if (len(plain) > 2 or not plain.isascii()) and _LETTERS.fullmatch(plain):
        return _spelled_number(plain) or _noon(plain) or meaning(words_of(plain))
    return meaning(words_of(plain)) if plain[:3].lower() in MONTHS else None  # March 3, 2014


def _from_digits(plain: str) -> ParsedAnswer | None:
    if 8 <= len(plain) <= 10 and (date := numeric_date(plain)) is not None:
        return date
    if m := _RATIO.fullmatch(plain):
        return Clock((Fraction(m[1]), Fraction(m[2])))
    if (":" in plain or plain[-1] in "mM.kgn") and (clock := _clock(plain)) is not None:
        return clock
    if m := _AND_A_PART.fullmatch(plain):
        part = number_from_words(m[2])
        return Scalar(int(m[1]) + part) if isinstance(part, Fraction) and 0 < part < 1 else None
    if (m := _COUNTED.fullmatch(plain)) and DENIALS.isdisjoint((m[2] or m[3]).lower().split()):
        value = Fraction(m[1].replace(",", "" if len(m[1].rpartition(",")[2]) == 3 else "."))
        unit = None if m[2] == "times" else read_unit((m[2] or m[3]).replace("-", ""))
        return Scalar(value.numerator if value.denominator == 1 else value, unit)  # 15 (balls), 32 sit-ups
    return meaning(words_of(plain)) if plain[-1].isalnum() and not plain.isdigit() and " " in plain else None


def _clock(plain: str) -> Clock | None:
    m = _CLOCK.fullmatch(plain) or _HOUR.fullmatch(plain)
    if m is None:
        return _noon(plain)
    parts = tuple(Fraction(p.strip()) for p in m["parts"].split(":"))
    half = f"{m['half'].lower()}m" if m["half"] else ""
    if m["part"]:
        half = "am" if m["part"].lower() == "morning" else "pm"
    return Clock(parts if len(parts) > 1 else (*parts, Fraction(0)), half)


def _noon(plain: str) -> Clock | None:
    half = _NOON.get(plain.lower())
    return Clock((Fraction(12), Fraction(0)), half) if half else None


def _spelled_number(plain: str) -> Scalar | None:
    """Read number words, perhaps with a unit: `seven`, `twenty-one dollars`."""
    words = plain.replace(",", " ").replace("-", " ").split()
    if words[0].lower() not in NUMBER_WORDS and words[0].lower() not in ("a", "an"):
        return None
    for cut in range(len(words), 0, -1):
        value = number_from_words(" ".join(words[:cut]))
        if value is not None:
            rest = " ".join(words[cut:])
            if any(w.lower() in NUMBER_WORDS or w.lower() in ("past", "to") for w in words[cut:]):
                return None  # "three, five, seven" is a list, "quarter past" a time
            if rest.lower() in ("percent", "percentage"):
                return Scalar(value, percent=True)
            return Scalar(value, read_unit(rest) if rest else None)
    return None
