"""MATH-500: competition mathematics with answers of every form, from integers to matrices."""

from __future__ import annotations

from markscheme.benchmarks.base import Benchmark, Part, Row, text_field
from markscheme.prompts import Template
from markscheme.types import Problem

TEMPLATES = {
    "boxed": Template(
        summary="step by step, answer in \\boxed{}",
        user="{statement}\n\nReason step by step, and put your final answer within \\boxed{}.",
    ),
    "bare": Template(summary="the statement and nothing else", user="{statement}"),
}


def to_problem(index: int, row: Row) -> Problem:
    """A row with `problem`, `answer`, and where known `solution`, `subject`, `level`, `unique_id`."""
    known = ("subject", "level", "kind")
    return Problem(
        id=str(row.get("unique_id", f"{index:04d}")),
        statement=text_field(row, "problem"),
        gold=text_field(row, "answer"),
        protocol="math",
        solution=row.get("solution"),
        metadata={name: row[name] for name in known if name in row},
    )


MATH500 = Benchmark(
    name="math500",
    summary="500 competition problems, seven subjects, five levels",
    parts=(Part("math500/test.jsonl", to_problem),),
    templates=TEMPLATES,
    protocol="math",
)

MATH_SAMPLE = Benchmark(
    name="math-sample",
    summary="original problems with every kind of answer that MATH-500 has, offline",
    parts=(Part("math-sample", to_problem, packaged=True),),
    templates=TEMPLATES,
    protocol="math",
)
