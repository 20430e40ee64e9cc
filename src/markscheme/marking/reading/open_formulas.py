"""Detect text that stops within a formula: an unclosed bracket, environment, dollar sign or box."""

from __future__ import annotations

import re
from typing import Final

from markscheme.marking.reading.boxes import FORGOTTEN, closing_brace

WINDOW: Final = 2_000  # characters examined at the end of a response
_WHOLE: Final = WINDOW - 100  # a longer paragraph may have begun before them
_PARAGRAPH: Final = 12_000  # longest paragraph whose dollar signs are counted
_COMMANDS: Final = (("\\(", "\\)"), ("\\[", "\\]"), ("\\begin{", "end{"))  # the backslash of the last is sometimes lost
_FEW_WORDS: Final = 4
_PRICE: Final = re.compile(r"(?:<<[^<>\n]*>>)?[-−]?[\d.,]+k?(?:\s|[.)/*x=+-]|\Z)")
_FORMULA_OPENS: Final = re.compile(r"\$[a-zA-Z\\(]")
_SPACED_FORMULA: Final = re.compile(r"\$ [a-zA-Z\\(][^$\n]{0,200} \$")
_WORD: Final = re.compile(r"[a-z]{3}")


def in_brackets(tail: str) -> bool:
    """True if a bracket or a LaTeX environment is open."""
    return any(tail.rfind(opening) > tail.rfind(closing) for opening, closing in _COMMANDS)


def in_formula(text: str, start: int, end: int, tail: str) -> bool:
    """True if a formula is open at the end of `text[start:end]`, whose last characters are `tail`.

    A tail that begins within a paragraph may begin within a formula, so the whole paragraph must be open too.
    """
    if in_brackets(tail):
        return True
    at = tail.rfind("\n\n") + 1
    if not _is_open(tail[at:]):
        return False
    if at or len(tail) < _WHOLE:
        return True
    paragraph = text[max(start, end - _PARAGRAPH) : end].rstrip()
    return _is_open(paragraph[paragraph.rfind("\n\n") + 1 :])


def _is_open(paragraph: str) -> bool:
    """True if dollar signs leave a formula open; one before a number may be a price."""
    if "$" not in paragraph:
        return False
    paragraph = paragraph.replace("$\\$$", "").replace("\\$", "")
    if paragraph.count("$$") % 2:
        return len(paragraph) <= _WHOLE or len(_WORD.findall(paragraph, paragraph.rfind("$$"))) < _FEW_WORDS
    marks = paragraph.replace("$$", "")
    rest = marks[marks.rfind("$") + 1 :]
    if marks.count("$") % 2 == 0 or not rest:
        return False
    if rest[0].isspace():
        return _SPACED_FORMULA.search(marks) is not None and not _PRICE.match(rest.lstrip())
    # An unpaired dollar before a number is a price, unless this text uses dollars for formulas and no word follows.
    return not _PRICE.match(rest) or (_FORMULA_OPENS.search(marks) is not None and not _WORD.search(rest))


def in_box(tail: str, start: int) -> bool:
    """True if the last box is unclosed at the end. A response that consists of such a box only lacks the brace."""
    opened = max(tail.rfind("\\boxed{"), tail.rfind("\\fbox{"))
    if opened < 0 or start + opened < FORGOTTEN:
        return False
    inside = tail.index("{", opened) + 1
    return closing_brace(tail, inside, len(tail)) < 0 and "\n" not in tail[opened:]
