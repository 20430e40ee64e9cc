r"""The protocols for plain numbers: `gsm8k-strict` (after the last `####`), `gsm8k-numeric` (the `ANSWER:` line, with
fallbacks), `gsm8k-flexible` (the last number) and `aime` (an integer from 0 to 999, boxed or clearly stated).

All compare values, so that `18.0` and `$18` are 18, and `073`, `73.0`, `73^\circ` are 73.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from markscheme.marking.protocol import Assessment
from markscheme.marking.reading.boxes import last_box, trimmed
from markscheme.marking.reading.numbers import Number, last_number_run, number, run_value, unscaled
from markscheme.marking.reading.reader import Reading, final_answer
from markscheme.marking.reading.sections import ResponseSections
from markscheme.marking.reading.tags import hashed_answer
from markscheme.marking.reading.values import VALUE
from markscheme.marking.reading.words import either
from markscheme.types import Gold, Verdict

if TYPE_CHECKING:  # plain numbers need no computer algebra
    from markscheme.marking.equality import AnswerComparison

_NESTING: Final = re.compile(r"[()\[\]{}]+|\\(?:frac|left|right|sqrt)(?![a-zA-Z])")
# Longest answer that is compared, not counting nested brackets: ten thousand brackets around a 1 are still a 1.
_COMPARED, _NESTED = 4_000, 25_000
# `18 dollars for 9 eggs` answers 18; `18 or 19` is ambiguous.
_FIRST: Final = re.compile(
    rf"[*_$\\(\s]*+[-+]?[$€£¥₹]?\d[\d,]*+(?>(?:\.\d*)?)(?=\s++(?!{either('between')}\b)[^\W\d_])"
)
# m + n, abc, N, AB^... but not a power: x^2 = 73 does not mean that the answer is 73.
_SUM_OF_NAMES: Final = re.compile(r"(?=[^A-Za-z]*[A-Za-z])[\s\\A-Za-z+\-_{}\d]++")


def strict(sections: ResponseSections, gold: Gold) -> Assessment:
    """Compare the number after the last `####`; without any `####`, the entire output is the answer."""
    text, start, end = sections.text, sections.start, sections.end
    if text.find("####", start, end) < 0:
        whole = trimmed(text, start, end, "concluded")
        value = number(whole.content, units=False) if whole.content else None
        if value is None:
            return Assessment(Verdict.NO_ANSWER, why="no ####, and the output is not just a number")
        return _compared(value, whole.content, (whole.start, whole.end), gold)
    found = hashed_answer(text, start, end)
    if found is None:
        return Assessment(Verdict.NO_ANSWER, why="no number after a ####")
    value = _number_or_side(found.content)
    if value is None and (first := _FIRST.match(found.content)) is not None:
        value = number(first[0])
    return _compared(value, found.content, (found.start, found.end), gold)


def flexible(sections: ResponseSections, gold: Gold) -> Assessment:
    r"""Compare the last number, in the last `\boxed{}` if there is one, ignoring the text around it."""
    box = last_box(sections.text, sections.start, sections.end)
    # "2:00 pm" is one number, although it ends in other digits.
    value = number(box.content) if box is not None else None
    if box is not None and value is not None:
        return _compared(value, box.content, (box.start, box.end), gold)
    if box is not None and last_number_run(sections.text, box.start, box.end) is not None:
        return _last_number(sections.text, box.start, box.end, gold)
    return _last_number(sections.text, sections.start, sections.end, gold)


def numeric(sections: ResponseSections, gold: Gold) -> Assessment:
    """Compare the number that the response states or concludes, else the last number, like Inspect's numeric match."""
    reading = final_answer(sections, VALUE)
    if reading is not None:
        value = _number_in(reading)
        if value is not None:
            return _compared(value, reading.answer, reading.span, gold)
        right = gold_number(str(gold))
        if right is not None and any(map(str.isdigit, reading.answer)):
            return _by_equality(reading, right)
    if sections.cut_off:
        return Assessment(Verdict.NO_ANSWER, why="no answer was stated")
    return _last_number(sections.text, sections.start, sections.end, gold)


def _last_number(text: str, start: int, end: int, gold: Gold) -> Assessment:
    run = last_number_run(text, start, end)
    if run is None:
        return Assessment(Verdict.NO_ANSWER, why="no number in the response")
    content = text[slice(*run)]
    return _compared(run_value(content), content, run, gold)


