"""Judge an answer to a Countdown puzzle: every number exactly once, exactly the target, and a reason if not.

The input is the answer alone, not the whole response. Never raises, whatever the text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

import msgspec

from markscheme.countdown.expression import MAX_LENGTH, Expression, ExpressionError, parse

MAX_SIDES = 20
_EQUALS = re.compile("[=＝]+")
_SHOWN_FAULTS = 3
_SHOWN_DIGITS = 40


class Judgement(msgspec.Struct, frozen=True):
    """The result of judging an answer.

    `wrong` is a valid answer that misses the target. `malformed` breaks the rules: a number used twice, left out or not
    given, a forbidden operator, a division by zero, or no expression at all.
    """

    kind: Literal["correct", "wrong", "malformed"]
    why: str = ""  # empty if correct
    value: Fraction | None = None  # the value of the expression, if it has one
    expression: str = ""  # the expression in plain form

    @property
    def ok(self) -> bool:
        return self.kind == "correct"


def judge(answer: str, nums: Sequence[int], target: int) -> Judgement:
    """Judge an expression, or an equation with the target on one side, against the puzzle.

    In a chain such as `(3+5)*2 = 8*2 = 16` the answer is the first side that uses exactly the given numbers. The other sides
    must have the same value.
    """
    if len(answer) > MAX_LENGTH:
        return Judgement("malformed", f"longer than {MAX_LENGTH} characters")
    sides = _split(answer)
    if len(sides) > MAX_SIDES:
        return Judgement("malformed", f"more than {MAX_SIDES} equals signs")
    try:
        read = [parse(side) for side in sides]
    except ExpressionError as error:
        return Judgement("malformed", str(error))
    answers = [side for side in read if not _is_just(target, side)] or read
    given = sorted(nums)
    proper = next((side for side in answers if sorted(side.literals) == given), None)
    if proper is None:
        faults = _faults(answers[0].literals, nums)
        more = "; …" if len(faults) > _SHOWN_FAULTS else ""
        why = "; ".join(faults[:_SHOWN_FAULTS]) + more
        return Judgement("malformed", why, answers[0].value, str(answers[0]))
    return _judged(proper, read, target)


def literals_of_sides(answer: str) -> list[tuple[int, ...]]:
    """Return the numbers that each side of an equation uses, in order. Skip sides that are not expressions."""
    if len(answer) > MAX_LENGTH or answer.count("=") > MAX_SIDES:
        return []
    literals = []
    for side in _split(answer):
        try:
            literals.append(parse(side).literals)
        except ExpressionError:
            continue
    return literals


def strip_target_side(answer: str, target: int) -> str:
    """Remove the sides of `=` that are just the target, as from `16 = 2*(3+5)` and `2*(3+5) = 16`."""
    sides = _split(answer)
    if len(sides) > MAX_SIDES:
        return answer

    def is_kept(side: str) -> bool:
        try:
            return not _is_just(target, parse(side))
        except ExpressionError:
            return True

    # "16 = 16" becomes "16" and not an empty answer.
    return "=".join([side for side in sides if is_kept(side)] or sides[:1]).strip()


def _split(answer: str) -> list[str]:
    return [side for side in _EQUALS.split(answer) if side.strip()] or [""]


def _is_just(target: int, side: Expression) -> bool:
    return side.tree == (target if target >= 0 else ("neg", -target))


def _judged(answer: Expression, sides: list[Expression], target: int) -> Judgement:
    value, text = answer.value, str(answer)
    if value != target:
        return Judgement("wrong", f"gives {_shown(value)}, not {target}", value, text)
    for side in sides:
        if side.value != target:
            return Judgement("wrong", f"gives {target}, but says {_shown(side.value)}", value, text)
    return Judgement("correct", "", value, text)


def _faults(literals: Sequence[int], nums: Sequence[int]) -> list[str]:
    """Return what is wrong with the numbers used, in reading order."""
    used, given = Counter(literals), Counter(nums)
    faults = []
    for number, times in used.items():
        if number not in given:
            faults.append(f"{number} is not one of the numbers")
        elif times > given[number]:
            but = f", given {_times(given[number])}" if given[number] > 1 else ""
            faults.append(f"{number} used {_times(times)}{but}")
    for number, times in given.items():
        if number not in used:
            faults.append(f"{number} is not used")
        elif used[number] < times:
            faults.append(f"{number} used {_times(used[number])}, given {_times(times)}")
    return faults


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def _shown(value: Fraction) -> str:
    text = str(value)
    return text if len(text) <= _SHOWN_DIGITS else text[:_SHOWN_DIGITS] + "…"
