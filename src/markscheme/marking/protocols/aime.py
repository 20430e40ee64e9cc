r"""`aime`: the integer value, 0–999, of the final answer, boxed or clearly stated; `073`, `73.0`, `73^\circ` are 73."""

from __future__ import annotations

import re
from typing import Final

from markscheme.marking.protocol import Assessment
from markscheme.marking.protocols._numeric import by_equality, gold_number, number_in
from markscheme.marking.reading.numbers import Number, number
from markscheme.marking.reading.reader import Reading, final_answer
from markscheme.marking.reading.sections import ResponseSections
from markscheme.marking.reading.values import VALUE
from markscheme.types import Gold, Verdict

# m + n, abc, N, AB^... but not a power: x^2 = 73 does not mean that the answer is 73.
_SUM_OF_NAMES: Final = re.compile(r"(?=[^A-Za-z]*[A-Za-z])[\s\\A-Za-z+\-_{}\d]++")


def judge(sections: ResponseSections, gold: Gold) -> Assessment:
    r"""Compare a plain integer directly; `72+1` and `\frac{146}{2}` need mathematical equality."""
    reading = final_answer(sections, VALUE)
    if reading is None:
        return Assessment(Verdict.NO_ANSWER, why="no boxed or stated answer")
    answer, span, right = reading.answer, reading.span, gold_number(str(gold))
    if right is None:
        return Assessment(Verdict.UNMARKABLE, answer, f"the gold {str(gold)[:40]!r} is not a number", span)
    value = _value(reading)
    if value is None:
        return by_equality(reading, right)
    if value == right:
        return Assessment(Verdict.CORRECT, answer, f"the answer is {value}", span)
    fits = isinstance(value, int) and 0 <= value <= 999
    why = f"{value} is not {right}" if fits else f"{answer[:40]} is not an integer from 0 to 999"
    return Assessment(Verdict.WRONG, answer, why, span)


def _value(reading: Reading) -> Number | None:
    if reading.parts or reading.rule != "boxed":
        return number_in(reading)
    value = None if reading.answer.endswith("!") else number(reading.answer)  # outside a box, `!` is enthusiasm
    left, equals, right = reading.answer.rpartition("=")
    return number(right) if value is None and equals and _SUM_OF_NAMES.fullmatch(left) else value
