"""Adds up what a run used.

Every line that was asked for counts, including failed attempts that a later one replaced: they were paid for.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np

from markscheme.runs.columns import FINISH, problem_of
from markscheme.runs.snapshot import Snapshot
from markscheme.runs.usage import Latency, Ledger, Price, Tokens, Usage


def ledger(snapshot: Snapshot, price: Price | None = None) -> Ledger:
    """Add up a run. Tokens and cost are given only where every response reported them."""
    lines = snapshot.asked_lines
    problem, seconds = problem_of(lines["cell"]), lines["latency"]
    answered, reported = lines["kind"] == 0, (lines["kind"] == 0) & (lines["tokens"] >= 0)

    def summed(chosen: Any, column: str | None = None) -> list[int]:
        weights = None if column is None else np.maximum(lines[column][chosen], 0)
        sums: list[int] = np.bincount(problem[chosen], weights, len(snapshot.keys)).astype(int).tolist()
        return sums

    sums = {
        "responses": summed(answered),
        "prompt_tokens": summed(reported, "prompt_tokens"),
        "completion_tokens": summed(reported, "tokens"),
        "reasoning_tokens": summed(reported, "reasoning_tokens"),
        "cached_tokens": summed(reported, "cached_tokens"),
        "attempts": summed(slice(None), "attempts"),
        "truncated": summed(answered & (lines["finish"] == FINISH.index("length"))),
    }
    counted = summed(reported)
    timed = np.flatnonzero(answered & ~np.isnan(seconds))
    timed = timed[np.argsort(problem[timed], kind="stable")]
    by_problem = np.split(seconds[timed], np.cumsum(np.bincount(problem[timed], None, len(snapshot.keys)))[:-1])
    problems = {}
    for at, key in enumerate(snapshot.keys):
        mine, latencies = {name: column[at] for name, column in sums.items()}, by_problem[at].tolist()
        if mine["attempts"] or mine["responses"]:
            cost = _cost(mine, counted[at], price)
            total = round(math.fsum(latencies), 3)
            problems[key] = Tokens(**mine, seconds=total, latency=_latency(latencies), cost=cost)

    whole = {name: sum(column) for name, column in sums.items()}
    complete, cost = 0 < sum(counted) == whole["responses"], _cost(whole, sum(counted), price)
    first = lines["first_token"]
    # False if either is unknown. In a conversation only the first part of the time is the model's alone.
    streamed = answered & (seconds > first) & (lines["tokens"] > 0) & (lines["turns"] == 0)
    speeds = (lines["tokens"][streamed] - 1) / (seconds[streamed] - first[streamed])
    errors = Counter(snapshot.kinds[kind] for kind in lines["kind"][~answered].tolist())
    usage = Usage(
        responses=whole["responses"],
        prompt_tokens=whole["prompt_tokens"] if complete else None,
        completion_tokens=whole["completion_tokens"] if complete else None,
        reasoning_tokens=(whole["reasoning_tokens"] or None) if complete else None,
        cached_tokens=(whole["cached_tokens"] or None) if complete else None,
        attempts=whole["attempts"],
        truncated=whole["truncated"],
        latency=_latency(seconds[timed].tolist()),
        first_token=_latency(first[answered & ~np.isnan(first)].tolist()),
        tokens_per_second=round(float(np.median(speeds)), 2) if len(speeds) else None,
        errors=dict(sorted(errors.items())),
        cost=cost,
        price=str(price) if cost is not None else None,
    )
    return Ledger(usage, problems)


def _cost(sums: dict[str, int], counted: int, price: Price | None) -> float | None:
    if price is None or not 0 < counted == sums["responses"]:
        return None
    return price.of(sums["prompt_tokens"], sums["completion_tokens"], sums["cached_tokens"])


def _latency(seconds: list[float]) -> Latency | None:
    if not seconds:
        return None
    ordered = sorted(seconds)
    quantiles = (ordered[max(0, math.ceil(share * len(ordered)) - 1)] for share in (0.5, 0.9, 0.99, 1.0))
    return Latency(*(round(value, 4) for value in (math.fsum(ordered) / len(ordered), *quantiles)))
