"""What `nano` is taught: Countdown puzzles with their working, as rows of tokens.

The first lessons go straight to a solution. The later ones are searches: attempts that fail, then one that succeeds.
In a failed attempt only the arithmetic and the giving up are taught, not the choice of the steps, which was no good.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from markscheme.countdown.expression import Tree, parse
from markscheme.countdown.generator import Demand, generate
from markscheme.countdown.solver import iter_solutions
from markscheme.nano import tokenizer
from markscheme.types import CountdownGold

LONGEST = 224  # tokens of the longest lesson
ENDLESS = 10_000_000  # puzzles asked of the generator: more than any training takes
AGAIN = "?"  # written behind an attempt that failed, as behind the question

Step = tuple[int, str, int, int]  # `a sign b = c`
Batch = tuple[np.ndarray, np.ndarray]  # token rows, and the mask of those that the model is taught to write


class Written(NamedTuple):
    """Steps as words, which of the words are choices, and the equation that they make."""

    words: list[str]
    chosen: list[bool]
    equation: str


class Lessons:
    """An endless supply of puzzles, each once, with one of their solutions drawn by chance."""

    def __init__(self, seed: int, excluded: list[CountdownGold], share_of_four: float) -> None:
        self._random = random.Random(seed)
        self._share_of_four = share_of_four
        self._three, self._four = (
            self._solved(generate(ENDLESS, Demand(sizes=(size, size)), seed=seed, exclude=excluded)) for size in (3, 4)
        )

    def direct(self, size: int) -> Batch:
        """`size` puzzles with nothing but their solution."""
        rows = []
        for _ in range(size):
            puzzle, solution = self._next()
            rows.append((question(puzzle), [(word, True) for word in solution]))
        return as_batch(rows)

    def searching(self, tokens: int) -> Batch:
        """Searches of about the same length, which is drawn anew for each batch, with `tokens` in all."""
        length = self._random.randrange(44, LONGEST + 1, 4)
        rows = []
        for _ in range(tokens // length):
            puzzle, solution = self._next()
            asked = question(puzzle)
            told: list[tuple[str, bool]] = []
            while True:
                failure = self._failure(puzzle)
                if len(asked) + len(told) + len(failure) + len(solution) > length:
                    break
                told += failure
            rows.append((asked, [*told, *((word, True) for word in solution)]))
        return as_batch(rows)

    def _next(self) -> tuple[CountdownGold, list[str]]:
        return next(self._four if self._random.random() < self._share_of_four else self._three)

    def _solved(self, puzzles: Iterator[CountdownGold]) -> Iterator[tuple[CountdownGold, list[str]]]:
        for puzzle in puzzles:
            solutions = [solution.expression for solution in iter_solutions(puzzle.nums, puzzle.target, whole=True)]
            self._random.shuffle(solutions)
            for solution in solutions:
                steps = worked(parse(solution).tree)
                if steps is not None:
                    told = write(puzzle.nums, steps)
                    yield puzzle, [*told.words, "<answer>", *told.equation.split(), "</answer>", "<eos>"]
                    break

    def _failure(self, puzzle: CountdownGold) -> list[tuple[str, bool]]:
        """Steps drawn by chance that miss the target."""
        while True:
            steps = self._drawn(list(puzzle.nums))
            if steps[-1][3] != puzzle.target:
                told = write(puzzle.nums, steps)
                pairs = [(word, not chosen) for word, chosen in zip(told.words, told.chosen, strict=True)]
                return [*pairs, (AGAIN, True)]

    def _drawn(self, left: list[int]) -> list[Step]:
        steps = []
        while len(left) > 1:
            b, a = sorted(left.pop(self._random.randrange(len(left))) for _ in range(2))
            step = None
            while step is None:
                step = combined(a, b, self._random.choices("+-*/", (7, 8, 3, 2))[0])
            steps.append(step)
            left.append(step[3])
        return steps


def combined(a: int, b: int, sign: str) -> Step | None:
    """One step on two numbers, a ≥ b, unless it leaves the numbers that `nano` can say."""
    if sign == "/":
        return (a, "/", b, a // b) if b and a % b == 0 else None
    c = a + b if sign == "+" else a - b if sign == "-" else a * b
    return (a, sign, b, c) if c <= tokenizer.LARGEST else None


def worked(tree: Tree) -> list[Step] | None:
    """The steps that evaluate an expression, or nothing if one leaves the numbers that `nano` can say."""
    steps: list[Step] = []

    def value(node: Tree) -> int:
        if isinstance(node, int):
            return node
        if len(node) == 2:
            raise ValueError("a solution is written without negative steps")
        sign, left, right = node
        a, b = value(left), value(right)
        c = a + b if sign == "+" else a - b if sign == "-" else a * b if sign == "*" else a // b
        steps.append((a, sign, b, c))
        return c

    value(tree)
    return steps if all(0 <= step[3] <= tokenizer.LARGEST for step in steps) else None


def write(numbers: tuple[int, ...], steps: list[Step]) -> Written:
    """Each step and what is left behind it: `70 + 35 = 105 , 41 18 105 ; …`."""
    left = [(number, str(number)) for number in numbers]
    words: list[str] = []
    chosen: list[bool] = []
    for a, sign, b, c in steps:
        first = left.pop(next(i for i, (value, _) in enumerate(left) if value == a))
        second = left.pop(next(i for i, (value, _) in enumerate(left) if value == b))
        left.append((c, f"( {first[1]} {sign} {second[1]} )"))
        rest = [",", *(str(value) for value, _ in left), ";"] if len(left) > 1 else []
        words += [str(a), sign, str(b), "=", str(c), *rest]
        chosen += [True] * 3 + [False] * (2 + len(rest))
    return Written(words, chosen, left[0][1][2:-2])


def question(puzzle: CountdownGold) -> list[str]:
    """`<bos> 41 70 18 35 > 46 ?`"""
    return ["<bos>", *map(str, puzzle.nums), ">", str(puzzle.target), "?"]


def as_batch(rows: list[tuple[list[str], list[tuple[str, bool]]]]) -> Batch:
    """Questions, which are given, and what follows them, as arrays."""
    width = max(len(asked) + len(told) for asked, told in rows)
    tokens = np.full((len(rows), width), tokenizer.PAD, dtype=np.int64)
    taught = np.zeros((len(rows), width), dtype=bool)
    for index, (asked, told) in enumerate(rows):
        end = len(asked) + len(told)
        tokens[index, :end] = [tokenizer.ID[word] for word in (*asked, *(word for word, _ in told))]
        taught[index, len(asked) : end] = [flag for _, flag in told]
    return tokens, taught
