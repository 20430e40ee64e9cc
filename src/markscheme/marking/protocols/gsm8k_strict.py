"""`gsm8k-strict`: the number behind the last `####`; without any `####`, the entire output is the answer."""

from __future__ import annotations

import re

from markscheme.marking.extraction.extracted import trimmed
from markscheme.marking.extraction.marked import hashed_answer
from markscheme.marking.extraction.numbers import number
from markscheme.marking.extraction.sections import ResponseSections
from markscheme.marking.protocol import Assessment
from markscheme.marking.protocols._numeric import compared, number_or_side
from markscheme.types import Gold, Verdict


def judge(sections: ResponseSections, gold: Gold) -> Assessment:
    """Compared as numbers, so that `#### 18.0` and `#### $18` are 18."""
    text, start, end = sections.text, sections.start, sections.end
    if text.find("####", start, end) < 0:
        whole = trimmed(text, start, end, "concluded")
        value = number(whole.content, units=False) if whole.content else None
        if value is None:
            return Assessment(Verdict.NO_ANSWER, why="no ####, and the output is not just a number")
        return compared(value, whole.content, (whole.start, whole.end), gold)
    found = hashed_answer(text, start, end)
    if found is None:
        return Assessment(Verdict.NO_ANSWER, why="no number behind a ####")
    value = number_or_side(found.content)
    if value is None and (first := _FIRST.match(found.content)) is not None:
        value = number(first[0])
    return compared(value, found.content, (found.start, found.end), gold)


# `18 dollars for 9 eggs` answers 18; `18 or 19` does not say which.
_FIRST = re.compile(r"[*_$\\(\s]*+[-+]?[$€£¥₹]?\d[\d,]*+(?>(?:\.\d*)?)(?=\s++(?!(?:or|and|to)\b)[^\W\d_])")
