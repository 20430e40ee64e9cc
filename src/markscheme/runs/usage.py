"""The tokens, seconds, attempts, truncations and money that a run used, in total and for each problem."""

from __future__ import annotations

import msgspec


class Tokens(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What all samples of one problem used together."""

    responses: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    cached_tokens: int = 0
    attempts: int = 0  # tries of all samples, the failed ones included
    truncated: int = 0  # responses cut off by the token limit
    seconds: float = 0.0  # latencies added up
    latency: Latency | None = None
    cost: float | None = None  # US dollars, where the model's price is known and every response told its tokens


class Latency(msgspec.Struct, frozen=True):
    """Seconds from sending a request to its answer, over the attempts that succeeded."""

    mean: float
    p50: float
    p90: float
    p99: float
    max: float


class Usage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a whole run used."""

    responses: int = 0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    # Of the prompts' tokens, those that came from the provider's cache, where it says so.
    cached_tokens: int | None = None
    attempts: int = 0
    truncated: int = 0
    latency: Latency | None = None
    first_token: Latency | None = None  # seconds until the first token of answers that were streamed
    tokens_per_second: float | None = None  # of a streamed answer after its first token: the median
    # Failures that were final when they were recorded, by kind; a resumed run may have made them good since.
    errors: dict[str, int] = {}
    cost: float | None = None
    # What the cost was reckoned with, such as `2 / 8 USD per million tokens in / out (as of 2025-08-01)`.
    price: str | None = None


class Ledger(msgspec.Struct, frozen=True):
    """What `usage.json` holds."""

    total: Usage
    problems: dict[str, Tokens]  # what each problem used, by its key


class Price(msgspec.Struct, frozen=True):
    """US dollars for a million tokens."""

    input: float
    output: float
    as_of: str = ""
    # Of the prompt's tokens that the provider had in its cache; without it they cost as much as the others.
    cached: float | None = None

    def of(self, prompt_tokens: int, completion_tokens: int, cached_tokens: int = 0) -> float:
        """The cost."""
        cached = min(cached_tokens, prompt_tokens)
        rate = self.input if self.cached is None else self.cached
        return ((prompt_tokens - cached) * self.input + cached * rate + completion_tokens * self.output) / 1e6

    def __str__(self) -> str:
        when = f" (as of {self.as_of})" if self.as_of else ""
        if self.cached is None:
            return f"{self.input:g} / {self.output:g} USD per million tokens in / out{when}"
        return f"{self.input:g} / {self.cached:g} / {self.output:g} USD per million tokens in / cached / out{when}"
