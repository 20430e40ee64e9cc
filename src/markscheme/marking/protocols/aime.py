r"""`aime`: the integer value, 0–999, of the final answer, boxed or clearly stated; `073`, `73.0`, `73^\circ` are 73."""

from __future__ import annotations

import re

from markscheme.marking.extraction.answer_forms import extract_answer
from markscheme.marking.extraction.extracted import ExtractedAnswer
from markscheme.marking.extraction.numbers import Number, number
from markscheme.marking.extraction.sections import ResponseSections
from markscheme.marking.protocol import Assessment
from markscheme.marking.protocols._numeric import by_equality, gold_number, number_in
from markscheme.types import Gold, Verdict


def judge(sections: ResponseSections, gold: Gold) -> Assessment:
    """A plain integer is read at once; `72+1` and `\\frac{146}{2}` go the long way through mathematical equality."""
    text = sections.text
    answer = extract_answer(sections)
    if answer is None:
        return Assessment(Verdict.NO_ANSWER, why="no boxed or stated answer")
    right = gold_number(str(gold))
    span = (answer.start, answer.end)
    if right is None:
        return Assessment(Verdict.UNMARKABLE, answer.content, f"the gold {str(gold)[:40]!r} is not a number", span)
    value = _value(text, answer)
    if value is None:
        return by_equality(answer, right)
    if value == right:
        return Assessment(Verdict.CORRECT, answer.content, f"the answer is {value}", span)
    if isinstance(value, int) and 0 <= value <= 999:
        return Assessment(Verdict.WRONG, answer.content, f"{value} is not {right}", span)
    return Assessment(Verdict.WRONG, answer.content, f"{answer.content[:40]} is no integer from 0 to 999", span)


# m + n, abc, N, AB^... no power: x^2 = 73 does not say that the answer is 73.
_SUM_OF_NAMES = re.compile(r"(?=[^A-Za-z]*[A-Za-z])[\s\\A-Za-z+\-_{}\d]++")


def _value(text: str, answer: ExtractedAnswer) -> Number | None:
    if answer.parts:
        values = {number(part) for part in answer.parts}
        return values.pop() if len(values) == 1 else None
    factorial = answer.form == "boxed" and answer.content.endswith("!")  # elsewhere it is enthusiasm
    value = None if factorial else number(answer.content)
    if value is not None:
        return value
    if answer.form != "boxed":
        found = number_in(text, answer)
        return found[0] if found else None
    left, equals, right = answer.content.rpartition("=")
    return number(right) if equals and _SUM_OF_NAMES.fullmatch(left) else None
