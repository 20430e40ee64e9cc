"""Convert a problem to plain fields in another tool's document or sample, and back, so that its log can become a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from markscheme.types import CountdownGold, Gold, Problem


def record(problem: Problem, benchmark: str, protocol: str) -> dict[str, Any]:
    """Return the fields; a Countdown puzzle also has its numbers and target, under the names of its data set."""
    gold = problem.gold
    puzzle = {"nums": list(gold.nums), "target": gold.target} if isinstance(gold, CountdownGold) else {}
    return {
        "benchmark": benchmark,
        "id": problem.id,
        "key": problem.key,
        "statement": problem.statement,
        "gold": gold_text(gold),
        "protocol": protocol,
        **puzzle,
    }


def is_record(fields: Mapping[str, Any]) -> bool:
    """True if `record` made these fields."""
    return {"benchmark", "id", "key", "statement", "gold", "protocol"} <= fields.keys()


def problem_of(fields: Mapping[str, Any]) -> Problem:
    """Return the problem that `record` described."""
    countdown = fields["protocol"] == "countdown"
    return Problem(
        id=fields["id"],
        key=fields["key"],
        statement=fields["statement"],
        gold=msgspec.json.decode(fields["gold"], type=CountdownGold) if countdown else fields["gold"],
        protocol=fields["protocol"],
    )


def gold_text(gold: Gold) -> str:
    """Return a gold as text; a puzzle as JSON, which `mark` can parse."""
    return gold if isinstance(gold, str) else msgspec.json.encode(gold).decode()
