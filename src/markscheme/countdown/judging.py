"""Judges an answer to a Countdown puzzle: every number exactly once, exactly the target, and a reason if not.

It is given the answer alone; finding it in a response is the marker's business. It never raises on any text.
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
    """What became of an answer.

    `wrong` is a proper answer that misses the target; `malformed` breaks the rules of the game: a number used twice,
    left out or not given, a forbidden operator, a division by zero, or no expression at all.
    """

    kind: Literal["correct", "wrong", "malformed"]
    why: str = ""  # one clause a person can check; empty when correct
    value: Fraction | None = None  # what the expression gives, where it gives anything
    expression: str = ""  # as it was read, in plain form

    @property
    def ok(self) -> bool:
        """Whether the answer solves the puzzle."""
        return self.kind == "correct"


def judge(answer: str, nums: Sequence[int], target: int) -> Judgement:
    """Judge an expression, or an equation with the target on one side, against the puzzle.

    In a chain such as `(3+5)*2 = 8*2 = 16` the answer is the first side that uses exactly the given numbers; the
    other sides are working, and must have the same value.
    """
    if len(answer) > MAX_LENGTH:
        return Judgement("malformed", f"longer than {MAX_LENGTH} characters")
    sides = _sides(answer, target)
    if len(sides) > MAX_SIDES:
        return Judgement("malformed", f"more than {MAX_SIDES} equals signs")
    try:
        read = [parse(side) for side in sides]
    except ExpressionError as error:
        return Judgement("malformed", str(error))
    given = sorted(nums)
    chosen = next((side for side in read if sorted(side.literals) == given), read[0])
    return _judged(chosen, read, nums, target)


def strip_target_side(answer: str, target: int) -> str:
    """The answer without the sides of `=` that are just the target: `16 = 2*(3+5)` and `2*(3+5) = 16` lose the 16."""
    return "=".join(_sides(answer, target)).strip()


def _sides(answer: str, target: int) -> list[str]:
    if "=" not in answer and "＝" not in answer:
        return [answer]
    sides = [side for side in _EQUALS.split(answer) if side.strip()]
    if len(sides) > MAX_SIDES:
        return sides
    # "16 = 16" is left as "16": an answer to be judged, not nothing.
    return [side for side in sides if not _is_just(target, side)] or sides[-1:] or [""]


def _is_just(target: int, side: str) -> bool:
    try:
        tree = parse(side).tree
    except ExpressionError:
        return False
    return tree == (target if target >= 0 else ("neg", -target))


def _judged(answer: Expression, sides: list[Expression], nums: Sequence[int], target: int) -> Judgement:
    text = str(answer)
    faults = _faults(answer.literals, nums)
    if faults:
        more = "" if len(faults) <= _SHOWN_FAULTS else "; …"
        return Judgement("malformed", "; ".join(faults[:_SHOWN_FAULTS]) + more, answer.value, text)
    if answer.value != target:
        return Judgement("wrong", f"gives {_shown(answer.value)}, not {target}", answer.value, text)
    for side in sides:
        if side.value != target:
            return Judgement("wrong", f"gives {target}, but says {_shown(side.value)}", answer.value, text)
    return Judgement("correct", "", answer.value, text)


def _faults(literals: Sequence[int], nums: Sequence[int]) -> list[str]:
    """What is wrong with the numbers used, in the order a reader meets it."""
    used, given = Counter(literals), Counter(nums)
    if used == given:
        return []
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
