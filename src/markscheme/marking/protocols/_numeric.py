"""The comparison that the numeric protocols share: exact values, a readable reason."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from markscheme.marking.extraction.extracted import ExtractedAnswer
from markscheme.marking.extraction.numbers import MAX_LENGTH, Number, number, undress, unscaled
from markscheme.marking.extraction.sentences import is_prose, stated_value
from markscheme.marking.protocol import Assessment
from markscheme.types import Gold, Verdict

if TYPE_CHECKING:  # reading numbers alone needs no algebra
    from markscheme.marking.equality import AnswerComparison


@lru_cache(maxsize=16384)
def gold_number(gold: str) -> Number | None:
    """The value of a gold answer; GSM8K's whole solution (`… #### 18`) is read too."""
    return number(gold[gold.rfind("####") + 4 :] if "####" in gold else gold)


def number_in(text: str, answer: ExtractedAnswer) -> tuple[Number, ExtractedAnswer] | None:
    """The number an answer comes to: itself, the plain side of its equation, or the one its sentence states."""
    value = number_or_side(answer.content)
    if value is not None:
        return value, answer
    if is_formula(answer.content):
        return None
    meant = stated_value(text, answer.start, answer.end)
    value = number_or_side(meant.content)
    return None if value is None else (value, meant)


def number_or_side(content: str) -> Number | None:
    """One number, or the plain side of an equation that has one: `9 * 2 = 18`."""
    value = number(content)
    if value is None and "=" in content:
        first, _, rest = content.partition("=")
        value = number(rest.rpartition("=")[2])
        return number(first) if value is None else value
    return value


def is_formula(content: str) -> bool:
    r"""Whether an answer is mathematics to be worked out (`\frac{84}{2}`), or two numbers (`18 or 19`), not words around one."""
    if len(content) > MAX_LENGTH:
        return False
    if _OPERATION.search(content) is not None and not is_prose(content):
        return True
    return _TWO.fullmatch(undress(content)) is not None or _DOLLARS_AND_CENTS.fullmatch(content) is not None


_OPERATION = re.compile(r"\\(?:[dt]?frac|times|cdot|sqrt|div|binom)|\d\s*[-+*/^]\s*[\d(]")
_DOLLARS_AND_CENTS = re.compile(r"\W*\d[\d,]*\s+dollars?\s+(?:and\s+)?\d+\s+cents?\W*")
_TWO = re.compile(r"\W*+[\d.,]++\s*+(?:or|and|to|[-–])\s*+\W?[\d.,]++\W*+")


MAX_COMPARED = 4_000
"""Characters of an answer that are worth comparing, nesting aside: ten thousand brackets around a 1 are still a 1."""
_NESTING = re.compile(r"[()\[\]{}]+|\\(?:frac|left|right|sqrt)(?![a-zA-Z])")


def is_endless(content: str) -> bool:
    """Whether an answer is longer than anyone states one, so that reading it would only cost time."""
    if len(content) <= MAX_COMPARED:
        return False
    unbalanced = any(content.count(opened) != content.count(closed) for opened, closed in ("()", "{}", "[]"))
    return unbalanced or len(content) > 25_000 or len(_NESTING.sub("", content)) > MAX_COMPARED


def by_equality(answer: ExtractedAnswer, right: Number) -> Assessment:
    """The verdict of mathematical equality on an answer that is no plain number."""
    from markscheme.marking.equality import compare

    if is_endless(answer.content):
        return Assessment(Verdict.WRONG, answer.content, "longer than any answer", (answer.start, answer.end))
    return judged(answer, compare(answer.content, str(right)))


def judged(answer: ExtractedAnswer, result: AnswerComparison) -> Assessment:
    """What a comparison says of an answer. One that cannot be read is wrong: the response's fault, not the marker's."""
    undecided = result.equal is None and not result.why.startswith("the answer cannot be read")
    verdict = Verdict.UNMARKABLE if undecided else Verdict.CORRECT if result.equal else Verdict.WRONG
    return Assessment(verdict, answer.content, result.why, (answer.start, answer.end), result.flags)


def compared(value: Number | None, content: str, span: tuple[int, int], gold: Gold) -> Assessment:
    """Right when both are the same number."""
    right = gold_number(str(gold))
    if right is None:
        return Assessment(Verdict.UNMARKABLE, content, f"the gold {str(gold)[:40]!r} is not a number", span)
    if value is None:
        return Assessment(Verdict.WRONG, content, f"{content[:40]!r} is not a number", span)
    if value == right or unscaled(content) == right:
        return Assessment(Verdict.CORRECT, content, f"{content[:40]} is {right}", span)
    return Assessment(Verdict.WRONG, content, f"{content[:40]} is not {right}", span)
