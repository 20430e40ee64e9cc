"""Read answers from explicit markers: `<answer>…</answer>`, `Finish[…]` and the line after `####`."""

from __future__ import annotations

import re
from typing import Final

from msgspec.structs import replace

from markscheme.marking.reading.boxes import MAX_CONTENT, TRIES, ExtractedAnswer, last_box, trimmed
from markscheme.marking.reading.words import either, listed, mark

_REACH: Final = 300_000  # how far from the end a tag may open, to bound the search
_OPENING: Final = re.compile(rf"<({either('answer_tags')})>")
_BROKEN: Final = re.compile(r"</?[A-Za-z]{2,12}>")  # used instead of the closing tag: `<answer> 20 <endthink>`
_CLOSING: Final = re.compile(rf"</{either('closing_tags')}>")
_HEADING_TAGS: Final = listed("heading_tags")
_FINISH: Final = mark("finish")


def tagged_answer(text: str, start: int, end: int) -> ExtractedAnswer | None:
    """Return the content of the last `<answer>…</answer>`, or of an unclosed `<answer>`."""
    if text.find("<", start, end) < 0:
        return None
    left_open = None
    for opened in reversed(list(_OPENING.finditer(text, max(start, end - _REACH), end))[-TRIES:]):
        limit = min(end, opened.end() + MAX_CONTENT)
        closed = text.find(f"</{opened[1]}>", opened.end(), limit)
        broken = _BROKEN.search(text, opened.end(), limit) if closed < 0 else None
        answer = trimmed(text, opened.end(), closed if closed >= 0 else broken.start() if broken else limit, "tagged")
        if answer.content and closed >= 0:
            return replace(answer, outer_end=closed + len(opened[0]) + 1)
        if answer.content and opened[1] not in _HEADING_TAGS:
            left_open = left_open or replace(answer, outer_end=answer.end)
    return left_open


def closed_answer(text: str, start: int, end: int) -> ExtractedAnswer | None:
    """Return the text on the same line before a `</answer>` without an opening tag."""
    closing = _CLOSING.search(text, start, end)
    if closing is None or _OPENING.search(text, 0, closing.start()):
        return None
    line = max(text.rfind("\n", start, closing.start()), text.rfind(">", start, closing.start()), start - 1) + 1
    answer = trimmed(text, line, closing.start(), "tagged")
    return replace(answer, outer_end=closing.end()) if answer.content else None


def finished_answer(text: str, start: int, end: int) -> ExtractedAnswer | None:
    """Return the content of the last `Finish[…]` of a ReAct chain."""
    at = text.rfind(_FINISH, start, end)
    begin = at + len(_FINISH)
    closed = text.find("]", begin, min(end, at + 300)) if at >= 0 else -1
    answer = trimmed(text, begin, closed, "tagged") if closed > begin else None
    return replace(answer, outer_end=closed + 1) if answer is not None and answer.content else None


# `#### 2. …`, `#### **Step 1**` and `#### 3rd case` are headings.
_HEADS: Final = re.compile(
    rf"[*_]{{0,3}}(?:{either('headings')}\b|\d{{1,2}}{either('ordinals')}\b|(?<=\*\*)\d{{1,2}}[.)]\s)|\d{{1,2}}[.)]\s\*\*"
)
_HASH_BLANKS: Final = re.compile(r"[ \t]{0,200}+\n?[ \t]{0,200}+")
_HASH_VALUE: Final = re.compile(r"[*_$\\(\[{€£¥₹+\-−.]|\d|[A-Za-z](?:\s*=|\s*$)")
# At the very end, where a heading would be empty: `#### x + 1`, `#### Yes`.
_LAST_LINE: Final = re.compile(
    rf"[ \t]{{0,20}}(?=(?:{either('hashed_words')}|[A-Z](?:,\s?[A-Z]){{1,5}}|[^\n:]{{0,80}}[-+*/^=<>\\][^\n:]{{0,80}})[.\s]{{0,4}}\Z)"
    r"(?![ \t]{0,20}[A-Za-z]{2,20}[\s:-]{1,3}[A-Za-z]{2})"
)


def hashed_answer(text: str, start: int, end: int) -> ExtractedAnswer | None:
    """Return the value after or below the last `####`; `#### Step 3: …` is a heading, not an answer."""
    stop = end
    for _ in range(TRIES):
        at = text.rfind("####", start, stop)
        if at < 0:
            return None
        begin = _hashed(text, at + 4, end)
        if begin is not None:
            newline = text.find("\n", begin, min(end, begin + 200))
            finish = newline if newline >= 0 else end
            if finish - begin < 200:
                box = last_box(text, begin, finish)
                return trimmed(text, *((box.start, box.end) if box else (begin, finish)), "hashes")
        stop = at
    return None


def _hashed(text: str, at: int, end: int) -> int | None:
    """Return the start of the value that follows `####`."""
    blanks = _HASH_BLANKS.match(text, at, end)
    begin = blanks.end() if blanks else at
    if not _HEADS.match(text, begin, end) and _HASH_VALUE.match(text, begin, end):
        return begin
    last = _LAST_LINE.match(text, at, end)
    return last.end() if last else None
