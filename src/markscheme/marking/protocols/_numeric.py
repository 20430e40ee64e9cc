"""The comparison shared by the numeric protocols: exact values and a readable reason."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from markscheme.marking.protocol import Assessment
from markscheme.marking.reading.numbers import Number, number, unscaled
from markscheme.types import Gold, Verdict

if TYPE_CHECKING:  # plain numbers need no computer algebra
    from markscheme.marking.equality import AnswerComparison
    from markscheme.marking.reading.reader import Reading

_NESTING: Final = re.compile(r"[()\[\]{}]+|\\(?:frac|left|right|sqrt)(?![a-zA-Z])")
# Longest answer that is compared, not counting nested brackets: ten thousand brackets around a 1 are still a 1.
_COMPARED, _NESTED = 4_000, 25_000


@lru_cache(maxsize=16384)
def gold_number(gold: str) -> Number | None:
    """Return the value of a gold answer; GSM8K's whole solution (`… #### 18`) is accepted too."""
    return number(gold[gold.rfind("####") + 4 :] if "####" in gold else gold)


def number_in(reading: Reading) -> Number | None:
    """Return the number in a reading: its answer, the plain side of its equation, or its other notation."""
    if reading.parts:
        values = {number_or_side(part) for part in reading.parts}
        return values.pop() if len(values) == 1 else None
    value = number_or_side(reading.answer)
    return number_or_side(reading.alternative) if value is None and reading.alternative else value


def number_or_side(content: str) -> Number | None:
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


def by_equality(reading: Reading, right: Number) -> Assessment:
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


def compared(value: Number | None, content: str, span: tuple[int, int], gold: Gold) -> Assessment:
    """Return correct if both are the same number."""
    right = gold_number(str(gold))
    if right is None:
        return Assessment(Verdict.UNMARKABLE, content, f"the gold {str(gold)[:40]!r} is not a number", span)
    if value is None:
        return Assessment(Verdict.WRONG, content, f"{content[:40]!r} is not a number", span)
    return Assessment.of(value == right or unscaled(content) == right, content, right, span, shown=content[:40])
