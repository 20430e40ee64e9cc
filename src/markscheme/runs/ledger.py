"""The sums of what a run took, from its snapshot.

Every line of what was asked for is reckoned, also attempts that were made good later: those were paid for.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np

from markscheme.runs.columns import FINISH, SAMPLE_BITS
from markscheme.runs.snapshot import Snapshot
from markscheme.runs.usage import Latency, Ledger, Price, Tokens, Usage


def ledger(snapshot: Snapshot, price: Price | None = None) -> Ledger:
    """The sums of a run; tokens and cost only where every response reported them."""
    lines = snapshot.asked_lines
    problem = lines["cell"] >> SAMPLE_BITS
    answered, told = lines["kind"] == 0, (lines["kind"] == 0) & (lines["tokens"] >= 0)

    def summed(chosen: Any, column: str | None = None) -> list[int]:
        weights = None if column is None else np.maximum(lines[column][chosen], 0)
        sums: list[int] = np.bincount(problem[chosen], weights, len(snapshot.keys)).astype(int).tolist()
        return sums

    sums = zip(
        summed(answered),
        summed(told, "prompt_tokens"),
        summed(told, "tokens"),
        summed(told, "reasoning_tokens"),
        summed(slice(None), "attempts"),
        summed(answered & (lines["finish"] == FINISH.index("length"))),
        summed(told),
        strict=True,
    )
    timed = np.flatnonzero(answered & ~np.isnan(lines["latency"]))
    timed = timed[np.argsort(problem[timed], kind="stable")]
    seconds = np.split(lines["latency"][timed], np.cumsum(np.bincount(problem[timed], None, len(snapshot.keys)))[:-1])
    problems = {
        key: _tokens(numbers, mine.tolist(), price)
        for key, numbers, mine in zip(snapshot.keys, sums, seconds, strict=True)
        if numbers[4] or numbers[0]
    }
    errors = Counter(snapshot.kinds[kind] for kind in lines["kind"][~answered].tolist())
    return Ledger(
        _total(list(problems.values()), lines["latency"][timed].tolist(), told.sum(), errors, price), problems
    )


def _tokens(numbers: tuple[int, ...], seconds: list[float], price: Price | None) -> Tokens:
    responses, prompt, completion, reasoning, attempts, truncated, told = numbers
    return Tokens(
        responses=responses,
        prompt_tokens=prompt,
        completion_tokens=completion,
        reasoning_tokens=reasoning,
        attempts=attempts,
        truncated=truncated,
        seconds=round(math.fsum(seconds), 3),
        latency=_latency(seconds),
        cost=price.of(prompt, completion) if price and 0 < told == responses else None,
    )


def _total(problems: list[Tokens], seconds: list[float], told: int, errors: Counter[str], price: Price | None) -> Usage:
    responses = sum(one.responses for one in problems)
    complete = 0 < told == responses
    prompt, completion = sum(one.prompt_tokens for one in problems), sum(one.completion_tokens for one in problems)
    reasoning = sum(one.reasoning_tokens for one in problems)
    cost = price.of(prompt, completion) if price and complete else None
    return Usage(
        responses=responses,
        prompt_tokens=prompt if complete else None,
        completion_tokens=completion if complete else None,
        reasoning_tokens=reasoning if complete and reasoning else None,
        attempts=sum(one.attempts for one in problems),
        truncated=sum(one.truncated for one in problems),
        latency=_latency(seconds),
        errors=dict(sorted(errors.items())),
        cost=cost,
        price=str(price) if cost is not None else None,
    )


def _latency(seconds: list[float]) -> Latency | None:
    ordered = sorted(seconds)
    if not ordered:
        return None
    mean = math.fsum(ordered) / len(ordered)
    quantiles = (ordered[max(0, math.ceil(share * len(ordered)) - 1)] for share in (0.5, 0.9, 0.99, 1.0))
    return Latency(*(round(value, 4) for value in (mean, *quantiles)))
