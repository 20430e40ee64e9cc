"""`gsm8k-strict`: the number behind the last `####`; without one, the entire output is the answer."""

from __future__ import annotations

from markscheme.marking.numbers import number
from markscheme.marking.protocol import Finding, Protocol
from markscheme.marking.protocols._numeric import compare_numbers
from markscheme.marking.reading import Reading
from markscheme.marking.statements import Stated, after_hashes
from markscheme.types import Gold, Verdict


def judge(reading: Reading, gold: Gold) -> Finding:
    """Compared as numbers, so `#### 18.0` and `#### $18` are 18."""
    stated = after_hashes(reading.text, reading.start, reading.end)
    if stated is not None:
        return compare_numbers(stated, number(stated.content), gold)
    whole = reading.final
    if not whole.strip():
        return Finding(Verdict.NO_ANSWER, why="the output is empty")
    value = number(whole, units=False)
    if value is None:
        return Finding(Verdict.NO_ANSWER, why="no #### and the output is not just a number")
    return compare_numbers(Stated(whole.strip(), reading.start, reading.end), value, gold)


PROTOCOL = Protocol("gsm8k-strict", "1", "the number after the last ####, else the entire output", "text", judge)
