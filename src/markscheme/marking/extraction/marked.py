"""Answers between marks made for them: `<answer>…</answer>` and the line behind `####`."""

from __future__ import annotations

import re

from markscheme.marking.extraction.boxes import last_box
from markscheme.marking.extraction.extracted import MAX_CONTENT, TRIES, ExtractedAnswer, trimmed


def tagged_answer(text: str, start: int, end: int) -> ExtractedAnswer | None:
    """The content of the last `<answer>…</answer>`, or of an `<answer>` that was left open."""
    stop = end
    for _ in range(TRIES):
        opened = text.rfind("<answer>", start, stop)
        if opened < 0:
            return None
        begin = opened + len("<answer>")
        limit = min(end, begin + MAX_CONTENT)
        closed = text.find("</answer>", begin, limit)
        finish = closed if closed >= 0 else limit
        if text[begin:finish].strip():
            return trimmed(text, begin, finish, "tagged")
        stop = opened
    return None


def hashed_answer(text: str, start: int, end: int) -> ExtractedAnswer | None:
    """A value behind the last `####`, or below it; `#### Step 3: …` is a heading, not an answer."""
    stop = end
    for _ in range(TRIES):
        at = text.rfind("####", start, stop)
        if at < 0:
            return None
        value = _HASH_VALUE.match(text, at + 4, end)
        if value is not None:
            begin = value.end()
            newline = text.find("\n", begin, min(end, begin + 200))
            finish = newline if newline >= 0 else end
            if finish - begin < 200:
                box = last_box(text, begin, finish)
                return trimmed(text, *((box.start, box.end) if box else (begin, finish)), "hashes")
        stop = at
    return None


_HASH_VALUE = re.compile(
    r"[ \t]{0,200}+\n?[ \t]{0,200}+(?![*_]{0,3}(?:(?:Step|Case|Part|Option|Method|Grade|Day|Phase)\b|\d{1,2}(?:st|nd|rd|th)\b|(?<=\*\*)\d{1,2}[.)]\s))"
    r"(?=[*_$\\(\[{€£¥₹+\-−.]|\d|[A-Za-z](?:\s*=|\s*$))"
)
