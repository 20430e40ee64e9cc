r"""`nanochat-aime`: nanochat's AIME tasks as they were published, for comparison: the last `\boxed{…}` as a string.

A box ends at its first closing brace, needs its brace right behind the command, and counts wherever it stands, in
thinking too.
"""

from __future__ import annotations

from markscheme.marking.extraction.sections import ResponseSections
from markscheme.marking.protocol import Assessment
from markscheme.types import Gold, Verdict

_OPEN = "\\boxed{"


def judge(sections: ResponseSections, gold: Gold) -> Assessment:
    """Only white space around the content is forgiven."""
    place = _last(sections.text)
    if place is None:
        return Assessment(Verdict.NO_ANSWER, why="no closed \\boxed{…}")
    content, right = sections.text[slice(*place)].strip(), str(gold)
    verdict, relation = (Verdict.CORRECT, "is") if content == right else (Verdict.WRONG, "is not the string")
    return Assessment(verdict, content, f"{content[:60]} {relation} {right[:60]}", place)


def _last(text: str) -> tuple[int, int] | None:
    """Boxes one after the other from the left, as a regular expression finds them; the length of the text bounds the work."""
    last, at = None, text.find(_OPEN)
    while at >= 0:
        begin = at + len(_OPEN)
        end = text.find("}", begin)
        if end < 0:
            break
        if end > begin:
            last = (begin, end)
        at = text.find(_OPEN, end if end > begin else begin)
    return last
