r"""`gsm8k-numeric`: the `ANSWER: N` line, compared as numbers; else `\boxed`, `####`, "the answer is", the last number."""

from __future__ import annotations

from markscheme.marking.boxes import last_box
from markscheme.marking.numbers import last_number, number
from markscheme.marking.protocol import Finding, Protocol
from markscheme.marking.protocols._numeric import compare_numbers
from markscheme.marking.reading import Reading
from markscheme.marking.statements import Stated, after_answer_words, after_hashes
from markscheme.types import Gold, Verdict


def judge(reading: Reading, gold: Gold) -> Finding:
    """The first place, from the most to the least explicit, that holds a number."""
    text, start, end = reading.text, reading.start, reading.end
    box = last_box(text, start, end)
    places = (
        Stated(box.content, box.start, box.end) if box else None,
        after_hashes(text, start, end),
        after_answer_words(text, start, end),
    )
    for place in places:
        if place is not None and (value := number(place.content)) is not None:
            return compare_numbers(place, value, gold)
    where = last_number(text, start, end)
    if where is None:
        return Finding(Verdict.NO_ANSWER, why="no number in the response")
    stated = Stated(text[where[0] : where[1]], *where)
    return compare_numbers(stated, number(stated.content), gold)


PROTOCOL = Protocol("gsm8k-numeric", "1", "the ANSWER: line as a number, with the usual fallbacks", "text", judge)
