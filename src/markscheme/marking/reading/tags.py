"""Answers between marks made for them: `<answer>…</answer>` and the line behind `####`."""

from __future__ import annotations

import re

from markscheme.marking.reading.boxes import last_box
from markscheme.marking.reading.extracted import MAX_CONTENT, TRIES, ExtractedAnswer, trimmed


def tagged_answer(text: str, start: int, end: int) -> ExtractedAnswer | None:
    """The content of the last `<answer>…</answer>`; without one, of an `<answer>` that was left open."""
    if text.find("<", start, end) < 0:
        return None
    left_open = None
    for opened in reversed(list(_OPENING.finditer(text, max(start, end - _REACH), end))[-TRIES:]):
        limit = min(end, opened.end() + MAX_CONTENT)
        closed = text.find(f"</{opened[1]}>", opened.end(), limit)
        broken = _BROKEN.search(text, opened.end(), limit) if closed < 0 else None
        finish = closed if closed >= 0 else broken.start() if broken else limit
        if not text[opened.end() : finish].strip():
            continue
        answer = trimmed(text, opened.end(), finish, "tagged")
        if closed >= 0:
            return answer._replace(outer_end=closed + len(opened[0]) + 1)
        if opened[1] != "solution":  # which may head one
            left_open = left_open or answer._replace(outer_end=answer.end)
    return left_open


def closed_answer(text: str, start: int, end: int) -> ExtractedAnswer | None:
    """What stands on its line before a `</answer>` that was not opened."""
    closing = _CLOSING.search(text, start, end)
    if closing is None or _OPENING.search(text, 0, closing.start()):
        return None
    line = max(text.rfind("\n", start, closing.start()), text.rfind(">", start, closing.start()), start - 1) + 1
    answer = trimmed(text, line, closing.start(), "tagged")
    return answer._replace(outer_end=closing.end()) if answer.content else None


_REACH = 300_000  # how far before the end a tag may open: millions of them would each be looked at
_OPENING = re.compile(r"<(answer|ans|final_answer|Answer|ANSWER|CONCLUSION|solution)>")
_BROKEN = re.compile(r"</?[A-Za-z]{2,12}>")  # a tag in the place of the one that closes: `<answer> 20 <endthink>`
_CLOSING = re.compile(r"</(?:answer|ans)>")


def finished_answer(text: str, start: int, end: int) -> ExtractedAnswer | None:
    """What the last `Finish[…]` of a ReAct chain holds."""
    at = text.rfind("Finish[", start, end)
    if at < 0:
        return None
    closed = text.find("]", at, min(end, at + 300))
    answer = trimmed(text, at + 7, closed, "tagged") if closed > at + 7 else None
    return answer._replace(outer_end=closed + 1) if answer is not None and answer.content else None


def hashed_answer(text: str, start: int, end: int) -> ExtractedAnswer | None:
    """A value behind the last `####`, or below it; `#### Step 3: …` is a heading, not an answer."""
    stop = end
    for _ in range(TRIES):
        at = text.rfind("####", start, stop)
        if at < 0:
            return None
        value = _HASH_VALUE.match(text, at + 4, end) or _LAST_LINE.match(text, at + 4, end)
        if value is not None:
            begin = value.end()
            newline = text.find("\n", begin, min(end, begin + 200))
            finish = newline if newline >= 0 else end
            if finish - begin < 200:
                box = last_box(text, begin, finish)
                return trimmed(text, *((box.start, box.end) if box else (begin, finish)), "hashes")
        stop = at
    return None


# The last line of all, where a heading would head nothing: `#### x + 1`, `#### Yes`.
_LAST_LINE = re.compile(
    r"[ \t]{0,20}(?=(?:[Yy]es|[Nn]o|[Tt]rue|[Ff]alse|[A-Z](?:,\s?[A-Z]){1,5}|[^\n:]{0,80}[-+*/^=<>\\][^\n:]{0,80})[.\s]{0,4}\Z)"
    r"(?![ \t]{0,20}[A-Za-z]{2,20}[\s:-]{1,3}[A-Za-z]{2})"
)
_HASH_VALUE = re.compile(
    r"[ \t]{0,200}+\n?[ \t]{0,200}+(?![*_]{0,3}(?:(?:Step|Case|Part|Option|Method|Grade|Day|Phase)\b|\d{1,2}(?:st|nd|rd|th)\b|(?<=\*\*)\d{1,2}[.)]\s)|\d{1,2}[.)]\s\*\*)"
    r"(?=[*_$\\(\[{€£¥₹+\-−.]|\d|[A-Za-z](?:\s*=|\s*$))"
)
