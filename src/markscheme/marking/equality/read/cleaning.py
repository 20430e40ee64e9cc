"""Clean up spelling: from Unicode, Markdown, maths delimiters and separators to plain LaTeX or ASCII.

The meaning never changes here: `10,\\!080` becomes `10080`, but `10,080` stays, since it may be a list.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from fractions import Fraction
from pathlib import Path
from typing import Final

_SUPERSCRIPTS: Final = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿⁱ", "0123456789+-()ni", strict=True))
_SUBSCRIPTS: Final = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋₍₎ₙ", "0123456789+-()n", strict=True))
_FRACTIONS: Final = {c: Fraction(unicodedata.numeric(c)).limit_denominator(10) for c in "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅐⅛⅜⅝⅞⅑⅒"}
_CHARACTERS: Final = tomllib.loads(Path(__file__).with_name("characters.toml").read_text("utf-8"))
_TABLE: Final = {
    **{ord(c): text for text, characters in _CHARACTERS["symbols"].items() for c in characters},
    **{ord(c): f"\\{name} " for name, c in _CHARACTERS["greek"].items()},
    **{ord(k): rf"\frac{{{v.numerator}}}{{{v.denominator}}}" for k, v in _FRACTIONS.items()},
    **{ord(c): None for c in _CHARACTERS["dropped"]["invisible"]},
}
# No letter has more combining marks, and sorting thousands of them takes quadratic time.
_MARKS: Final = re.compile("[\u0300-\u036f]{9,}")
_NATIVE_DIGIT: Final = re.compile(r"[^\D0-9]")
_RAISED: Final = re.compile("[" + "".join(_SUPERSCRIPTS) + "]+")
_LOWERED: Final = re.compile("[" + "".join(_SUBSCRIPTS) + "]+")
_THOUSANDS: Final = re.compile(r"(?<=\d)(?:,\s*\\!\s*|\{,\}\s*|\\[,;:! ]\s*|~|')(?=\d{3}(?!\d))")
_MONEY: Final = re.compile(r"(?<=\\\$)\s?\d{1,3}(?:,(?:\\[,;:! ]|\s)+\d{3}(?!\d))+")  # \$15,\,400 is not a list
_LOSS: Final = re.compile(r"(?<![\w)])[△▲]\s?(?=[¥￥$]?\s?[\d.０-９])")  # minus in Japanese accounts
_PADDED_COMMA: Final = re.compile(
    r"[-+]?\s?\\?\$?\s?(?:\\text\{ [a-z ]{1,20}\}\s?)?(?:0|(\d{1,3}(?:\.\d{3})+|\d+)(?!,\d{3}\b)),(?=0\d)\d+(?:[^\d,.;].*)?"
)
_DECIMAL_COMMA: Final = re.compile(r"(?<=\d)\{,\}(?=\d)")
_EMPTY_DELIMITER: Final = re.compile(r"\\(?:left|right)\s*\.")
_TEXT_SIGN: Final = re.compile(r"\\(?:text|mathrm|mbox)\s*\{\s*\\([$%]|(?:text)?dollar)\s*\}")
_BARRED: Final = re.compile(r"\\(?:overline|bar)\s?\{\s?([a-zA-Z]{1,3})\s?\}")
_REPEATING: Final = re.compile(r"(?<!\d)(\d{0,30})\.(\d{0,30})\\(?:overline|bar|dot)\s*\{\s*(\d{1,30})\s*\}")
_TRAILING_DOTS: Final = re.compile(r"(?<!\d)(\d{0,30})\.(\d{0,30}?)(\d)\3{2,60}\s*(?:\.\.\.|\\(?:l|c)?dots)")
_LETTER_TIMES: Final = re.compile(r"(?<=\d)\s*[xX]\s*(?=10\s*(?:\^|\*\*))")
_TIMES_AS_UNIT: Final = re.compile(r"(?<=\d)\s+times\Z")
_INCHES: Final = re.compile(r'(?<=\d)\s?"(?!\w)')
_PER: Final = re.compile(r"(?<=\d)\s+an?\s+(?=[a-z]{3})")
_CURRENCY_CODE: Final = re.compile(r"\b(?:USD?|Rs|[SAC]|HK|NZ|AU|CA)(?:\s?(?=\\?\$(?:\d|\Z))|(?<=Rs)\.\s?(?=\d))")
_AND_ITS_PARTS: Final = re.compile(
    r"(\d\s(?:hours?|hrs?|minutes?|days?|weeks?|years?|feet|foot|pounds?)),?\sand\s(?=\d+(?:\.\d+)?\s[a-z]+\.?\Z)"
)
_SYSTEM: Final = re.compile(
    r"\\left\s*\\\{\s*\\begin\{(array|aligned|matrix|gathered)\}(?:\{[lcr|\s]*\})?(.*?)\\end\{\1\}\s*\\right\s*\.",
    re.DOTALL,
)
_REPEATED_DOTS: Final = re.compile(r"(?<!\d)(\d{0,30})\.(\d{0,10}?)(\d{2,3})\3{1,20}\s*(?:\.\.\.|\\(?:l|c)?dots)")
_COORDINATE: Final = r"-?(?:\d[\d./]*(?:\\sqrt\{\d+\})?|\\[dt]?frac\{-?\d+\}\{\d+\}|\\sqrt\{\d+\})"
_ANGLES: Final = re.compile(rf"<\s*({_COORDINATE}(?:\s*,\s*{_COORDINATE})+)\s*>")
_LIBRARY: Final = re.compile(r"(?<![A-Za-z])(?:np|numpy|math|sp|sympy)\.(?=[a-z])")
_BARE_POINT: Final = re.compile(r"(?<=\d)\.(?=\s?[-+*/^)])")
_PRIME: Final = r"(?:\^\{?\s?\\prime\s?\}?|')"
_MINUTES: Final = re.compile(
    rf"(\d{{1,9}})\s?\^\s?\{{?\s?\\circ\s?\}}?\s?(\d{{1,9}}(?:\.\d{{1,9}})?)\s?{_PRIME}"
    rf"(?:\s?(\d{{1,9}}(?:\.\d{{1,9}})?)\s?(?:\^\{{?\s?\\prime\s?\\prime\s?\}}?|''))?"
)
_TOKENISED: Final = re.compile(r"[a-z^_}] \{ [^{}]* \}")
_TOKENISED_DIGITS: Final = re.compile(r"(?<=[\d.]) (?=[\d.])")
_TWO_DIGITS: Final = re.compile(r"\d\d")
_DOLLARS: Final = re.compile(r"(?<!\\)\$")
_BETWEEN_STATEMENTS: Final = re.compile(r"\$\s*\n\s*\$|\\q?quad(?![a-zA-Z])")
_WIDE: Final = re.compile(r"\s{2,}|[^\S ]")
_UNESCAPED: Final = re.compile(
    r"\f(?=rac)|[\b](?=eta|inom|ar\{)|\t(?=ext|imes|heta|frac|an\b|au\b)|\r(?=ight|ho)|\n(?=eq\b)"
)
# `\frac` and `\text` of which the first two characters were decoded as an escape: a form feed and `rac`, a tab and `ext`.
_ESCAPES: Final = {"\f": "\\f", "\b": "\\b", "\t": "\\t", "\r": "\\r", "\n": "\\n"}
_FINAL: Final = ".,;:\\"
_WRAPPERS: Final = (
    ("\\(", "\\)"),
    ("\\[", "\\]"),
    ("\\boxed{", "}"),
    *((mark, mark) for mark in ("**", "__", "*", "`", '"', "'")),
    ("“", "”"),
)


def clean(text: str) -> str:
    """Return the answer in plain LaTeX, without delimiters around it or a full stop after it."""
    if not text.isascii():
        text = _to_ascii(text)
    if ("\n" in text or "quad" in text) and text.count("=") > 1 and "\\begin" not in text:
        text = _BETWEEN_STATEMENTS.sub(", ", text)  # y_1 = x \quad y_2 = 3
    if not text.isprintable():
        text = _WIDE.sub(" ", _UNESCAPED.sub(lambda m: _ESCAPES[m[0]], text))
    elif "  " in text:
        text = _WIDE.sub(" ", text)
    if "\\displaystyle" in text:
        text = text.replace("\\displaystyle", "")
    if "\\right" in text:
        text = _SYSTEM.sub(r"\\begin{cases}\2\\end{cases}", text)  # before the point of `\right.` is removed
    text = strip_wrappers(text)
    if " { " in text and _TOKENISED.search(text) and not _TWO_DIGITS.search(text):
        text = _TOKENISED_DIGITS.sub("", text)  # \frac { 7 } { 1 5 }, as some corpora write it
    if "10" in text and ("x" in text or "X" in text):
        text = _LETTER_TIMES.sub(r"\\times ", text)  # 6.72 x 10^{-5}
    if text.endswith("times"):
        text = _TIMES_AS_UNIT.sub("", text)
    if '"' in text or " a" in text:
        text = _PER.sub(" per ", _INCHES.sub(r"\\text{ inches}", text))  # 67", $2 a serving
    if "$" in text or "Rs" in text:
        text = _CURRENCY_CODE.sub("", text)
    if " and " in text:
        text = _AND_ITS_PARTS.sub(r"\1 ", text)  # 1 hour and 15 minutes
    if "\\\\" in text:
        text = _single_backslashes(text)
    if "\\" in text or "{,}" in text or "~" in text or "'" in text:
        text = _THOUSANDS.sub("", text)
        text = _DECIMAL_COMMA.sub(".", text)
        text = _EMPTY_DELIMITER.sub("", text)
        text = _TEXT_SIGN.sub(r"\\\1 ", text)
        text = _BARRED.sub(r"\1_{BAR}", text)  # a name of its own: neither x nor the product AB
        if "." in text and ("{" in text or "dots" in text):
            text = _REPEATING.sub(_repeating_decimal, text)
            text = _REPEATED_DOTS.sub(_repeating_decimal, _TRAILING_DOTS.sub(_repeating_decimal, text))
    elif "..." in text:
        text = _REPEATED_DOTS.sub(_repeating_decimal, _TRAILING_DOTS.sub(_repeating_decimal, text))
    if ",0" in text and _PADDED_COMMA.fullmatch(text):
        text = text.replace(".", "").replace(",", ".")  # 5,00: no number of a list is written 00
    if "$" in text and "," in text:
        text = _MONEY.sub(lambda m: "".join(c for c in m[0] if c.isdigit()), text)
    if "." in text:
        text = _LIBRARY.sub("", _BARE_POINT.sub("", text))  # np.sqrt(2), 1./3
    if "*\\" in text:
        text = text.replace("*\\degree", "\\degree")
    if " & " in text and "\\" not in text and "=" not in text:
        text = text.replace(" & ", " and ")  # 1 & 3
    if "circ" in text and ("'" in text or "prime" in text):
        text = _MINUTES.sub(_in_degrees, text)
    if "<" in text and "," in text:
        text = _ANGLES.sub(r"\\langle \1\\rangle ", text)  # <1, -2, 3>
    return text


def _to_ascii(text: str) -> str:
    text = _LOSS.sub("-", text)
    text = _RAISED.sub(lambda m: "^{" + "".join(_SUPERSCRIPTS[c] for c in m[0]) + "}", text)
    text = _LOWERED.sub(lambda m: "_{" + "".join(_SUBSCRIPTS[c] for c in m[0]) + "}", text)
    text = _MARKS.sub("", text).translate(_TABLE)
    # Full-width digits and letters, ligatures, mathematical alphabets: all compatibility forms of plain ones.
    text = unicodedata.normalize("NFKC", text).translate(_TABLE)
    return text if text.isascii() else _NATIVE_DIGIT.sub(lambda m: str(unicodedata.decimal(m[0])), text)


def strip_wrappers(text: str) -> str:
    """Remove maths delimiters, Markdown emphasis, quotes and final punctuation around the whole."""
    while True:
        before = text
        text = text.strip()
        if text[-1:] in _FINAL and not text.endswith("..."):
            text = text.rstrip(_FINAL + " \t\r\n")
        for left, right in _WRAPPERS:
            if text.startswith(left) and text.endswith(right) and len(text) > len(left) + len(right):
                inner = text[len(left) : -len(right)]
                if left not in inner and right not in inner:
                    text = inner
        if text == before:
            break
    if "$" in text:
        marks = len(_DOLLARS.findall(text))
        # A pair delimits maths; a single one is money.
        text = _DOLLARS.sub("" if marks % 2 == 0 else r"\\$", text).rstrip(" .")
    return text.strip() if text[:1].isspace() or text[-1:].isspace() else text


def _single_backslashes(text: str) -> str:
    r"""Undo doubled backslashes (`\\frac`), except where `\\` separates the rows of a matrix."""
    if "\\\\begin" in text:
        return text.replace("\\\\", "\\")
    return text if "\\begin" in text else text.replace("\\\\", "\\")


def _in_degrees(m: re.Match[str]) -> str:
    return rf"({m[1]}+\frac{{{m[2]}}}{{60}}+\frac{{{m[3] or 0}}}{{3600}})^\circ "


def _repeating_decimal(m: re.Match[str]) -> str:
    whole, start, period = m[1] or "0", m[2], m[3]
    below = (10 ** len(period) - 1) * 10 ** len(start)
    above = int(whole + start + period) - int(whole + start)
    return f"(\\frac{{{above}}}{{{below}}})"
