r"""`boxed-exact`: the content of the last `\boxed{…}` is, character for character, the gold integer."""

from __future__ import annotations

from markscheme.marking.extraction.boxes import last_box
from markscheme.marking.extraction.sections import ResponseSections
from markscheme.marking.protocol import Assessment
from markscheme.types import Gold, Verdict


def judge(sections: ResponseSections, gold: Gold) -> Assessment:
    """Only spaces around the content are forgiven: `073`, `73.0` and `73^\\circ` are not 73 here."""
    text = sections.text
    box = last_box(text, sections.start, sections.end)
    if box is None or not text.startswith("\\boxed", box.outer_start) or box.outer_end == box.end:
        return Assessment(Verdict.NO_ANSWER, why="no closed \\boxed{…}")
    content, right = box.content.strip(), str(gold).strip()
    if right.isdecimal():
        right = str(int(right)) if content != right else right
    same = content == right
    verdict, relation = (Verdict.CORRECT, "is") if same else (Verdict.WRONG, "is not the string")
    return Assessment(verdict, content, f"{content[:60]} {relation} {right[:60]}", (box.start, box.end))
