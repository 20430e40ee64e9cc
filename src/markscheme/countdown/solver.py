"""Solve Countdown puzzles exactly: one solution, all essentially different ones, or the proof that there is none.

Every number is used exactly once, with + - * / and parentheses, over the rationals, without floating point or a search
limit. Two solutions are *essentially the same* if one becomes the other by laws of arithmetic that hold for all numbers:
order and grouping in sums and products, a - (b - c) = a - b + c, a / (b / c) = a * c / b,
(a - b) * (c - d) = (b - a) * (d - c), and swapping equal numbers. As formulas they are then equal (or, only for target 0,
each other's negative). So 6 * 1 and 6 / 1 are two solutions, since they are equal only for the number 1. A formula is a
solution if some way of writing it does not divide by zero.

Solutions are written without negative steps. None is missed: a negative sum can be reversed, and its sign moved outwards
until it meets another sign or the non-negative target.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from markscheme.countdown.evaluation import Column, exact_dtype, program, reached
from markscheme.countdown.forms import Solution, essence, write
from markscheme.countdown.search import Search
from markscheme.countdown.shapes import Shape, placed, shape
from markscheme.errors import UsageError

MIN_NUMBERS, MAX_NUMBERS = 2, 8
MAX_NUMBER = 10**12
_PROGRAM_SIZE = 5  # up to this size a `Program` is faster than the search; six numbers have 443,825 shapes
_BATCH_VALUES = 1 << 15  # values of a batch of puzzles, chosen to stay in the processor's cache


def solve(nums: Sequence[int], target: int, *, whole: bool = False) -> Solution | None:
    """Return a solution of the puzzle, or `None`, which proves that there is none.

    With up to five numbers it is the simplest solution, with more the first one found. With `whole`, every intermediate
    result must be a whole number.
    """
    solutions = iter_solutions(nums, target, whole=whole)
    if len(nums) <= _PROGRAM_SIZE:
        return min(solutions, key=_simplicity, default=None)
    return next(solutions, None)


def solve_all(nums: Sequence[int], target: int, *, whole: bool = False) -> list[Solution]:
    return sorted(iter_solutions(nums, target, whole=whole), key=_simplicity)


def iter_solutions(nums: Sequence[int], target: int, *, whole: bool = False) -> Iterator[Solution]:
    """Yield the essentially different solutions as the search finds them."""
    *numbers, goal = _checked(nums, target)
    return _solutions(sorted(numbers, reverse=True), goal, whole=whole)


def _solutions(ordered: list[int], target: int, *, whole: bool) -> Iterator[Solution]:
    # `ordered`, so that the solutions do not depend on the order in which the question names its numbers.
    repeated = len(set(ordered)) < len(ordered)
    seen = set()
    for hit in _hits(ordered, target):
        over_numbers = placed(hit, ordered)
        if repeated:
            _, key = essence(over_numbers)
            if key in seen:
                continue
            seen.add(key)
        solution = write(over_numbers)
        if solution.whole or not whole:
            yield solution


def solvable(nums: NDArray[np.int64], targets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which puzzles of a batch have a solution; `nums` has a puzzle in each row."""
    count, size = nums.shape
    if not count:
        return np.zeros(0, np.bool_)
    if size > _PROGRAM_SIZE:
        first_solutions = (
            next(iter_solutions(row.tolist(), int(t)), None) for row, t in zip(nums, targets, strict=True)
        )
        return np.fromiter((solution is not None for solution in first_solutions), np.bool_, count)
    dtype = exact_dtype(nums.max(axis=0).tolist(), int(targets.max()))
    columns: Column = nums.T.astype(dtype)
    goals: Column = targets.astype(dtype)
    step = max(16, _BATCH_VALUES // program(size).rows)
    batches = (slice(at, at + step) for at in range(0, count, step))
    run = program(size).run
    return np.concatenate([reached(*run(columns[:, batch]), goals[batch]).any(axis=0) for batch in batches])


def _hits(nums: list[int], target: int) -> Iterator[Shape]:
    """Yield every shape whose value is the target, up to sign."""
    if len(nums) > _PROGRAM_SIZE:
        yield from Search(nums, target).hits()
        return
    values = program(len(nums)).run(np.array(nums, exact_dtype(nums, target)))
    for number in np.flatnonzero(reached(*values, target)).tolist():
        yield shape(len(nums), number)


def _simplicity(solution: Solution) -> tuple[bool, bool, int, str]:
    return not solution.whole, solution.divides, len(solution.expression), solution.expression


def _checked(nums: Sequence[int], target: int) -> list[int]:
    """Return the numbers and, last, the target as integers in range."""
    if not MIN_NUMBERS <= len(nums) <= MAX_NUMBERS:
        raise UsageError(f"a Countdown puzzle has {MIN_NUMBERS} to {MAX_NUMBERS} numbers, not {len(nums)}")
    for number in (*nums, target):
        if not isinstance(number, int | np.integer) or not 0 <= number <= MAX_NUMBER:
            raise UsageError(f"numbers and target must be whole numbers from 0 to {MAX_NUMBER}, not {number!r}")
    return [*map(int, nums), int(target)]
