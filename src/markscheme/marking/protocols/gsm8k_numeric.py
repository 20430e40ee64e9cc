r"""`gsm8k-numeric`: the `ANSWER: N` line as a number; without one, the number that the response gives as its answer.

The fallbacks are those of Inspect's numeric match (the last number), made as a person would make them: a box, `####`
or "the answer is" first, and in a closing sentence with several numbers the one that was worked out.
"""

from __future__ import annotations

from markscheme.marking.extraction.answer_forms import NUMERIC_FORMS, explicit_answer, implied_answer
from markscheme.marking.extraction.extracted import ExtractedAnswer
from markscheme.marking.extraction.numbers import last_number_run, run_value
from markscheme.marking.extraction.sections import ResponseSections
from markscheme.marking.protocol import Assessment
from markscheme.marking.protocols._numeric import by_equality, compared, gold_number, is_formula, number_in
from markscheme.types import Gold, Verdict


def judge(sections: ResponseSections, gold: Gold) -> Assessment:
    """The most explicit place that holds a number decides."""
    text, start, end = sections.text, sections.start, sections.end
    stated = explicit_answer(text, start, end, NUMERIC_FORMS)
    found = _of(text, stated, gold) if stated else None
    if found is None and sections.cut_off:
        return Assessment(Verdict.NO_ANSWER, why="no answer was stated")
    if found is None:
        concluded = implied_answer(sections)
        found = _of(text, concluded, gold) if concluded else None
    if found is not None:
        return found
    run = last_number_run(text, start, end)
    if run is None:
        return Assessment(Verdict.NO_ANSWER, why="no number in the response")
    content = text[slice(*run)]
    return compared(run_value(content), content, run, gold)


def _of(text: str, answer: ExtractedAnswer, gold: Gold) -> Assessment | None:
    """The verdict on an answer that comes to a number, plain or worked out; `None` for mere words."""
    found = number_in(text, answer)
    if found is not None:
        value, meant = found
        return compared(value, meant.content, (meant.start, meant.end), gold)
    right = gold_number(str(gold))
    return by_equality(answer, right) if right is not None and is_formula(answer.content) else None
