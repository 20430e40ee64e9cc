r"""`gsm8k-flexible`: the last number of the response (inside the last `\boxed{}` if it has one), compared as a number."""

from __future__ import annotations

from markscheme.marking.extraction.boxes import last_box
from markscheme.marking.extraction.numbers import last_number_run, number, run_value
from markscheme.marking.extraction.sections import ResponseSections
from markscheme.marking.protocol import Assessment
from markscheme.marking.protocols._numeric import compared
from markscheme.types import Gold, Verdict


def judge(sections: ResponseSections, gold: Gold) -> Assessment:
    """What stands behind the last number does not matter, nor what the sentence around it says."""
    text = sections.text
    box = last_box(text, sections.start, sections.end)
    run = None
    if box is not None:
        value = number(box.content)  # "2:00 pm" is one number, though its last digits are another
        if value is not None:
            return compared(value, box.content, (box.start, box.end), gold)
        run = last_number_run(text, box.start, box.end)
    run = run or last_number_run(text, sections.start, sections.end)
    if run is None:
        return Assessment(Verdict.NO_ANSWER, why="no number in the response")
    content = text[slice(*run)]
    return compared(run_value(content), content, run, gold)
