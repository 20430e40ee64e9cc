"""The comparison that the numeric protocols share: exact values, a readable reason."""

from __future__ import annotations

from functools import lru_cache

from markscheme.marking.answers import Answer
from markscheme.marking.conclusions import picked
from markscheme.marking.numbers import Number, number
from markscheme.marking.protocol import Finding
from markscheme.types import Gold, Verdict


@lru_cache(maxsize=16384)
def gold_number(gold: str) -> Number | None:
    """The value of a gold answer; GSM8K's whole solution (`… #### 18`) is read too."""
    return number(gold[gold.rfind("####") + 4 :] if "####" in gold else gold)


def number_in(text: str, answer: Answer) -> tuple[Number, Answer] | None:
    """The number an answer comes to: itself, the right-hand side of its equation, or the one its sentence means."""
    value = number(answer.content)
    if value is not None:
        return value, answer
    if "=" in answer.content:
        value = number(answer.content.rpartition("=")[2])
        if value is not None:
            return value, answer
    meant = picked(text, answer.start, answer.end)
    value = number(meant.content)
    if value is None and "=" in meant.content:
        value = number(meant.content.rpartition("=")[2])
    return None if value is None else (value, meant)


def compared(value: Number | None, content: str, span: tuple[int, int], gold: Gold) -> Finding:
    """Right when both are the same number."""
    right = gold_number(str(gold))
    if right is None:
        return Finding(Verdict.UNMARKABLE, content, f"the gold {str(gold)[:40]!r} is not a number", span)
    if value is None:
        return Finding(Verdict.WRONG, content, f"{content[:40]!r} is not a number", span)
    if value == right:
        return Finding(Verdict.CORRECT, content, f"{content[:40]} is {right}", span)
    return Finding(Verdict.WRONG, content, f"{content[:40]} is not {right}", span)
