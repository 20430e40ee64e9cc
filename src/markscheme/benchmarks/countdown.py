"""Countdown: combine three or four numbers, each exactly once, to hit a target.

    numbers 41, 70, 18, 35   target 46   one solution: 70 + 35 - 41 - 18

Any solution is right, so the gold is the puzzle itself.
"""

from __future__ import annotations

from markscheme.benchmarks.base import Benchmark, Part, Row
from markscheme.prompts import Template
from markscheme.types import CountdownGold, Problem

STATEMENT = (
    "Given the numbers {numbers}, how can you use each number exactly once with basic arithmetic operations "
    "(+, -, *, /) to reach the target {target}?"
)

TEMPLATES = {
    "plain": Template(summary="the question, then `Answer:`; suits base models", user="{statement}\nAnswer:"),
    "instruct": Template(
        summary="asks for reasoning and <answer>…</answer>; suits instruction-tuned models",
        user=(
            "{statement}\n\n"
            "Work it out step by step. Then give one equation inside <answer> </answer> tags, "
            "for example <answer>(1 + 2) * 3</answer>."
        ),
    ),
}


def to_problem(index: int, row: Row) -> Problem:
    """A row `{"nums": [...], "target": N}`."""
    nums, target = row["nums"], row["target"]
    if not isinstance(nums, list) or not nums or not all(type(number) is int for number in (*nums, target)):
        raise ValueError("nums must be a list of whole numbers, and target one")
    statement = STATEMENT.format(numbers=", ".join(map(str, nums)), target=target)
    return Problem(
        id=str(row["id"]) if row.get("id") is not None else f"{index:04d}",
        statement=statement,
        gold=CountdownGold(nums=tuple(nums), target=target),
        protocol="countdown",
        metadata={"numbers": len(nums)},
    )


COUNTDOWN = Benchmark(
    name="countdown",
    summary="3–4 numbers, one target; official test split of 1,000",
    parts=(Part("countdown/test.jsonl", to_problem),),
    templates=TEMPLATES,
    protocol="countdown",
)

COUNTDOWN_SAMPLE = Benchmark(
    name="countdown-sample",
    summary="100 puzzles made by `markscheme countdown generate`, offline",
    parts=(Part("countdown-sample", to_problem, packaged=True),),
    templates=TEMPLATES,
    protocol="countdown",
)
