r"""`aime`: the integer value, 0–999, of the final answer, boxed or clearly stated; `073`, `73.0`, `73^\circ` are 73."""

from __future__ import annotations

import re

from markscheme.marking.extraction.conclusions import concluded_answer
from markscheme.marking.extraction.numbers import Number, number
from markscheme.marking.extraction.sections import Reading
from markscheme.marking.extraction.stated import Answer, explicit_answer
from markscheme.marking.protocol import Finding, Protocol
from markscheme.marking.protocols._numeric import by_equality, gold_number, number_in
from markscheme.types import Gold, Verdict


def judge(reading: Reading, gold: Gold) -> Finding:
    """A plain integer is read at once; `72+1` and `\\frac{146}{2}` go the long way through mathematical equality."""
    text = reading.text
    answer = explicit_answer(text, reading.start, reading.end)
    if answer is None and not reading.cut_off:
        answer = concluded_answer(text, reading.start, reading.end)
    if answer is None:
        return Finding(Verdict.NO_ANSWER, why="no boxed or stated answer")
    right = gold_number(str(gold))
    span = (answer.start, answer.end)
    if right is None:
        return Finding(Verdict.UNMARKABLE, answer.content, f"the gold {str(gold)[:40]!r} is not a number", span)
    value = _value(text, answer)
    if value is None:
        return by_equality(answer, right)
    if value == right:
        return Finding(Verdict.CORRECT, answer.content, f"the answer is {value}", span)
    if isinstance(value, int) and 0 <= value <= 999:
        return Finding(Verdict.WRONG, answer.content, f"{value} is not {right}", span)
    return Finding(Verdict.WRONG, answer.content, f"{answer.content[:40]} is no integer from 0 to 999", span)


# m + n, abc, N, AB^... no power: x^2 = 73 does not say that the answer is 73.
_SUM_OF_NAMES = re.compile(r"(?=[^A-Za-z]*[A-Za-z])[\s\\A-Za-z+\-_{}\d]++")


def _value(text: str, answer: Answer) -> Number | None:
    if answer.parts:
        values = {number(part) for part in answer.parts}
        return values.pop() if len(values) == 1 else None
    factorial = answer.way == "boxed" and answer.content.endswith("!")  # elsewhere it is enthusiasm
    value = None if factorial else number(answer.content)
    if value is not None:
        return value
    if answer.way != "boxed":
        found = number_in(text, answer)
        return found[0] if found else None
    left, equals, right = answer.content.rpartition("=")
    return number(right) if equals and _SUM_OF_NAMES.fullmatch(left) else None


PROTOCOL = Protocol("aime", "1", "the integer from 0 to 999 that is boxed or clearly stated", "text", judge)
