"""AIME: two contests a year of fifteen problems, every answer an integer from 0 to 999."""

from __future__ import annotations

from collections.abc import Callable

from markscheme.benchmarks.base import Benchmark, Part, Row, text_field
from markscheme.prompts import Template
from markscheme.types import Problem

TEMPLATES = {
    "boxed": Template(
        summary="step by step, integer 0–999 in \\boxed{}",
        user=(
            "{statement}\n\nReason step by step. The answer is an integer from 0 to 999; "
            "put it, and nothing else, within \\boxed{}."
        ),
    ),
    "bare": Template(summary="the statement and nothing else", user="{statement}"),
}


def _reader(contest: str, part: str | None) -> Callable[[int, Row], Problem]:
    def to_problem(index: int, row: Row) -> Problem:
        """A row with `problem_idx`, `problem` and an integer `answer`."""
        gold = int(text_field(row, "answer"))
        if not 0 <= gold <= 999:
            raise ValueError(f"answer {gold} is not an integer from 0 to 999")
        number = row.get("problem_idx", index + 1)
        prefix = contest if part is None else f"{contest}-{part}"
        return Problem(
            id=str(row.get("id", f"{prefix}-{number}")),
            statement=text_field(row, "problem"),
            gold=str(gold),
            protocol="aime",
            metadata={} if part is None else {"part": part},
        )

    return to_problem


def _contest(year: int, *parts: str) -> Benchmark:
    whole = len(parts) > 1
    return Benchmark(
        name=f"aime-{year}" if whole else f"aime-{year}-{parts[0]}",
        summary=f"AIME {year}, both contests, 30 problems" if whole else f"AIME {year} {parts[0]}, 15 problems",
        parts=tuple(Part(f"aime{year}/{part}.jsonl", _reader(str(year), part)) for part in parts),
        templates=TEMPLATES,
        protocol="aime",
    )


CONTESTS = tuple(_contest(year, *parts) for year in (2024, 2025) for parts in (("I",), ("II",), ("I", "II")))

AIME_SAMPLE = Benchmark(
    name="aime-sample",
    summary="original problems with integer answers from 0 to 999, offline",
    parts=(Part("aime-sample", _reader("sample", None), packaged=True),),
    templates=TEMPLATES,
    protocol="aime",
)
