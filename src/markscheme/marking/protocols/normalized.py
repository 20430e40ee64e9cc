r"""`normalized`: the last `\boxed{}`, common LaTeX markers and whitespace removed, lower-cased, compared as strings.

Without a box, an output that is nothing but the answer counts too.
"""

from __future__ import annotations

import re
from functools import lru_cache

from markscheme.marking.boxes import last_box
from markscheme.marking.numbers import plain
from markscheme.marking.protocol import Finding, Protocol
from markscheme.marking.reading import Reading
from markscheme.types import Gold, Verdict

_MARKERS = re.compile(
    r"\\(?:left|right|displaystyle|text|textbf|textit|textrm|mathrm|mathbf|mbox|bigl?|bigr?|limits)(?![a-zA-Z])"
    r"|\\[!,;: ]|\\\(|\\\)|\\\[|\\\]|[$\s]"
)


@lru_cache(maxsize=16384)
def normalize(text: str) -> str:
    """The string that is compared."""
    text = _MARKERS.sub("", plain(text)).replace("\\dfrac", "\\frac").replace("\\tfrac", "\\frac")
    return text.rstrip(".").lower()


def judge(reading: Reading, gold: Gold) -> Finding:
    """No mathematics: `0.5` is not `\\frac{1}{2}` here."""
    assert isinstance(gold, str)
    box = last_box(reading.text, reading.start, reading.end)
    if box is None:
        return _whole(reading, gold)
    same = normalize(box.content) == normalize(gold)
    verdict, relation = (Verdict.CORRECT, "is") if same else (Verdict.WRONG, "is not")
    return Finding(verdict, box.content, f"{box.content[:60]} {relation} {gold[:60]}", (box.start, box.end))


def _whole(reading: Reading, gold: str) -> Finding:
    """Short texts only: a long one is no bare answer, and would fill the cache of `normalize`."""
    whole = reading.final.strip()
    if whole and not reading.cut_off and len(whole) <= 4 * len(gold) + 40 and normalize(whole) == normalize(gold):
        start = reading.text.index(whole, reading.start)
        return Finding(Verdict.CORRECT, whole, f"the whole output is {gold[:60]}", (start, start + len(whole)))
    return Finding(Verdict.NO_ANSWER, why="no \\boxed, and the whole output is not the answer")


PROTOCOL = Protocol("normalized", "1", "the last box, LaTeX markers and spaces removed, equal strings", "text", judge)
