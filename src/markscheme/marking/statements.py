"""An answer stated in words: "the answer is X", "Final Answer: X", "ANSWER: X", "#### X".

The last statement that has something behind it wins.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_STATED = re.compile(r"(?:answer|ANSWER|Answer)(?:\s+is\b|\s+should\s+be\b|\s*\**\s*[:：])\s*[:*\s]*", re.DOTALL)


class Stated(NamedTuple):
    """What was stated and where."""

    content: str
    start: int
    end: int


def after_hashes(text: str, start: int, end: int) -> Stated | None:
    """The rest of the line behind the last `####` that has anything behind it."""
    stop = end
    while (at := text.rfind("####", start, stop)) >= 0:
        begin = at + 4
        newline = text.find("\n", begin, end)
        finish = newline if newline >= 0 else end
        content = text[begin:finish]
        if content.strip():
            return _trimmed(text, begin, finish)
        stop = at
    return None


def after_answer_words(text: str, start: int, end: int) -> Stated | None:
    """What follows the last "answer is" or "answer:" up to the end of its line."""
    stop = end
    while stop > start:
        at = max(text.rfind("nswer", start, stop), text.rfind("NSWER", start, stop))
        if at <= start:
            return None
        stated = _STATED.match(text, at - 1, end)
        if stated:
            newline = text.find("\n", stated.end(), end)
            finish = newline if newline >= 0 else end
            if text[stated.end() : finish].strip():
                return _trimmed(text, stated.end(), finish)
        stop = at
    return None


def _trimmed(text: str, start: int, end: int) -> Stated:
    content = text[start:end]
    lead = len(content) - len(content.lstrip())
    content = content.strip()
    return Stated(content, start + lead, start + lead + len(content))
