"""The comparison that the numeric protocols share: exact values, a readable reason."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from markscheme.marking.numbers import number
from markscheme.marking.protocol import Finding
from markscheme.marking.statements import Stated
from markscheme.types import Gold, Verdict


@lru_cache(maxsize=16384)
def gold_number(gold: str) -> int | Fraction | None:
    """The value of a gold answer; GSM8K's whole solution (`… #### 18`) is read too."""
    return number(gold[gold.rfind("####") + 4 :] if "####" in gold else gold)


def compare_numbers(stated: Stated, value: int | Fraction | None, gold: Gold) -> Finding:
    """Right when both are the same number."""
    assert isinstance(gold, str)
    right = gold_number(gold)
    span = (stated.start, stated.end)
    if right is None:
        return Finding(Verdict.UNMARKABLE, stated.content, f"the gold {gold[:40]!r} is not a number", span)
    if value is None:
        return Finding(Verdict.WRONG, stated.content, f"{stated.content[:40]!r} is not a number", span)
    if value == right:
        return Finding(Verdict.CORRECT, stated.content, f"{stated.content} is {gold}", span)
    return Finding(Verdict.WRONG, stated.content, f"{stated.content} is not {gold}", span)
