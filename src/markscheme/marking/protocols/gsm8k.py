r"""The protocols for plain numbers: `gsm8k-strict` (after the last `####`), `gsm8k-numeric` (the `ANSWER:` line, with
fallbacks) and `gsm8k-flexible` (the last number). All compare values, so that `18.0` and `$18` are 18.
"""

from __future__ import annotations

import re
from typing import Final

from markscheme.marking.protocol import Assessment
from markscheme.marking.protocols._numeric import by_equality, compared, gold_number, number_in, number_or_side
from markscheme.marking.reading.boxes import last_box, trimmed
from markscheme.marking.reading.numbers import last_number_run, number, run_value
from markscheme.marking.reading.reader import final_answer
from markscheme.marking.reading.sections import ResponseSections
from markscheme.marking.reading.tags import hashed_answer
from markscheme.marking.reading.values import VALUE
from markscheme.marking.reading.words import either
from markscheme.types import Gold, Verdict

# `18 dollars for 9 eggs` answers 18; `18 or 19` is ambiguous.
_FIRST: Final = re.compile(
    rf"[*_$\\(\s]*+[-+]?[$€£¥₹]?\d[\d,]*+(?>(?:\.\d*)?)(?=\s++(?!{either('between')}\b)[^\W\d_])"
)


def strict(sections: ResponseSections, gold: Gold) -> Assessment:
    """Compare the number after the last `####`; without any `####`, the entire output is the answer."""
    text, start, end = sections.text, sections.start, sections.end
    if text.find("####", start, end) < 0:
        whole = trimmed(text, start, end, "concluded")
        value = number(whole.content, units=False) if whole.content else None
        if value is None:
            return Assessment(Verdict.NO_ANSWER, why="no ####, and the output is not just a number")
        return compared(value, whole.content, (whole.start, whole.end), gold)
    found = hashed_answer(text, start, end)
    if found is None:
        return Assessment(Verdict.NO_ANSWER, why="no number after a ####")
    value = number_or_side(found.content)
    if value is None and (first := _FIRST.match(found.content)) is not None:
        value = number(first[0])
    return compared(value, found.content, (found.start, found.end), gold)


def flexible(sections: ResponseSections, gold: Gold) -> Assessment:
    r"""Compare the last number, in the last `\boxed{}` if there is one, ignoring the text around it."""
    box = last_box(sections.text, sections.start, sections.end)
    # "2:00 pm" is one number, although it ends in other digits.
    value = number(box.content) if box is not None else None
    if box is not None and value is not None:
        return compared(value, box.content, (box.start, box.end), gold)
    if box is not None and last_number_run(sections.text, box.start, box.end) is not None:
        return _last_number(sections.text, box.start, box.end, gold)
    return _last_number(sections.text, sections.start, sections.end, gold)


def numeric(sections: ResponseSections, gold: Gold) -> Assessment:
    """Compare the number that the response states or concludes, else the last number, like Inspect's numeric match."""
    reading = final_answer(sections, VALUE)
    if reading is not None:
        value = number_in(reading)
        if value is not None:
            return compared(value, reading.answer, reading.span, gold)
        right = gold_number(str(gold))
        if right is not None and any(map(str.isdigit, reading.answer)):
            return by_equality(reading, right)
    if sections.cut_off:
        return Assessment(Verdict.NO_ANSWER, why="no answer was stated")
    return _last_number(sections.text, sections.start, sections.end, gold)


def _last_number(text: str, start: int, end: int, gold: Gold) -> Assessment:
    run = last_number_run(text, start, end)
    if run is None:
        return Assessment(Verdict.NO_ANSWER, why="no number in the response")
    content = text[slice(*run)]
    return compared(run_value(content), content, run, gold)
