r"""`gsm8k-numeric`: the `ANSWER: N` line as a number; without one, the number that the response gives as its answer.

The fallbacks are those of Inspect's numeric match (the last number), made as a person would make them: a box, `####`
or "the answer is" first, and in a closing sentence with several numbers the one that was worked out.
"""

from __future__ import annotations

from markscheme.marking.extraction.conclusions import concluded_answer
from markscheme.marking.extraction.numbers import last_number_run, run_value
from markscheme.marking.extraction.sections import Reading
from markscheme.marking.extraction.stated import Answer, explicit_answer
from markscheme.marking.protocol import Finding, Protocol
from markscheme.marking.protocols._numeric import by_equality, compared, gold_number, is_formula, number_in
from markscheme.types import Gold, Verdict


def judge(reading: Reading, gold: Gold) -> Finding:
    """The most explicit place that holds a number decides."""
    text, start, end = reading.text, reading.start, reading.end
    stated = explicit_answer(text, start, end)
    found = _of(text, stated, gold) if stated else None
    if found is None and reading.cut_off:
        return Finding(Verdict.NO_ANSWER, why="no answer was stated")
    if found is None:
        concluded = concluded_answer(text, start, end)
        found = _of(text, concluded, gold) if concluded else None
    if found is not None:
        return found
    run = last_number_run(text, start, end)
    if run is None:
        return Finding(Verdict.NO_ANSWER, why="no number in the response")
    content = text[slice(*run)]
    return compared(run_value(content), content, run, gold)


def _of(text: str, answer: Answer, gold: Gold) -> Finding | None:
    """The verdict on an answer that comes to a number, plain or worked out; `None` for mere words."""
    found = number_in(text, answer)
    if found is not None:
        value, meant = found
        return compared(value, meant.content, (meant.start, meant.end), gold)
    right = gold_number(str(gold))
    return by_equality(answer, right) if right is not None and is_formula(answer.content) else None


PROTOCOL = Protocol("gsm8k-numeric", "1", "the ANSWER: line as a number, with the usual fallbacks", "text", judge)
