"""Whether a text stops within a formula: a bracket, an environment, a dollar or a box that it opened and did not close."""

from __future__ import annotations

import re
from typing import Final

from markscheme.marking.reading.boxes import FORGOTTEN, closing_brace

WINDOW: Final = 2_000  # characters at the end of a response that are looked at
_PARAGRAPH: Final = 12_000  # characters of one paragraph in which dollars are counted
_COMMANDS: Final = (("\\(", "\\)"), ("\\[", "\\]"), ("\\begin{", "end{"))  # the backslash of the last is lost at times
_FEW_WORDS: Final = 4


def in_brackets(tail: str) -> bool:
    """Whether a bracket or an environment of LaTeX is open."""
    return any(tail.rfind(opening) > tail.rfind(closing) for opening, closing in _COMMANDS)


def in_formula(text: str, start: int, end: int, tail: str) -> bool:
    """Whether a formula is open at the end of `text[start:end]`, whose last characters `tail` are. Where these begin within a
    paragraph they may begin within a formula, and all of it may lack a dollar: then both must say so."""
    if in_brackets(tail):
        return True
    at = tail.rfind("\n\n") + 1
    if not _is_open(tail[at:]):
        return False
    if at or len(tail) < WINDOW - 100:
        return True
    paragraph = text[max(start, end - _PARAGRAPH) : end].rstrip()
    return _is_open(paragraph[paragraph.rfind("\n\n") + 1 :])


def _is_open(paragraph: str) -> bool:
    """Whether dollars leave a formula open; one before a number may be a price."""
    paragraph = paragraph.replace("$\\$$", "").replace("\\$", "")
    if "$" not in paragraph:
        return False
    if paragraph.count("$$") % 2:
        # A paragraph that is longer than what is looked at may have opened a formula before.
        cut = len(paragraph) > WINDOW - 100
        return not cut or len(_WORD.findall(paragraph, paragraph.rfind("$$"))) < _FEW_WORDS
    marks = paragraph.replace("$$", "")
    rest = marks[marks.rfind("$") + 1 :]
    if marks.count("$") % 2 == 0 or not rest:
        return False
    if rest[0].isspace():
        return _SPACED_FORMULA.search(marks) is not None and not _PRICE.match(rest.lstrip())
    # An odd dollar with a number behind it is a price, unless dollars enclose formulas here and no word follows.
    return not _PRICE.match(rest) or (_FORMULA_OPENS.search(marks) is not None and not _WORD.search(rest))


_PRICE: Final = re.compile(r"(?:<<[^<>\n]*>>)?[-−]?[\d.,]+k?(?:\s|[.)/*x=+-]|\Z)")
_FORMULA_OPENS: Final = re.compile(r"\$[a-zA-Z\\(]")
_SPACED_FORMULA: Final = re.compile(r"\$ [a-zA-Z\\(][^$\n]{0,200} \$")
_WORD: Final = re.compile(r"[a-z]{3}")


def in_box(tail: str, start: int) -> bool:
    """Whether the last box runs to the end unclosed. A response that is nothing but such a box forgot the brace."""
    opened = max(tail.rfind("\\boxed{"), tail.rfind("\\fbox{"))
    if opened < 0 or start + opened < FORGOTTEN:
        return False
    inside = tail.index("{", opened) + 1
    return closing_brace(tail, inside, len(tail)) < 0 and "\n" not in tail[opened:]
