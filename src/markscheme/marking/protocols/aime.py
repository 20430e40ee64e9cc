r"""`aime`: the integer value, 0–999, of the final answer, boxed or clearly stated; `073`, `73.0`, `73^\circ` are 73."""

from __future__ import annotations

from markscheme.marking.boxes import last_box
from markscheme.marking.numbers import number
from markscheme.marking.protocol import Finding, Protocol
from markscheme.marking.protocols._numeric import compare_numbers
from markscheme.marking.reading import Reading
from markscheme.marking.statements import Stated, after_answer_words, after_hashes
from markscheme.types import Gold, Verdict


def judge(reading: Reading, gold: Gold) -> Finding:
    """The last box, else the last stated answer."""
    text, start, end = reading.text, reading.start, reading.end
    box = last_box(text, start, end)
    stated = Stated(box.content, box.start, box.end) if box else None
    stated = stated or after_hashes(text, start, end) or after_answer_words(text, start, end)
    if stated is None:
        return Finding(Verdict.NO_ANSWER, why="no boxed or stated answer")
    value = number(stated.content.rpartition("=")[2])
    if value is None or (isinstance(value, int) and not 0 <= value <= 999):
        return Finding(Verdict.MALFORMED, stated.content, "not an integer from 0 to 999", (stated.start, stated.end))
    return compare_numbers(stated, value, gold)


PROTOCOL = Protocol("aime", "1", "the integer 0-999 boxed or clearly stated", "text", judge)
