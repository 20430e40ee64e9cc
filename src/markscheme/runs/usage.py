"""What a run took: tokens, seconds, attempts, truncations and money, in total and for each problem.

Fed with responses, or with their heads when a stored run is read again; keeps numbers only, never a text.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from typing import Protocol

import msgspec


class Tokens(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What one problem took, all its samples together."""

    responses: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    attempts: int = 0
    """Tries, the failed ones included, of each sample."""
    truncated: int = 0
    """Responses cut off by the token limit."""
    seconds: float = 0.0
    """Latencies added up."""
    latency: Latency | None = None
    cost: float | None = None
    """US dollars, where the model's price is known and every response told its tokens."""


class Latency(msgspec.Struct, frozen=True):
    """Seconds from sending a request to its answer, over the attempts that succeeded."""

    mean: float
    p50: float
    p90: float
    p99: float
    max: float


class Usage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a whole run took."""

    responses: int = 0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    attempts: int = 0
    truncated: int = 0
    latency: Latency | None = None
    errors: dict[str, int] = {}
    """Failures that were final when they were recorded, by kind; a resumed run may have made them good since."""
    cost: float | None = None
    price: str | None = None
    """What the cost was reckoned with, such as `2 / 8 USD per million tokens in / out (as of 2025-08-01)`."""


class Ledger(msgspec.Struct, frozen=True):
    """What `usage.json` holds."""

    total: Usage
    problems: dict[str, Tokens]
    """By the problem's key."""


class Took(Protocol):
    """The part of a response that is counted."""

    @property
    def key(self) -> str: ...
    @property
    def error(self) -> str | None: ...
    @property
    def error_kind(self) -> str | None: ...
    @property
    def finish_reason(self) -> str | None: ...
    @property
    def prompt_tokens(self) -> int | None: ...
    @property
    def completion_tokens(self) -> int | None: ...
    @property
    def reasoning_tokens(self) -> int | None: ...
    @property
    def latency(self) -> float | None: ...
    @property
    def attempts(self) -> int: ...


class Price(msgspec.Struct, frozen=True):
    """US dollars for a million tokens."""

    input: float
    output: float
    as_of: str = ""

    def of(self, prompt_tokens: int, completion_tokens: int) -> float:
        """The cost; tokens read from a cache count in full, so this is an upper bound."""
        return (prompt_tokens * self.input + completion_tokens * self.output) / 1e6

    def __str__(self) -> str:
        when = f" (as of {self.as_of})" if self.as_of else ""
        return f"{self.input:g} / {self.output:g} USD per million tokens in / out{when}"


class Accounts:
    """The running totals."""

    def __init__(self, price: Price | None = None) -> None:
        self._price = price
        self._problems: dict[str, _Problem] = {}
        self._errors: dict[str, int] = {}
        self.responses = self.truncated = self.attempts = self.counted = 0
        self.prompt_tokens = self.completion_tokens = self.reasoning_tokens = 0

    def add(self, response: Took) -> None:
        """Count one line of a journal."""
        problem = self._problems.get(response.key)
        if problem is None:
            problem = self._problems[response.key] = _Problem()
        problem.attempts += response.attempts
        self.attempts += response.attempts
        if response.error is not None:
            kind = response.error_kind or "unknown"
            self._errors[kind] = self._errors.get(kind, 0) + 1
            return
        self.responses += 1
        problem.responses += 1
        if response.finish_reason == "length":
            self.truncated += 1
            problem.truncated += 1
        if response.latency is not None:
            problem.latencies.append(response.latency)
        self._add_tokens(problem, response)

    def _add_tokens(self, problem: _Problem, response: Took) -> None:
        if response.completion_tokens is None:
            return
        prompt, reasoning = response.prompt_tokens or 0, response.reasoning_tokens or 0
        self.counted += 1
        problem.counted += 1
        self.prompt_tokens += prompt
        self.completion_tokens += response.completion_tokens
        self.reasoning_tokens += reasoning
        problem.prompt_tokens += prompt
        problem.completion_tokens += response.completion_tokens
        problem.reasoning_tokens += reasoning

    def usage(self) -> Usage:
        """The totals so far; tokens and cost only when every response reported them."""
        complete = 0 < self.counted == self.responses
        cost = self._price.of(self.prompt_tokens, self.completion_tokens) if self._price and complete else None
        return Usage(
            responses=self.responses,
            prompt_tokens=self.prompt_tokens if complete else None,
            completion_tokens=self.completion_tokens if complete else None,
            reasoning_tokens=self.reasoning_tokens if complete and self.reasoning_tokens else None,
            attempts=self.attempts,
            truncated=self.truncated,
            latency=_latency(second for problem in self._problems.values() for second in problem.latencies),
            errors=dict(sorted(self._errors.items())),
            cost=cost,
            price=str(self._price) if cost is not None else None,
        )

    def ledger(self) -> Ledger:
        """Totals and problems together."""
        return Ledger(total=self.usage(), problems=self.per_problem())

    def per_problem(self) -> dict[str, Tokens]:
        """The same for each problem, by key."""
        return {key: self._tokens(problem) for key, problem in self._problems.items()}

    def _tokens(self, problem: _Problem) -> Tokens:
        told = 0 < problem.counted == problem.responses
        price = self._price if told else None
        return Tokens(
            responses=problem.responses,
            prompt_tokens=problem.prompt_tokens,
            completion_tokens=problem.completion_tokens,
            reasoning_tokens=problem.reasoning_tokens,
            attempts=problem.attempts,
            truncated=problem.truncated,
            seconds=round(math.fsum(problem.latencies), 3),
            latency=_latency(problem.latencies),
            cost=price.of(problem.prompt_tokens, problem.completion_tokens) if price else None,
        )


class _Problem:
    """The running totals of one problem."""

    __slots__ = (
        *("attempts", "completion_tokens", "counted", "latencies"),
        *("prompt_tokens", "reasoning_tokens", "responses", "truncated"),
    )

    def __init__(self) -> None:
        self.responses = self.attempts = self.truncated = self.counted = 0
        self.prompt_tokens = self.completion_tokens = self.reasoning_tokens = 0
        self.latencies = array("f")


def _latency(seconds: Iterable[float]) -> Latency | None:
    ordered = sorted(seconds)
    if not ordered:
        return None
    mean = math.fsum(ordered) / len(ordered)
    quantiles = (ordered[max(0, math.ceil(share * len(ordered)) - 1)] for share in (0.5, 0.9, 0.99, 1.0))
    return Latency(*(round(value, 4) for value in (mean, *quantiles)))
