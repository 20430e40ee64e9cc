"""Answers in words, times of day, ratios and choice letters: what is told from the whole text rather than its tokens."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

from markscheme.marking.equality.algebra import real_sets as sets
from markscheme.marking.equality.kinds import Choice, Clock, ParsedAnswer, Scalar, Text
from markscheme.marking.equality.units import read_unit
from markscheme.marking.extraction.number_words import NUMBER_WORDS, number_from_words

_DRESS: Final = re.compile(
    r"\\(?:text(?:bf|it|rm|sf|tt|up|normal|md|sc)?|mbox|hbox|math(?:rm|bf|it|sf|tt)|emph|boldsymbol|bm|operatorname|boxed|fbox)"
    r"\s*(?=\{)"
)
_COLON: Final = re.compile(r"\s*\\colon(?![a-zA-Z])\s*")
_SPACING: Final = re.compile(r"\\[,;:! ]|\\q?quad(?![a-zA-Z])|~")
_CLOCK: Final = re.compile(
    r"(\d{1,6}(?:\.\d{1,6})?(?:\s*:\s*\d{1,6}(?:\.\d{1,6})?){1,3})\s*(?:([ap])\.?\s*m\b\.?)?", re.IGNORECASE
)
_RATIO: Final = re.compile(r"(\d{1,6})\s+to\s+(\d{1,6})")
_HOUR: Final = re.compile(r"(\d{1,2})\s*(?:([ap])\.?\s*m\b\.?|o'clock)", re.IGNORECASE)
_CHOICE: Final = re.compile(
    r"(?:(?:option|choice|answer|letter)\s*:?\s*)?"
    r"(?:\(\s*([A-Z])\s*\)|([A-Z])\s*\)|([A-Z])[.:](?=\s))(?:\s+(?![-+*/^=<>]|\\(?:cup|cap|cdot|times|in)\b)(.*))?",
    re.DOTALL,
)
_NAMED_CHOICE: Final = re.compile(r"(?:option|choice|answer|letter)\s*:?\s*\(?([A-Za-z])\)?", re.IGNORECASE)
_AND_A_PART: Final = re.compile(r"(\d{1,9})\s+and\s+((?:a|one|two|three)[\s-][a-z]+)", re.IGNORECASE)
_WORD: Final = re.compile(r"[^\W\d_]+|\d+(?:\.\d+)?|[^\w\s.,;:!?\"'(){}$*\\]", re.UNICODE)
_LETTERS: Final = re.compile(r"[A-Za-z][A-Za-z\s,\-]*")
_ARTICLES: Final = ("the ", "a ", "an ")
_PHRASES: Final[dict[str, ParsedAnswer]] = {
    "all real numbers": sets.REALS, "all reals": sets.REALS, "all real x": sets.REALS, "all real values": sets.REALS, "real numbers": sets.REALS,
    "no solution": sets.EMPTY, "no solutions": sets.EMPTY, "empty set": sets.EMPTY, "no real solution": sets.EMPTY,
    "no real solutions": sets.EMPTY,
    "dne": Text("does not exist"), "infinity": Scalar(sets.INFINITY), "negative infinity": Scalar(sets.MINUS_INFINITY),
}  # fmt: skip


def undressed(text: str) -> str:
    r"""The text without font commands, spacing and braces: what `\text{(C) Plane}` says."""
    if "\\" in text:
        text = _SPACING.sub(" ", _DRESS.sub("", _COLON.sub(":", text)))
    return text.replace("{", "").replace("}", "").strip()


def words_of(text: str) -> str:
    """The words of a text in lower case, without punctuation and without an article in front."""
    return without_article(" ".join(_WORD.findall(undressed(text).lower())))


def without_article(words: str) -> str:
    """Words without "the", "a" or "an" in front, nor what they are said of: "it is an ellipse"."""
    for verb in (" is ", " are "):
        words = words.rpartition(verb)[2] or words
    for article in _ARTICLES:
        if words.startswith(article) and len(words) > len(article):
            return words[len(article) :]
    return words


def read_phrase(text: str) -> ParsedAnswer | None:
    """A time, ratio, choice, number in words or well-known phrase; None when the text is none of these."""
    if len(text) > 300:
        return None
    plain = undressed(text)
    if not plain:
        return None
    if plain[0].isdigit():
        if m := _RATIO.fullmatch(plain):
            return Clock((Fraction(m[1]), Fraction(m[2])))
        if (":" in plain or plain[-1] in "mM.k") and (clock := _clock(plain)) is not None:
            return clock
        if m := _AND_A_PART.fullmatch(plain):
            part = number_from_words(m[2])
            return Scalar(int(m[1]) + part) if isinstance(part, Fraction) and 0 < part < 1 else None
        return None
    if plain[0] in "(ABCDEFGHIJKLMNOPQRSTUVWXYZoclO":
        m = _CHOICE.fullmatch(plain)
        if m is not None:
            return Choice(m[1] or m[2] or m[3], words_of(m[4] or ""))
        m = _NAMED_CHOICE.fullmatch(plain)
        if m is not None:
            return Choice(m[1].upper())
    if _LETTERS.fullmatch(plain) and len(plain) > 2:
        return _spelled_number(plain) or _PHRASES.get(words_of(plain))
    return None


def _clock(plain: str) -> Clock | None:
    m = _CLOCK.fullmatch(plain)
    if m is not None:
        parts = tuple(Fraction(p.strip()) for p in m[1].split(":"))
        return Clock(parts, f"{m[2].lower()}m" if m[2] else "")
    m = _HOUR.fullmatch(plain)
    return Clock((Fraction(m[1]), Fraction(0)), f"{m[2].lower()}m" if m[2] else "") if m else None


def _spelled_number(plain: str) -> Scalar | None:
    """`seven`, `twenty-one dollars`: number words, then perhaps a unit."""
    words = plain.replace(",", " ").replace("-", " ").split()
    if words[0].lower() not in NUMBER_WORDS and words[0].lower() not in ("a", "an"):
        return None
    for cut in range(len(words), 0, -1):
        value = number_from_words(" ".join(words[:cut]))
        if value is not None:
            rest = " ".join(words[cut:])
            if any(w.lower() in NUMBER_WORDS for w in words[cut:]):
                return None  # "three, five, seven" is a list
            if rest.lower() in ("percent", "percentage"):
                return Scalar(value, percent=True)
            return Scalar(value, read_unit(rest) if rest else None)
    return None