def aime(sections: ResponseSections, gold: Gold) -> Assessment:
    r"""Compare a plain integer directly; `72+1` and `\frac{146}{2}` need mathematical equality."""
    reading = final_answer(sections, VALUE)
    if reading is None:
        return Assessment(Verdict.NO_ANSWER, why="no boxed or stated answer")
    answer, span, right = reading.answer, reading.span, gold_number(str(gold))
    if right is None:
        return Assessment(Verdict.UNMARKABLE, answer, f"the gold {str(gold)[:40]!r} is not a number", span)
    value = _integer(reading)
    if value is None:
        return _by_equality(reading, right)
    if value == right:
        return Assessment(Verdict.CORRECT, answer, f"the answer is {value}", span)
    fits = isinstance(value, int) and 0 <= value <= 999
    why = f"{value} is not {right}" if fits else f"{answer[:40]} is not an integer from 0 to 999"
    return Assessment(Verdict.WRONG, answer, why, span)


def _integer(reading: Reading) -> Number | None:
    if reading.parts or reading.rule != "boxed":
        return _number_in(reading)
    value = None if reading.answer.endswith("!") else number(reading.answer)  # outside a box, `!` is enthusiasm
    left, equals, right = reading.answer.rpartition("=")
    return number(right) if value is None and equals and _SUM_OF_NAMES.fullmatch(left) else value


@lru_cache(maxsize=16384)
def gold_number(gold: str) -> Number | None:
    """Return the value of a gold answer; GSM8K's whole solution (`… #### 18`) is accepted too."""
    return number(gold[gold.rfind("####") + 4 :] if "####" in gold else gold)


def _number_in(reading: Reading) -> Number | None:
    """Return the number in a reading: its answer, the plain side of its equation, or its other notation."""
    if reading.parts:
        values = {_number_or_side(part) for part in reading.parts}
        return values.pop() if len(values) == 1 else None
    value = _number_or_side(reading.answer)
    return _number_or_side(reading.alternative) if value is None and reading.alternative else value


def _number_or_side(content: str) -> Number | None:
    """Return a single number, or the plain side of an equation: `9 * 2 = 18`."""
    value = number(content)
    if value is None and "=" in content:
        first, _, rest = content.partition("=")
        value = number(rest.rpartition("=")[2])
        return number(first) if value is None else value
    return value


def is_endless(content: str) -> bool:
    """True for an answer that is too long to be a real one, and would only take time to read."""
    if len(content) <= _COMPARED:
        return False
    unbalanced = any(content.count(opened) != content.count(closed) for opened, closed in ("()", "{}", "[]"))
    return unbalanced or len(content) > _NESTED or len(_NESTING.sub("", content)) > _COMPARED


def _by_equality(reading: Reading, right: Number) -> Assessment:
    """Compare an answer that is not a plain number by mathematical equality."""
    from markscheme.marking.equality import compare

    if is_endless(reading.answer):
        return Assessment(Verdict.WRONG, reading.answer, "longer than any answer", reading.span)
    result = compare(reading.answer, str(right))
    if not result.equal and reading.alternative and (other := compare(reading.alternative, str(right))).equal:
        result = other
    return judged(reading, result)


def judged(reading: Reading, result: AnswerComparison) -> Assessment:
    """Return the verdict of a comparison. An unreadable answer is wrong, not unmarkable."""
    undecided = result.equal is None and not result.why.startswith("the answer cannot be read")
    verdict = Verdict.UNMARKABLE if undecided else Verdict.CORRECT if result.equal else Verdict.WRONG
    return Assessment(verdict, reading.answer, result.why, reading.span, result.flags)


def _compared(value: Number | None, content: str, span: tuple[int, int], gold: Gold) -> Assessment:
    """Return correct if both are the same number."""
    right = gold_number(str(gold))
    if right is None:
        return Assessment(Verdict.UNMARKABLE, content, f"the gold {str(gold)[:40]!r} is not a number", span)
    if value is None:
        return Assessment(Verdict.WRONG, content, f"{content[:40]!r} is not a number", span)
    return Assessment.of(value == right or unscaled(content) == right, content, right, span, shown=content[:40])
