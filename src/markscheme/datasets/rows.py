"""The one form that the rows of each data set have here, whatever container or source they came from.

A row that does not fit is refused with the reason: nothing is guessed, repaired or dropped. Floats never occur.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable

from markscheme.datasets.files import Row
from markscheme.errors import DataError

AIME_PROBLEMS = 15
"""Problems in one AIME contest."""

COUNTDOWN_TEST_ROWS = 1000


def gsm8k_row(row: Row) -> Row:
    """`question` and `answer`, the latter a worked solution whose last line is `#### N`."""
    answer = _text(row, "answer")
    if not re.search(r"^#### .*\S.*\Z", answer, re.MULTILINE):
        raise ValueError("the last line of `answer` is not `#### ` and a number")
    return {"question": _text(row, "question"), "answer": answer}


def math_row(row: Row) -> Row:
    """The six fields of MATH-500."""
    texts = {field: _text(row, field) for field in ("problem", "solution", "answer", "subject", "unique_id")}
    return {**texts, "level": _integer(row, "level", 1, 5)}


def aime_row(row: Row) -> Row:
    """`problem_idx` (the number in the contest), `problem`, and `answer`, an integer; `"073"` is read as 73."""
    return {
        "problem_idx": _integer(row, "problem_idx", 1, AIME_PROBLEMS),
        "problem": _text(row, "problem"),
        "answer": _integer(row, "answer", 0, 999),
    }


def countdown_row(row: Row) -> Row:
    """`nums` (three or four positive integers) and `target`."""
    numbers = row.get("nums")
    if (
        not isinstance(numbers, list)
        or len(numbers) not in (3, 4)
        or not all(type(n) is int and n > 0 for n in numbers)
    ):
        raise ValueError(f"`nums` must be a list of 3 or 4 positive integers, not {numbers!r}")
    return {"nums": numbers, "target": _integer(row, "target", 1, None)}


def canonical(rows: Iterable[Row], form: Callable[[Row], Row], label: str) -> list[Row]:
    """Every row in its one form; `label` names the file in the sentence about a row that does not fit."""
    result = []
    for number, row in enumerate(rows, start=1):
        try:
            result.append(form(row))
        except ValueError as problem:
            raise DataError(f"{label}, row {number}: {problem}.") from problem
    return result


def all_rows(rows: list[Row]) -> list[Row]:
    """The selection for a source that holds exactly the rows wanted."""
    return rows


def first_contest(rows: list[Row]) -> list[Row]:
    """AIME I out of a set that numbers both contests of a year 1 to 30."""
    return _contest(rows, 0)


def second_contest(rows: list[Row]) -> list[Row]:
    """AIME II out of a set that numbers both contests of a year 1 to 30; its problems get their own 1 to 15 back."""
    return _contest(rows, AIME_PROBLEMS)


def countdown_test_split(rows: list[Row]) -> list[Row]:
    """The 1,000 test puzzles, drawn out of the undivided set as the author of the split drew them.

    The published recipe: seed Python's generator with 42, shuffle the row numbers, take the first 1,000.
    """
    order = list(range(len(rows)))
    random.Random(42).shuffle(order)
    return [rows[index] for index in order[:COUNTDOWN_TEST_ROWS]]


def no_more_checks(rows: list[Row]) -> None:
    """The examination of a data set whose rows are known by their hash."""


def every_puzzle_solvable(rows: list[Row]) -> None:
    """What can be said of Countdown puzzles whose hash is not known: each of them has a solution."""
    from markscheme.countdown.solver import solve

    for number, row in enumerate(rows, start=1):
        if solve(row["nums"], row["target"]) is None:
            raise ValueError(f"row {number}, {row['nums']} to {row['target']}, has no solution")


def _contest(rows: list[Row], offset: int) -> list[Row]:
    numbers = [row.get("problem_idx") for row in rows]
    if not all(type(number) is int for number in numbers):
        raise ValueError("`problem_idx` must be an integer in every row")
    # A copy that starts again at 1 for the second contest is told by its order; the answers are checked in any case.
    if numbers == 2 * list(range(1, AIME_PROBLEMS + 1)):
        return rows[offset : offset + AIME_PROBLEMS]
    chosen = [row for row in rows if offset < row["problem_idx"] <= offset + AIME_PROBLEMS]
    return [{**row, "problem_idx": row["problem_idx"] - offset} for row in sorted(chosen, key=_number)]


def _number(row: Row) -> int:
    number: int = row["problem_idx"]
    return number


def _text(row: Row, field: str) -> str:
    value = row.get(field)
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"`{field}` must be a text, not {_short(value)}")
    return value


def _integer(row: Row, field: str, low: int, high: int | None) -> int:
    value = row.get(field)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        value = int(value)
    if type(value) is not int or value < low or (high is not None and value > high):
        bounds = f"{low} to {high}" if high is not None else f"{low} or more"
        raise ValueError(f"`{field}` must be an integer, {bounds}, not {_short(value)}")
    return value


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "…"
