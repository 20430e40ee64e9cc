"""The tokens, seconds, attempts and money that a run used, in total and for each problem."""

from __future__ import annotations

import msgspec


class Tokens(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What all samples of one problem used together."""

    responses: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    cached_tokens: int = 0
    attempts: int = 0  # of all samples, including failed ones
    truncated: int = 0  # responses cut off by the token limit
    seconds: float = 0.0  # sum of the latencies
    latency: Latency | None = None
    cost: float | None = None  # US dollars, if the price is known and every response reported its tokens


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
    cached_tokens: int | None = None  # prompt tokens that came from the provider's cache, if it says so
    attempts: int = 0
    truncated: int = 0
    latency: Latency | None = None
    first_token: Latency | None = None  # seconds until the first token of streamed answers
    tokens_per_second: float | None = None  # median of streamed answers, after the first token
    errors: dict[str, int] = {}  # final failures by kind; a resumed run may have replaced them since
    cost: float | None = None
    price: str | None = None  # such as `2 / 8 USD per million tokens in / out (as of 2025-08-01)`


class Ledger(msgspec.Struct, frozen=True):
    """The content of `usage.json`."""

    total: Usage
    problems: dict[str, Tokens]  # by problem key


class Price(msgspec.Struct, frozen=True):
    """US dollars per million tokens."""

    input: float
    output: float
    as_of: str = ""
    cached: float | None = None  # for prompt tokens from the provider's cache; without it they cost the full price

    def of(self, prompt_tokens: int, completion_tokens: int, cached_tokens: int = 0) -> float:
        """Return the cost."""
        cached = min(cached_tokens, prompt_tokens)
        rate = self.input if self.cached is None else self.cached
        return ((prompt_tokens - cached) * self.input + cached * rate + completion_tokens * self.output) / 1e6

    def __str__(self) -> str:
        rates = {"in": self.input, "cached": self.cached, "out": self.output}
        known = {name: rate for name, rate in rates.items() if rate is not None}
        when = f" (as of {self.as_of})" if self.as_of else ""
        return f"{' / '.join(f'{rate:g}' for rate in known.values())} USD per million tokens {' / '.join(known)}{when}"
