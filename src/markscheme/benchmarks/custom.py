"""Your own problems: any `.jsonl` file with `question` (or else `problem`) and `answer` on each line."""

from __future__ import annotations

from pathlib import Path

import msgspec

from markscheme.benchmarks import countdown, math500
from markscheme.benchmarks.base import Benchmark, Part, Row, text_field
from markscheme.types import Problem

ID_FIELDS = ("id", "unique_id", "question_id", "problem_idx")


def to_problem(index: int, row: Row) -> Problem:
    """A row with a statement and an answer; everything else is kept as metadata. Countdown rows are recognised."""
    if "nums" in row and "target" in row:
        return countdown.to_problem(index, row)
    statement, gold = text_field(row, "question", "problem"), text_field(row, "answer")
    name = next((str(row[field]) for field in ID_FIELDS if row.get(field) is not None), f"{index:04d}")
    shown = {"problem", "question", "answer", "solution", *ID_FIELDS}
    solution = row.get("solution")
    return Problem(
        id=name,
        statement=statement,
        # A worked solution that ends `#### N`, as GSM8K writes its answers, is judged by that last line.
        gold=gold.rpartition("####")[2].strip(),
        protocol="math",
        solution=solution if isinstance(solution, str) else None,
        metadata={field: value for field, value in row.items() if field not in shown},
    )


def from_file(path: Path) -> Benchmark:
    """The benchmark of one file: puzzles are asked and marked as Countdown, everything else as MATH-500."""
    puzzles = _holds_puzzles(path)
    return Benchmark(
        name=path.stem,
        summary=f"problems of {path}",
        parts=(Part(str(path), to_problem),),
        templates=countdown.TEMPLATES if puzzles else math500.TEMPLATES,
        protocol="countdown" if puzzles else "math",
    )


def _holds_puzzles(path: Path) -> bool:
    """Whether the first line is a Countdown puzzle. A file that cannot be read is complained of when it is loaded."""
    try:
        with path.open("rb") as lines:
            row = msgspec.json.decode(next(lines, b""))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return isinstance(row, dict) and "nums" in row and "target" in row
