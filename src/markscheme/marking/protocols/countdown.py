r"""`countdown`: an equation in which every given number stands exactly once and which gives the target exactly.

The equation is read from the last `<answer>`, else the last `\boxed`, else what follows `Answer:`, else the last line
that is one. Arithmetic is exact; nothing of the response is ever evaluated as code.
"""

from __future__ import annotations

import re

from markscheme.countdown.judging import judge as judge_answer
from markscheme.marking.extraction.boxes import last_box
from markscheme.marking.extraction.extracted import ExtractedAnswer, trimmed
from markscheme.marking.extraction.marked import tagged_answer
from markscheme.marking.extraction.sections import ResponseSections
from markscheme.marking.protocol import Assessment
from markscheme.types import CountdownGold, Gold, Verdict

_OPERATOR = r"(?:[-+*/×÷·∙⋅−–∕⁄✕✖xX:^%]|\\(?:times|div|cdot|ast|over|frac))"
_CALCULATES = re.compile(rf"\d[\s)\]}}]*{_OPERATOR}[\s(\[{{]*\d|\\[dt]?frac\s*\{{?\s*[\d(]")
_SPELLING = re.compile(
    r"(?:[\d\s+*/×÷·∙⋅−–∕⁄✕✖()\[\]{}=.,^%-]|\\(?:times|div|cdot|ast|[dt]?frac|left|right|big|Big|quad|[(),;:! \[\]])(?![a-zA-Z])"
    r"|(?<=[\d)\s])[xX](?=[\s\d(]))+"
)
_ANSWER = re.compile(r"(?:answer|Answer|ANSWER)\b[*_]{0,3}\s?(?:is)?[*_\s]{0,3}[:：]?")
MAX_LENGTH = 2000
"""A longer text is no equation of a few numbers."""
_LINES = 200
"""How many lines from the end are looked at for one that is an equation."""


def find(sections: ResponseSections) -> ExtractedAnswer | None:
    """The equation, from the most explicit place that has one."""
    text, start, end = sections.text, sections.start, sections.end
    tagged = tagged_answer(text, start, end)
    if tagged is not None:
        return _equation(text, tagged.start, tagged.end) or tagged
    box = last_box(text, start, end)
    if box is not None:
        return _equation(text, box.start, box.end) or trimmed(text, box.start, box.end, "boxed")
    return _stated(text, start, end) or (None if sections.cut_off else _last_line(text, start, end))


def _stated(text: str, start: int, end: int) -> ExtractedAnswer | None:
    """What follows the last "answer" on its line, or on the next if that line ends there."""
    stop = end
    for _ in range(64):
        at = max(text.rfind(word, start, stop) for word in ("nswer", "NSWER")) - 1
        if at < start:
            return None
        stop = at + 1
        lead = _ANSWER.match(text, at, end)
        if lead is None:
            continue
        begin = lead.end()
        while begin < end and text[begin].isspace():
            begin += 1
        newline = text.find("\n", begin, end)
        found = _equation(text, begin, newline if newline >= 0 else end)
        if found is not None:
            return found
    return None


def _last_line(text: str, start: int, end: int) -> ExtractedAnswer | None:
    finish = end
    for _ in range(_LINES):
        if finish <= start:
            break
        begin = max(text.rfind("\n", start, finish) + 1, start)
        found = _equation(text, begin, finish)
        if found is not None:
            return found
        finish = begin - 1
    return None


def _equation(text: str, start: int, end: int) -> ExtractedAnswer | None:
    """The last stretch of a passage that calculates something: what is spelt with digits, operators and brackets."""
    start = max(start, end - MAX_LENGTH)
    if not _CALCULATES.search(text, start, end):
        return None
    last = None
    for stretch in _SPELLING.finditer(text, start, end):
        if _CALCULATES.search(text, *stretch.span()):
            last = stretch
    return trimmed(text, *last.span(), "stated") if last else None


def judge(sections: ResponseSections, gold: Gold) -> Assessment:
    """Exact arithmetic on the equation found; the reason says what was wrong with it."""
    assert isinstance(gold, CountdownGold)
    found = find(sections)
    if found is None:
        return Assessment(Verdict.NO_ANSWER, why="no equation found")
    result = judge_answer(found.content, gold.nums, gold.target)
    why = result.why or f"gives {gold.target}"
    return Assessment(Verdict(result.kind), found.content, why, (found.start, found.end))
