r"""Read numbers exactly, as people and models write them: `$1,234.50`, `**72**`, `\$18`, `１８`, `7{,}000`, `50\%`.

The text must be exactly one number: `3 or 4` is not. Values are `int` or `Fraction`, never floats.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import Final

Number = int | Fraction

MAX_LENGTH: Final = 300  # longest number: parsing digits takes quadratic time
_WINDOW: Final = 4096
# The zero of each script: Arabic and Persian, the Indian ones from Devanagari to Malayalam, Thai, Lao, Tibetan,
# Burmese, Khmer, Mongolian, full-width.
_ZEROS: Final = (
    0x660, 0x6F0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xE50, 0xED0, 0xF20, 0x1040, 0x17E0,
    0x1810, 0xFF10,
)  # fmt: skip
_NATIVE_DIGITS: Final = {zero + digit: str(digit) for zero in _ZEROS for digit in range(10)} | {0x66B: ".", 0x66C: ","}
# Checked first, because `translate` takes ten times as long.
_NATIVE: Final = re.compile(f"[{''.join(f'{chr(zero)}-{chr(zero + 9)}' for zero in _ZEROS)}\u066b\u066c]")
_LOOK_ALIKES: Final = _NATIVE_DIGITS | str.maketrans(
    {
        **dict.fromkeys("−﹣－‐‑‒–", "-"),
        **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e\u200f", ""),
        **dict.fromkeys("\u00a0\u2002\u2003\u2007\u2008\u2009\u200a\u202f\u3000", " "),
        **dict(zip("，．％＄＋⁄", ",.%$+/", strict=True)),
    }
)


def ascii_digits(text: str) -> str:
    """Return the text with the digits of every script as 0 to 9."""
    return text if text.isascii() or _NATIVE.search(text) is None else text.translate(_NATIVE_DIGITS)


def plain(text: str) -> str:
    """Return the text with full-width, invisible and look-alike characters replaced by plain ones."""
    return text if text.isascii() else text.translate(_LOOK_ALIKES)


_SEPARATOR: Final = re.compile(r"(?<=\d)(?:,\\!\s?|\\,|\{,\}|\\!|\\ |~|')(?=\d{3}(?!\d))")
_DRESS: Final = re.compile(
    r"\\(?:text|textbf|textit|textrm|mathbf|mathrm|mathit|mathsf|bold|boldsymbol|bm|mbox|emph|displaystyle|left|right"
    r"|bigl?|bigr?|Big|quad|qquad|(?=[()\[\],;:! ]))(?![a-zA-Z])\s*"
    r"|(?<=\\)[()\[\],;:! ]"
    r"|\\(?=[$%#&_])|[{}]"
)
_ONE: Final = re.compile(
    r"(?P<sign>[-+]?)\s*+(?:(?:[$€£¥₹]|USD|US\$|Rs\.?)?)\s*+(?P<inner>-?)"
    r"(?P<digits>(?:\d{1,3}(?:[, ]\d{3})+(?!\d)|\d+)(?:\.\d*)?|\.\d+)"
    r"(?:\s*/\s*(?P<under>\d{1,30})|[eE](?P<power>[-+]?\d{1,3}))?"
    r"(?P<tail>.*)",
    re.DOTALL,
)
_SCIENTIFIC: Final = re.compile(r"(.+?)(?<!\s)\s*+(?:\\times|\\cdot|×|\*|x)\s*10\s*\^\s*(-?\d{1,2})[\s.]*", re.DOTALL)
# Possessive throughout, with separators between words: ambiguous letters would backtrack for hours.
_WORD: Final = r"[^\W\d_][^\W_]*+[.²³]?+(?>(?:\^[23])?)"
_SIGNS: Final = r"(?>(?:\\?%|\^?\\?circ|°|/?[-–]|[$€£¥₹])*)"
_UNIT: Final = re.compile(rf"{_SIGNS}\s*+(?>(?:{_WORD}(?>(?:[\s/-]++{_WORD}){{0,4}})[\s/-]*+)?)")
_ONLY_SIGNS: Final = re.compile(_SIGNS)
_CLOCK: Final = re.compile(r"(\d{1,2}):00[a-z.'\s]{0,9}", re.IGNORECASE)  # 2:00 pm
_CHOICE: Final = re.compile(r"\(?[A-E]\)\s*(?=[-$\d])")
# `73 (mod 1000)`, `42 (approx)`, `72 (48 + 24)`; but not `2(3)`.
_ASIDE: Final = re.compile(r"(?<=[\d%a-z])(?:\s*\([^()]*[a-zA-Z][^()]*\)|\s+\([^()]*[-+*/×=][^()]*\))\Z")
_DECIMAL_COMMA: Final = re.compile(r"(?<![\d,.])(\d+),(\d{1,2})(?![\d,])")
_LETTERS: Final = re.compile(r"[A-Za-z]+")


def _undressed(text: str) -> str:
    r"""Return a short text without Markdown emphasis, math delimiters, `\text{…}` and similar markup."""
    text = plain(text)
    if "\\" in text or "{" in text or "'" in text:
        text = _DRESS.sub("", _SEPARATOR.sub(",", text))
    text = text.strip(" \t\r\n*_`\"'~").rstrip(".!,;:*_`\"'~ ")
    if len(text) > 2 and text[0] + text[-1] in ("$$", "()", "[]"):
        text = text[1:-1].strip("$ ")
    return text


@lru_cache(maxsize=8192)
def number(text: str, *, units: bool = True) -> Number | None:
    """Return the value if the text is one number; a currency or percent sign and (with `units`) words after it are
    allowed.
    """
    if len(text) > MAX_LENGTH:
        return None
    if text.isdecimal():
        return int(text)
    bare = _DECIMAL_COMMA.sub(r"\1.\2", _ASIDE.sub("", _CHOICE.sub("", _undressed(text))))
    if (clock := _CLOCK.fullmatch(bare)) is not None:
        return int(clock[1])
    found = _ONE.fullmatch(bare)
    if found is None:
        return _in_words(bare)
    tail = found["tail"].strip()
    if not (_UNIT if units else _ONLY_SIGNS).fullmatch(tail):
        science = _SCIENTIFIC.fullmatch(bare)
        mantissa = number(science[1]) if science else None
        return None if mantissa is None or science is None else _simple(mantissa * Fraction(10) ** int(science[2]))
    value = _value(found["digits"], found["under"], found["power"])
    if value is None:
        return None
    if tail[:1].isalpha():
        value *= _scale(tail)
    return -value if (found["sign"] == "-") != (found["inner"] == "-") else value


def _in_words(text: str) -> Number | None:
    if len(text) > 60 or not text[:1].isalpha():
        return None
    from markscheme.marking.reading.number_words import number_from_words  # which needs the lexicon

    return number_from_words(text)


def _scale(unit: str) -> int:
    """Return the factor in the first word of a unit: 10**6 for `million dollars`, else 1."""
    from markscheme.marking.reading.number_words import SCALE_WORDS

    return SCALE_WORDS.get(unit.partition(" ")[0].lower(), 1)


def unscaled(text: str) -> Number | None:
    """Return the 2 of `2 million`, for a question that asks how many million, or `None`."""
    words = [word for word in _LETTERS.findall(text) if _scale(word) > 1] if len(text) <= MAX_LENGTH else []
    return number(text.replace(words[0], "")) if words else None


def _value(digits: str, under: str | None = None, power: str | None = None) -> Number | None:
    """Return the exact value of `1,234.50`, optionally with a denominator or a power of ten."""
    whole, _, decimals = digits.replace(",", "").replace(" ", "").partition(".")
    if not decimals and under is power is None:
        return int(whole or "0")  # fractions take twenty times as long
    decimals = decimals.rstrip("0")
    value = Fraction(int(whole + decimals or "0"), 10 ** len(decimals)) * Fraction(10) ** int(power or 0)
    return _simple(value / int(under or 1)) if under is None or int(under) else None


def _simple(value: Number) -> Number:
    return value.numerator if value.denominator == 1 else value


_RUN: Final = frozenset("0123456789.,$")
_ANY_DIGIT: Final = re.compile(r"[0-9]")


def last_number_run(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the last run of digits, points, commas and dollar signs with a digit in it, including a minus sign.

    That is the last match of lm-evaluation-harness' `(-?[$0-9.,]{2,})|(-?[0-9]+)` with a digit, except that a minus
    between two operands (`20-5`) is not a sign. The search starts at the end and does not read the rest.
    """
    stop = end
    while (last := _last_digit(text, max(start, stop - _WINDOW), stop)) < 0:
        stop -= _WINDOW
        if stop <= start:
            return None
    first = last
    while first > start and last - first < MAX_LENGTH and text[first - 1] in _RUN:
        first -= 1
    while last + 1 < end and text[last + 1] in _RUN and last - first < 2 * MAX_LENGTH:
        last += 1
    if first > start and text[first - 1] in "-−" and not (first - 1 > start and _is_operand(text[first - 2])):
        first -= 1
    return first, last + 1


def _last_digit(text: str, start: int, end: int) -> int:
    if not _ANY_DIGIT.search(text, start, end):
        return -1
    while not "0" <= text[end - 1] <= "9":
        end -= 1
    return end - 1


def _is_operand(character: str) -> bool:
    return character.isalnum() or character in ")]}$%"


def run_value(run: str) -> Number | None:
    """Return the value of such a run: `$1,234.` is 1234, `1.2.3` is not a number."""
    digits = plain(run).replace("$", "").replace(",", "").rstrip(".")
    if len(digits) > MAX_LENGTH or digits.count(".") > 1:
        return None
    value = _value(digits.lstrip("-"))
    return -value if value is not None and digits.startswith("-") else value
