r"""Numbers as people and models write them, read exactly: `$1,234.50`, `**72**`, `\$18`, `１８`, `7{,}000`, `50\%`.

One number or nothing: `3 or 4` is no number. Values are `int` or `Fraction`, never floats.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

# A longer text is not one number anyone states as an answer; reading its digits would cost quadratic time.
MAX_LENGTH = 300

Number = int | Fraction

# Where the digits of a script begin: Arabic and Persian, the Indian ones from Devanagari to Malayalam, Thai, Lao, Tibetan,
# Burmese, Khmer, Mongolian, full-width.
_ZEROS = (
    0x660, 0x6F0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xE50, 0xED0, 0xF20, 0x1040, 0x17E0,
    0x1810, 0xFF10,
)  # fmt: skip
_NATIVE_DIGITS = {zero + digit: str(digit) for zero in _ZEROS for digit in range(10)} | {0x66B: ".", 0x66C: ","}
_NATIVE = re.compile(
    f"[{''.join(map(chr, _NATIVE_DIGITS))}]"
)  # looked for first, because `translate` takes ten times as long


def ascii_digits(text: str) -> str:
    """The text with the digits of every script as 0 to 9."""
    return text if text.isascii() or _NATIVE.search(text) is None else text.translate(_NATIVE_DIGITS)


_LOOK_ALIKES = _NATIVE_DIGITS | str.maketrans(
    {
        **dict.fromkeys("−﹣－‐‑‒–", "-"),
        **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e\u200f", ""),
        **dict.fromkeys("\u00a0\u2002\u2003\u2007\u2008\u2009\u200a\u202f\u3000", " "),
        "，": ",",
        "．": ".",
        "％": "%",
        "＄": "$",
        "＋": "+",
        "⁄": "/",
    }
)


def plain(text: str) -> str:
    """Full-width, invisible and look-alike characters replaced by the ones they stand for."""
    return text if text.isascii() else text.translate(_LOOK_ALIKES)


_SEPARATOR = re.compile(r"(?<=\d)(?:,\\!\s?|\\,|\{,\}|\\!|\\ |~|')(?=\d{3}(?!\d))")
_DRESS = re.compile(
    r"\\(?:text|textbf|textit|textrm|mathbf|mathrm|mathit|mathsf|bold|boldsymbol|bm|mbox|emph|displaystyle|left|right"
    r"|bigl?|bigr?|Big|quad|qquad|(?=[()\[\],;:! ]))(?![a-zA-Z])\s*"
    r"|(?<=\\)[()\[\],;:! ]"
    r"|\\(?=[$%#&_])|[{}]"
)
_ONE = re.compile(
    r"(?P<sign>[-+]?)\s*+(?P<money>(?:[$€£¥₹]|USD|US\$|Rs\.?)?)\s*+(?P<inner>-?)"
    r"(?P<digits>(?:\d{1,3}(?:[, ]\d{3})+(?!\d)|\d+)(?:\.\d*)?|\.\d+)"
    r"(?:\s*/\s*(?P<under>\d{1,30})|[eE](?P<power>[-+]?\d{1,3}))?"
    r"(?P<tail>.*)",
    re.DOTALL,
)
_SCIENTIFIC = re.compile(r"(.+?)(?<!\s)\s*+(?:\\times|\\cdot|×|\*|x)\s*10\s*\^\s*(-?\d{1,2})(.*)", re.DOTALL)
# Words with something between them and possessive throughout: letters that could be one word or five would backtrack for hours.
_WORD = r"[^\W\d_][^\W_]*+[.²³]?+(?>(?:\^[23])?)"
_UNIT = re.compile(
    rf"(?>(?:\\?%|\^?\\circ|°|/[-–]|[$€£¥₹])*)\s*+(?>(?:{_WORD}(?>(?:[\s/-]++{_WORD}){{0,4}})[\s/-]*+)?)"
)
_CLOCK = re.compile(r"(\d{1,2}):00\s*(?:[ap]\.?\s?m\.?|o'clock)?", re.IGNORECASE)
_CHOICE = re.compile(r"\(?[A-E]\)\s*(?=[-$\d])")
# `73 (mod 1000)`, `42 (approx)`, `72 (48 + 24)`; but not `2(3)`.
_ASIDE = re.compile(r"(?<=[\d%a-z])(?:\s*\([^()]*[a-zA-Z][^()]*\)|\s+\([^()]*[-+*/×=][^()]*\))\Z")
_DECIMAL_COMMA = re.compile(r"(?<![\d,.])(\d+),(\d{1,2})(?![\d,])")


def undress(text: str) -> str:
    r"""Take Markdown emphasis, math delimiters, `\text{…}` and their like off a short text."""
    text = plain(text)
    if "\\" in text or "{" in text or "'" in text:
        text = _DRESS.sub("", _SEPARATOR.sub(",", text))
    text = text.strip(" \t\r\n*_`\"'~").rstrip(".!,;:*_`\"'~ ")
    if len(text) > 2 and text[0] + text[-1] in ("$$", "()", "[]"):
        text = text[1:-1].strip("$ ")
    return text


@lru_cache(maxsize=8192)
def number(text: str, *, units: bool = True) -> Number | None:
    """The value when the text is one number; a currency or percent sign and (`units`) words behind it are allowed."""
    if len(text) > MAX_LENGTH:
        return None
    if text.isdecimal():
        return int(text)
    bare = _ASIDE.sub("", _CHOICE.sub("", undress(text)))
    if "," in bare:
        bare = _DECIMAL_COMMA.sub(r"\1.\2", bare)
    found = _ONE.fullmatch(bare)
    if found is None:
        clock = _CLOCK.fullmatch(bare)
        return int(clock[1]) if clock else _in_words(bare)
    tail = found["tail"].strip()
    if tail and not (tail in _SIGNS or (units and _UNIT.fullmatch(tail))):
        clock = _CLOCK.fullmatch(bare)
        if clock:
            return int(clock[1])
        science = _SCIENTIFIC.fullmatch(bare)
        mantissa = number(science[1]) if science and not science[3].strip(" .") else None
        return None if mantissa is None or science is None else _simple(mantissa * Fraction(10) ** int(science[2]))
    value = value_of(found["digits"], found["under"], found["power"])
    scale = _SCALES.get(tail.partition(" ")[0].lower())
    if scale and value is not None:
        value = _simple(value * scale)
    negative = (found["sign"] == "-") != (found["inner"] == "-")
    return -value if value is not None and negative else value


def _in_words(text: str) -> Number | None:
    if len(text) > 60 or not text[:1].isalpha():
        return None
    from markscheme.marking.reading.number_words import number_from_words

    return number_from_words(text)


_SIGNS = frozenset(("%", "$", "°", "^\\circ", "^circ", "€", "£", "-", "/-"))
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_SCALE = re.compile("|".join(_SCALES), re.IGNORECASE)


def unscaled(text: str) -> Number | None:
    """Of `2 million` the 2, for a question that asks how many million; `None` where there is no such word."""
    return number(_SCALE.sub("", text)) if len(text) <= MAX_LENGTH and _SCALE.search(text) else None


def value_of(digits: str, under: str | None = None, power: str | None = None) -> Number | None:
    """The exact value of `1,234.50`, optionally over a denominator or with a power of ten."""
    whole, _, decimals = digits.replace(",", "").replace(" ", "").partition(".")
    decimals = decimals.rstrip("0")
    value: Number = int(whole + decimals or "0")
    if decimals:
        value = Fraction(value, 10 ** len(decimals))
    if power:
        value = _simple(value * Fraction(10) ** int(power))
    if under:
        return _simple(Fraction(value) / int(under)) if int(under) else None
    return value


def _simple(value: Number) -> Number:
    return value.numerator if isinstance(value, Fraction) and value.denominator == 1 else value


_RUN = frozenset("0123456789.,$")


def last_number_run(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Where the last run of digits, points, commas and dollars with a digit in it stands, its minus sign included.

    That is the last match of lm-evaluation-harness' `(-?[$0-9.,]{2,})|(-?[0-9]+)` that holds a digit, except that a
    minus between two operands (`20-5`) is no sign. Found from the end, without reading the rest.
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
    if first > start and text[first - 1] in "-−" and not (first - 1 > start and _operand(text[first - 2])):
        first -= 1
    return first, last + 1


_WINDOW = 4096
_ANY_DIGIT = re.compile(r"[0-9]")


def _last_digit(text: str, start: int, end: int) -> int:
    if not _ANY_DIGIT.search(text, start, end):
        return -1
    while not "0" <= text[end - 1] <= "9":
        end -= 1
    return end - 1


def _operand(character: str) -> bool:
    return character.isalnum() or character in ")]}$%"


def run_value(run: str) -> Number | None:
    """The value of such a run: `$1,234.` is 1234, `1.2.3` is no number."""
    digits = plain(run).replace("$", "").replace(",", "").rstrip(".")
    if len(digits) > MAX_LENGTH or digits.count(".") > 1:
        return None
    value = value_of(digits.lstrip("-"))
    return -value if value is not None and digits.startswith("-") else value
