r"""`countdown`: an equation that uses every given number exactly once and equals the target.

The equation is read from the last `<answer>`, else the last `\boxed`, else the text after `Answer:`, else the last
equation with exactly the given numbers. Arithmetic is exact; no part of the response is evaluated as code.
"""

from __future__ import annotations

import re
from typing import Final

from markscheme.countdown.equations import equations
from markscheme.countdown.judging import Judgement, literals_of_sides
from markscheme.countdown.judging import judge as judge_answer
from markscheme.marking.protocol import Assessment
from markscheme.marking.reading.boxes import ExtractedAnswer, last_box, trimmed
from markscheme.marking.reading.ending import breaks_off, is_cut_off
from markscheme.marking.reading.sections import ResponseSections
from markscheme.marking.reading.tags import tagged_answer
from markscheme.marking.reading.words import either, listed, mark
from markscheme.types import CountdownGold, Gold, Verdict

_ANSWER: Final = re.compile(rf"{either('answer_words')}\b[*_]{{0,3}}\s?(?:{mark('verb')})?[*_\s]{{0,3}}[:：]?\s*+")
_REJECTED: Final = re.compile(rf"(?i:\b{either('rejecting')}\b)|[≠❌✗]")
_TAILS: Final = sorted({word[1:] for word in listed("answer_words")})  # searched text
_TRIES: Final = 64
# Longest equation that is read; no puzzle needs more.
_MAX_LENGTH: Final = 25_000
_LINES: Final = 200  # lines from the end that are searched for an equation
_TRIED: Final = 3_000  # equations tried in them


def find(sections: ResponseSections, gold: CountdownGold) -> ExtractedAnswer | None:
    """Return the equation from the most explicit source in the response."""
    text, start, end = sections.text, sections.start, sections.end
    tagged = tagged_answer(text, start, end)
    box = last_box(text, tagged.start if tagged else start, tagged.end if tagged else end)
    if tagged is not None and box is None:
        return _last_equation(text, tagged.start, tagged.end) or tagged
    if box is not None:
        return _last_equation(text, box.start, box.end) or trimmed(text, box.start, box.end, "boxed")
    stated = _stated(text, start, end)
    if sections.cut_off and end == sections.sequel_end:
        return stated
    concluded = _concluded(text, stated.end if stated else start, end, gold.nums)
    if concluded is not None and (not stated or _judged(concluded, gold).ok or not breaks_off(text, start, end)):
        return concluded
    return stated or (None if is_cut_off(sections) else _concluded(text, start, end, ()))


def _judged(answer: ExtractedAnswer, gold: CountdownGold) -> Judgement:
    return judge_answer(answer.content[:_MAX_LENGTH], gold.nums, gold.target)


def _stated(text: str, start: int, end: int) -> ExtractedAnswer | None:
    """Return the equation after the last "answer" on its line, or on the next line if that one ends there."""
    stop = end
    for _ in range(_TRIES):
        at = max(text.rfind(word, start, stop) for word in _TAILS) - 1
        if at < start:
            return None
        stop = at + 1
        lead = _ANSWER.match(text, at, end)
        if lead is None:
            continue
        newline = text.find("\n", lead.end(), end)
        answer = _last_equation(text, lead.end(), newline if newline >= 0 else end)
        if answer is not None:
            return answer
    return None


def _concluded(text: str, start: int, end: int, nums: tuple[int, ...]) -> ExtractedAnswer | None:
    """Return the last equation with exactly the given numbers, or without numbers the last equation.

    So a check after the equation does not count.
    """
    finish, given, tried = end, sorted(nums), 0
    for _ in range(_LINES):
        if finish <= start:
            break
        begin = max(text.rfind("\n", start, finish) + 1, start)
        for span in equations(text, begin, finish):
            content, tried = text[slice(*span)], tried + 1
            if tried > _TRIED:
                return None
            if not given or any(sorted(literals) == given for literals in literals_of_sides(content)):
                return trimmed(text, *span, "concluded")
        finish = begin - 1
    return None


def _last_equation(text: str, start: int, end: int) -> ExtractedAnswer | None:
    span = next(equations(text, start, end), None)
    return trimmed(text, *span, "stated") if span else None


def judge(sections: ResponseSections, gold: Gold) -> Assessment:
    """Evaluate the equation exactly; the reason explains what is wrong with it."""
    assert isinstance(gold, CountdownGold)
    answer = find(sections, gold)
    if answer is None:
        return Assessment(Verdict.NO_ANSWER, why="no equation found")
    result = _judged(answer, gold)
    rejected = not result.ok or _REJECTED.search(sections.text, answer.end, sections.end)
    if rejected and answer.form == "concluded" and is_cut_off(sections):
        return Assessment(Verdict.NO_ANSWER, why="the last of several attempts")
    why = result.why or f"gives {gold.target}"
    return Assessment(Verdict(result.kind), answer.content, why, (answer.start, answer.end))
