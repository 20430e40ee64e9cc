"""Adds up what a run used, from its snapshot.

Every line counts that was asked for, also failed attempts that a later one made good: they were paid for.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
from msgspec.structs import replace

from markscheme.runs.columns import FINISH, problem_of
from markscheme.runs.snapshot import Snapshot
from markscheme.runs.usage import Latency, Ledger, Price, Tokens, Usage


def ledger(snapshot: Snapshot, price: Price | None = None) -> Ledger:
    """The sums of a run; tokens and cost only where every response reported them."""
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
    of_each = np.split(seconds[timed], np.cumsum(np.bincount(problem[timed], None, len(snapshot.keys)))[:-1])
    problems = {}
    for at, key in enumerate(snapshot.keys):
        mine, latencies = {name: column[at] for name, column in sums.items()}, of_each[at].tolist()
        if mine["attempts"] or mine["responses"]:
            cost = _cost(mine, counted[at], price)
            total = round(math.fsum(latencies), 3)
            problems[key] = Tokens(**mine, seconds=total, latency=_latency(latencies), cost=cost)
    errors = Counter(snapshot.kinds[kind] for kind in lines["kind"][~answered].tolist())
    whole = {name: sum(column) for name, column in sums.items()}
    usage = _usage(whole, sum(counted), seconds[timed].tolist(), errors, price)
    first = lines["first_token"]
    # False where either is not known. Of a conversation, all but the first part of the time is not only the model's.
    streamed = answered & (seconds > first) & (lines["tokens"] > 0) & (lines["turns"] == 0)
    speeds = (lines["tokens"][streamed] - 1) / (seconds[streamed] - first[streamed])
    speed = round(float(np.median(speeds)), 2) if len(speeds) else None
    usage = replace(usage, first_token=_latency(first[answered & ~np.isnan(first)].tolist()), tokens_per_second=speed)
    return Ledger(usage, problems)


def _usage(
    sums: dict[str, int], counted: int, seconds: list[float], errors: Counter[str], price: Price | None
) -> Usage:
    complete, cost = 0 < counted == sums["responses"], _cost(sums, counted, price)
    return Usage(
        responses=sums["responses"],
        prompt_tokens=sums["prompt_tokens"] if complete else None,
        completion_tokens=sums["completion_tokens"] if complete else None,
        reasoning_tokens=(sums["reasoning_tokens"] or None) if complete else None,
        cached_tokens=(sums["cached_tokens"] or None) if complete else None,
        attempts=sums["attempts"],
        truncated=sums["truncated"],
        latency=_latency(seconds),
        errors=dict(sorted(errors.items())),
        cost=cost,
        price=str(price) if cost is not None else None,
    )


def _cost(sums: dict[str, int], counted: int, price: Price | None) -> float | None:
    """What it cost, where all of `counted` responses told their tokens."""
    if price is None or not 0 < counted == sums["responses"]:
        return None
    return price.of(sums["prompt_tokens"], sums["completion_tokens"], sums["cached_tokens"])


def _latency(seconds: list[float]) -> Latency | None:
    if not seconds:
        return None
    ordered = sorted(seconds)
    quantiles = (ordered[max(0, math.ceil(share * len(ordered)) - 1)] for share in (0.5, 0.9, 0.99, 1.0))
    return Latency(*(round(value, 4) for value in (math.fsum(ordered) / len(ordered), *quantiles)))
