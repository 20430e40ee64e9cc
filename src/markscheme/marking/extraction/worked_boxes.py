r"""What a box with a whole solution in it comes to: `\boxed{6s^2=24 \Rightarrow s=2.\ \text{So the volume is }8.}`

A box holds mathematics, and is compared as it stands; only one that visibly holds working is read like a response.
"""

from __future__ import annotations

import re
from typing import Final

from markscheme.marking.extraction.conclusions import concluded_answer
from markscheme.marking.extraction.sentences import is_prose

_MAX: Final = 1_500
_WORKED: Final = re.compile(
    r"\\(?:Right|Longright)arrow|\\implies|\\therefore|\\begin\{(?:align|gather)"
    r"|\\(?:text|mbox)\s?\{[^{}]{0,200}\b(?:[Ss]o|[Tt]hus|[Tt]herefore|[Hh]ence|[Ss]ince|[Ll]et|[Tt]here)\b[^{}]{0,200}\}"
    r"|\\(?:text|mbox)\s?\{(?![^{}]*\d)[^{}]{0,200}\b(?:is|are|was|born|saves?|costs?)\b[^{}]{0,200}\}\s?\\?[$\d\\(]"
)
_DRESS: Final = re.compile(
    r"\\(?:begin|end)\{(?:align|aligned|gather|gathered)\*?\}|\\(?:text|textbf|mbox|textrm)\s?\{([^{}]*)\}|&"
)
_NEXT: Final = re.compile(r"\\\\(?:\[[\d.]{1,5}[a-z]{2}\])?|\\(?:Right|Longright)arrow|\\implies|\\therefore")
_SPACING: Final = re.compile(r"\\[,;! ]|\\q?quad(?![a-z])|~")
_NO_CONCLUSION: Final = re.compile(
    r"\\neq?\b|\\[lg]e|[<>≠≤≥?]|\b(?:if|or|when|unless|cannot|not|least|most|impossible|undefined)\b|’t|'t"
)
"""A last statement with these says something of a value, or several things."""
_UNSOLVED: Final = re.compile(r"(?<![A-Za-z\\])[a-zA-Z]\^\{?\d\}?\s?[-+]")
"""`x^2 - 5x + 6 = 0` is to be solved yet."""
_ANOTHER: Final = re.compile(r"=[^=]*[,;]\s*\\?[a-zA-Z]\w?\s*\Z")
"""`x = 3, y`: one of several unknowns."""


def worked_out(content: str) -> str | None:
    """The value in which the working in a box ends, or `None` where a box holds no working."""
    if len(content) > _MAX or not _WORKED.search(content):
        return None
    prose = _SPACING.sub(" ", _DRESS.sub(lambda dress: dress[1] or "", _NEXT.sub("\n", content))).strip()
    last = prose.rpartition("\n")[2]
    left, equals, value = last.rpartition("=")
    if _NO_CONCLUSION.search(last) or _UNSOLVED.search(left.rpartition("=")[2]) or _ANOTHER.search(left):
        return None
    if equals and not is_prose(value):
        return value.strip(" .")
    answer = concluded_answer(prose, 0, len(prose))
    several = answer is None or re.match(r"\s(?:and|to)\s\d", prose[answer.end :])
    return None if answer is None or several else answer.content
