"""Other notations of the same answer: the result of a calculation, a number without its unit, a sentence inside a
formula.
"""

from __future__ import annotations

import re
from typing import Final

from markscheme.marking.reading.quantities import is_measure
from markscheme.marking.reading.words import either

_NOTE: Final = re.compile(r"<<[^<>\n]{0,200}>>")
_EQUALS: Final = re.compile(r"(?<![<>!\\=])=(?!=)|\\approx|≈")
_UNKNOWN: Final = re.compile(r"(?<![\\a-zA-Z])[a-zA-Z](?:_\{?\w\}?)?(?![a-zA-Z])")
_TIMES: Final = re.compile(r"\d\s?x\s?\d")
_COMPUTED: Final = re.compile(r"\d[^=]{0,80}?(?:[-+*/×÷·x^(]|\\times|\\cdot|\\div|\\frac)|\\frac|\\log|\\binom")
_MEASURED: Final = re.compile(
    r"([-−]?(?:\\?[$€£¥₹])?[-−]?\d[\d,]*+(?:\.\d+)?(?:/\d+)?)\s?((?:[^\W\d_π]+|/[^\W\d_]{2,})(?:[\s/][^\W\d_]+){0,3})\.?"
)
_LONGEST: Final = 400
_WORDS_INSIDE: Final = re.compile(r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mbox|operatorname)\s?\{([^{}]*)\}")
_REMARK_INSIDE: Final = re.compile(rf"\\text\s?\{{(?!\s*{either('joins')}\s*\}})[^{{}}]*\}}")
_ROWS: Final = re.compile(r"\\begin\{[a-z]+\*?\}|\\end\{[a-z]+\*?\}|\\\\(?:\[[^\]]{0,9}\])?|&")
_ARROW: Final = re.compile(r"\\Rightarrow|\\implies|⇒")
_WORDED: Final = re.compile(r"\\text\s?\{[^{}]*[a-z]{2}")
_SENTENCE: Final = 3  # words that make a formula a sentence; fewer are a unit or a condition


def other_writing(content: str, form: str, exclaimed: bool = False) -> str | None:
    """Return the same answer in another notation: the result of a calculation, a number without its unit, `100!`."""
    if content.isdecimal():
        return content + "!" if exclaimed else None
    if len(content) > _LONGEST:
        return None
    conclusion = _conclusion(content) if form == "boxed" else None
    result = _result(conclusion or content) or conclusion
    measured = _MEASURED.fullmatch(result or content) if form != "boxed" else None
    return measured[1] if measured is not None and not is_measure(measured[2].strip(" ./")) else result


def _conclusion(content: str) -> str | None:
    r"""Return the end of a whole solution in a box: `n = 4` of `8^n = 8^4 \text{, so } \Rightarrow n = 4`."""
    if not _WORDED.search(content) or not (_ARROW.search(content) or "\\begin{aligned}" in content):
        return None
    rows = [row for row in _ROWS.sub("\n", content).split("\n") if row.strip()]
    return _REMARK_INSIDE.sub(" ", _ARROW.split(rows[-1])[-1]).strip(" .$") if rows else None


def _result(content: str) -> str | None:
    """Return the result of a calculation: 70 for `21 + 49 = 70`. `2x = 10` is an equation, and does not give 10."""
    sides = _EQUALS.split(_NOTE.sub("", content))
    if len(sides) < 2 or "," in sides[-1]:
        return None
    unknowns = set(_UNKNOWN.findall(sides[-2]))
    if _TIMES.search(sides[-2]):
        unknowns -= {"x"}
    computed = not unknowns and _COMPUTED.search(sides[-2])
    if computed or (len(unknowns) > 1 and "^" not in content) or (len(sides) > 2 and not unknowns):
        return sides[-1].strip(" $.").rstrip("\\ ")
    return None


def is_worded(content: str) -> bool:
    """True for a formula with words or an arrow in it."""
    return (_WORDED.search(content) or _ARROW.search(content)) is not None


def as_prose(content: str, *, formulas: bool) -> str:
    """Return a sentence inside a formula as prose: its words bare, its `formulas` between delimiters."""
    content = _ROWS.sub("\n", content).replace("\\;", " ").replace("\\,", " ")
    words = sum(len(words.split()) for words in _WORDS_INSIDE.findall(content))
    if not formulas or (words < _SENTENCE and not _ARROW.search(content)):
        return _WORDS_INSIDE.sub(r" \1 ", content).strip(" $")
    lines = (_WORDS_INSIDE.sub(r"$ \1 $", _ARROW.sub("$ ⇒ $", line)) for line in content.split("\n"))
    return "\n".join(f"${line}$".replace("$$", "") for line in lines)
