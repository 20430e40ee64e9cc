r"""Numbers as people and models write them, read exactly: `$1,234.50`, `**72**`, `\$18`, `１８`, `7{,}000`, `50%`.

One number or nothing: `3 or 4` is no number. Values are `int` or `Fraction`, never floats.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

MAX_DIGITS = 1000
"""Longer digit strings are not numbers anyone states as an answer; reading them would cost quadratic time."""

_TRANSLATE = str.maketrans(
    {
        **{chr(0xFF10 + digit): str(digit) for digit in range(10)},
        **dict.fromkeys("−﹣-‐‑‒–", "-"),
        **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e\u200f", ""),
        **dict.fromkeys("\u00a0\u2007\u2008\u2009\u200a\u202f\u2002\u2003\u3000", " "),
        "，": ",",
        "．": ".",
        "％": "%",
        "＄": "$",
        "＋": "+",
        "：": ":",
    }
)


def plain(text: str) -> str:
    """Full-width, invisible and look-alike characters replaced by the ones they stand for."""
    return text if text.isascii() else text.translate(_TRANSLATE)


_SEPARATOR = re.compile(r"(?<=\d)(?:,\\!\s?|\\,|\{,\}|\\!|\\ |~|')(?=\d{3})")
_WRAP = re.compile(r"\\(?:text|textbf|mathbf|mathrm|mathit|bold|boldsymbol|mbox|textrm|displaystyle|left|right)\b\s*")
NUMBER = r"[-+]?(?:\d{1,3}(?:[, ]\d{3})+(?!\d)|\d+)(?:\.\d*)?|[-+]?\.\d+"
_ONE = re.compile(
    r"(?P<sign>[-+]?)\s*(?:[$€£¥₹]|USD|Rs\.?)?\s*(?P<number>" + NUMBER + r")"
    r"(?:\s*/\s*(?P<under>\d+))?(?:[eE](?P<exponent>[-+]?\d{1,3}))?\s*(?P<tail>.*)",
    re.DOTALL,
)


def undress(text: str) -> str:
    """Take off Markdown emphasis, math delimiters, `\\text{…}` and their like from a short text."""
    text = plain(text)
    if "\\" in text or "{" in text:
        text = _SEPARATOR.sub(",", text)
        text = _WRAP.sub("", text)
        for sign in ("\\(", "\\)", "\\[", "\\]", "{", "}", "\\!", "\\;", "\\,", "\\:"):
            text = text.replace(sign, "")
        text = text.replace("\\$", "$").replace("\\%", "%").replace("\\ ", " ")
    return text.strip(" \t\r\n*_`\"'~").rstrip(".!,;:*_` ")


@lru_cache(maxsize=4096)
def number(text: str, *, units: bool = True) -> int | Fraction | None:
    """The value when the text is one number, a currency or percent sign and (`units`) words behind it allowed."""
    if len(text) > MAX_DIGITS:
        return None
    bare = undress(text)
    if bare.startswith("$") and bare.endswith("$"):
        bare = undress(bare.strip("$"))
    found = _ONE.fullmatch(bare)
    if found is None:
        return None
    tail = found["tail"].strip(" $%*_.°")
    if tail and not (units and _UNIT.fullmatch(tail)):
        return None
    value = value_of(found["number"], found["under"], found["exponent"])
    return -value if value is not None and found["sign"] == "-" else value


_UNIT = re.compile(r"(?:\^?\\?circ\b|[^\W\d_]|[$€£¥%°/ .'²³-])+")


def value_of(digits: str, under: str | None = None, exponent: str | None = None) -> int | Fraction | None:
    """The exact value of `1,234.50`, optionally over a denominator and with a power of ten."""
    whole, _, decimals = digits.replace(",", "").replace(" ", "").partition(".")
    decimals = decimals.rstrip("0")
    value: int | Fraction = int(whole + decimals or "0") if whole not in ("", "-", "+") or decimals else 0
    if decimals:
        value = Fraction(value, 10 ** len(decimals))
    if exponent:
        value = value * Fraction(10) ** int(exponent)
    if under:
        if int(under) == 0:
            return None
        value = Fraction(value) / int(under)
    if isinstance(value, Fraction) and value.denominator == 1:
        return value.numerator
    return value


def last_number(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Where the last number of `text[start:end]` stands, its sign and currency included."""
    last = end
    while last > start and not text[last - 1].isdigit():
        last -= 1
    if last == start:
        return None
    line = max(text.rfind("\n", start, last) + 1, start, last - MAX_DIGITS)
    where = None
    for where in _IN_TEXT.finditer(text, line, end):  # noqa: B007 - the last one is what is wanted
        pass
    return where.span() if where else None


_IN_TEXT = re.compile(r"(?<![\w.])-?(?:\\?[$€£¥₹])?\d+(?:,\d{3})*(?:\.\d+)?%?|(?<!\d)\d+(?:,\d{3})*(?:\.\d+)?%?")
