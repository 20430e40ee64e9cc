r"""`normalized`: the last `\boxed{}` without common LaTeX markers and whitespace, lower-cased, compared as strings.

Without a box, an output that consists of the answer counts too.
"""

from __future__ import annotations

import re
from functools import lru_cache

from markscheme.marking.protocol import Assessment
from markscheme.marking.reading.boxes import last_box
from markscheme.marking.reading.numbers import plain
from markscheme.marking.reading.sections import ResponseSections
from markscheme.types import Gold, Verdict

_MARKERS = re.compile(
    r"(\\\\)"  # a row separator, kept: the space after it is whitespace, not the `\ ` removed below
    r"|\\(?:left|right|displaystyle|text|textbf|textit|textrm|mathrm|mathbf|mbox|bigl?|bigr?|limits)(?![a-zA-Z])"
    r"|\\[!,;: ]|\\\(|\\\)|\\\[|\\\]|[$\s]"
)


def normalize(text: str) -> str:
    """Return the string that is compared."""
    text = _MARKERS.sub(r"\1", plain(text)).replace("\\dfrac", "\\frac").replace("\\tfrac", "\\frac")
    return text.rstrip(".").lower()


# Only golds are cached: they are few and recur, unlike responses.
_normalized_gold = lru_cache(maxsize=16384)(normalize)


def judge(sections: ResponseSections, gold: Gold) -> Assessment:
    r"""Compare the strings without any mathematics: `0.5` is not `\frac{1}{2}` here."""
    assert isinstance(gold, str)
    box = last_box(sections.text, sections.start, sections.end)
    if box is None:
        return _whole(sections, gold)
    same = normalize(box.content) == _normalized_gold(gold)
    return Assessment.of(same, box.content, gold[:60], (box.start, box.end))


def _whole(sections: ResponseSections, gold: str) -> Assessment:
    """Return an output without a box that consists of the answer. Only a short text can."""
    whole = sections.final.strip()
    bare = whole and not sections.cut_off and len(whole) <= 4 * len(gold) + 40
    if bare and normalize(whole) == _normalized_gold(gold):
        start = sections.text.index(whole, sections.start)
        return Assessment(Verdict.CORRECT, whole, f"the whole output is {gold[:60]}", (start, start + len(whole)))
    return Assessment(Verdict.NO_ANSWER, why="no \\boxed, and the whole output is not the answer")
