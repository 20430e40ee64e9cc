r"""`countdown`: an equation in which every given number stands exactly once and which gives the target exactly.

Reads the expression from `<answer>`, `\boxed`, after `Answer:`, or the last line that is one.
"""

from __future__ import annotations

import re
from importlib import import_module

from markscheme.marking.boxes import last_box
from markscheme.marking.protocol import Finding, Protocol
from markscheme.marking.reading import Reading
from markscheme.marking.statements import Stated, after_answer_words
from markscheme.types import CountdownGold, Gold, Verdict

_VERDICTS = {"wrong_value": Verdict.WRONG}
_CALCULATES = re.compile(r"\d\s*\)*\s*(?:[-+*/×÷·−∕xX=]|\\times|\\div|\\cdot|\\frac)")


def find(reading: Reading) -> Stated | None:
    """The equation as it stands, from the most explicit place to the least."""
    text, start, end = reading.text, reading.start, reading.end
    close = text.rfind("</answer>", start, end)
    opened = text.rfind("<answer>", start, close if close >= 0 else end)
    if opened >= 0:
        begin = opened + len("<answer>")
        return Stated(text[begin : close if close >= 0 else end], begin, close if close >= 0 else end)
    box = last_box(text, start, end)
    if box:
        return Stated(box.content, box.start, box.end)
    stated = after_answer_words(text, start, end)
    if stated and any(character.isdigit() for character in stated.content):
        return stated
    return _last_line_that_calculates(text, start, end)


def _last_line_that_calculates(text: str, start: int, end: int) -> Stated | None:
    finish = end
    while finish > start:
        begin = max(text.rfind("\n", start, finish) + 1, start)
        line = text[begin:finish]
        if _CALCULATES.search(line):
            return Stated(line, begin, finish)
        finish = begin - 1
    return None


def judge(reading: Reading, gold: Gold) -> Finding:
    """Exact arithmetic on the expression found; the reason says what was wrong with it."""
    judge_expression = import_module("markscheme.countdown.expression").judge
    assert isinstance(gold, CountdownGold)
    stated = find(reading)
    if stated is None or not stated.content.strip():
        return Finding(Verdict.NO_ANSWER, why="no equation found")
    result = judge_expression(stated.content, gold.nums, gold.target)
    verdict = Verdict.CORRECT if result.ok else _VERDICTS.get(result.kind, Verdict.MALFORMED)
    return Finding(verdict, stated.content.strip(), result.why, (stated.start, stated.end))


PROTOCOL = Protocol(
    "countdown", "1", "every number once, + - * / and parentheses, exactly the target", "countdown", judge
)
