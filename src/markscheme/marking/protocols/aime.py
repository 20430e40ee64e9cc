r"""`aime`: the integer value, 0–999, of the final answer, boxed or clearly stated; `073`, `73.0`, `73^\circ` are 73."""

from __future__ import annotations

import re

from markscheme.marking.protocol import Assessment
from markscheme.marking.protocols._numeric import by_equality, gold_number, number_in
from markscheme.marking.reading.numbers import Number, number
from markscheme.marking.reading.reader import Reading, final_answer
from markscheme.marking.reading.sections import ResponseSections
from markscheme.marking.reading.values import VALUE
from markscheme.types import Gold, Verdict

# m + n, abc, N, AB^... no power: x^2 = 73 does not say that the answer is 73.
_SUM_OF_NAMES = re.compile(r"(?=[^A-Za-z]*[A-Za-z])[\s\\A-Za-z+\-_{}\d]++")


def judge(sections: ResponseSections, gold: Gold) -> Assessment:
    """A plain integer is read at once; `72+1` and `\\frac{146}{2}` go the long way through mathematical equality."""
    reading = final_answer(sections, VALUE)
    if reading is None:
        return Assessment(Verdict.NO_ANSWER, why="no boxed or stated answer")
    right = gold_number(str(gold))
    if right is None:
        return Assessment(
            Verdict.UNMARKABLE, reading.answer, f"the gold {str(gold)[:40]!r} is not a number", reading.span
        )
    value = _value(reading)
    if value is None:
        return by_equality(reading, right)
    if value == right:
        return Assessment(Verdict.CORRECT, reading.answer, f"the answer is {value}", reading.span)
    if isinstance(value, int) and 0 <= value <= 999:
        return Assessment(Verdict.WRONG, reading.answer, f"{value} is not {right}", reading.span)
    return Assessment(
        Verdict.WRONG, reading.answer, f"{reading.answer[:40]} is not an integer from 0 to 999", reading.span
    )


def _value(reading: Reading) -> Number | None:
    if reading.parts or reading.rule != "boxed":
        return number_in(reading)
    factorial = reading.answer.endswith("!")  # outside a box it is enthusiasm
    value = None if factorial else number(reading.answer)
    if value is not None:
        return value
    left, equals, right = reading.answer.rpartition("=")
    return number(right) if equals and _SUM_OF_NAMES.fullmatch(left) else None
