r"""`boxed-exact`: the content of the last `\boxed{…}` is, character for character, the gold integer."""

from __future__ import annotations

from markscheme.marking.extraction.boxes import last_box
from markscheme.marking.extraction.sections import Reading
from markscheme.marking.protocol import Finding, Protocol
from markscheme.types import Gold, Verdict


def judge(reading: Reading, gold: Gold) -> Finding:
    """Only spaces around the content are forgiven: `073`, `73.0` and `73^\\circ` are not 73 here."""
    text = reading.text
    box = last_box(text, reading.start, reading.end)
    if box is None or not text.startswith("\\boxed", box.outer_start) or box.outer_end == box.end:
        return Finding(Verdict.NO_ANSWER, why="no closed \\boxed{…}")
    content, right = box.content.strip(), str(gold).strip()
    if right.isdecimal():
        right = str(int(right)) if content != right else right
    same = content == right
    verdict, relation = (Verdict.CORRECT, "is") if same else (Verdict.WRONG, "is not the string")
    return Finding(verdict, content, f"{content[:60]} {relation} {right[:60]}", (box.start, box.end))


PROTOCOL = Protocol("boxed-exact", "1", "the last \\boxed{} is exactly the gold integer", "text", judge)
