"""Your own problems: any `.jsonl` file with `question` (or else `problem`) and `answer` on each line."""

from __future__ import annotations

from pathlib import Path

from markscheme.benchmarks import countdown, math500
from markscheme.benchmarks.base import Benchmark, Part, Row, text_field
from markscheme.types import Problem

ID_FIELDS = ("id", "unique_id", "question_id", "problem_idx")


def to_problem(index: int, row: Row) -> Problem:
    """A row with a statement and an answer; everything else is kept as metadata. Countdown rows are recognised."""
    if "nums" in row and "target" in row:
        return countdown.to_problem(index, row)
    statement, gold = text_field(row, "question", "problem"), text_field(row, "answer")
    name = next((str(row[field]) for field in ID_FIELDS if field in row), f"{index:04d}")
    shown = {"problem", "question", "answer", "solution", *ID_FIELDS}
    return Problem(
        id=name,
        statement=statement,
        # A worked solution that ends `#### N`, as GSM8K writes its answers, is judged by that last line.
        gold=gold.rpartition("####")[2].strip(),
        protocol="math",
        metadata={field: value for field, value in row.items() if field not in shown},
    )


def from_file(path: Path) -> Benchmark:
    """The benchmark of one file, asked like MATH-500 and marked with `math` unless told otherwise."""
    return Benchmark(
        name=path.stem,
        summary=f"problems of {path}",
        parts=(Part(str(path), to_problem),),
        templates=math500.TEMPLATES,
        protocol="math",
    )
