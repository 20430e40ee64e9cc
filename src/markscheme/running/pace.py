"""The rate at which requests may start: an interval, requests per minute, tokens per minute."""

from __future__ import annotations

from collections.abc import Sequence

from markscheme.config import RunConfig
from markscheme.models.base import Completion, Request

CHARACTERS_PER_TOKEN = 4
FIRST_GUESS = 512  # tokens of a response until one is known, without a token limit


class Rate:
    """An even rate. A spender goes into debt, and the next one waits until it is paid off.

    In t seconds at most `per_second × t` plus one spender's amount is spent.
    """

    def __init__(self, per_second: float) -> None:
        self._per_second = per_second
        self._free_at = 0.0

    def wait(self, now: float) -> float:
        """Return the seconds until the next may start; zero or less means now."""
        return self._free_at - now

    def spend(self, amount: float, now: float) -> None:
        """Spend an amount; a negative amount returns an estimate that was too high."""
        self._free_at = max(self._free_at, now if amount > 0 else 0.0) + amount / self._per_second


class Pace:
    """The user's rate limits."""

    def __init__(self, config: RunConfig) -> None:
        seconds = [config.request_interval] if config.request_interval else []
        if config.max_rpm:
            seconds.append(60 / config.max_rpm)
        self._requests = Rate(1 / max(seconds)) if seconds else None
        self._tokens = Rate(config.max_tpm / 60) if config.max_tpm else None
        self._guess = float(config.max_tokens or FIRST_GUESS)
        self._answers = 0

    @property
    def unlimited(self) -> bool:
        return self._requests is None and self._tokens is None

    def wait(self, now: float) -> float:
        """Return the seconds until the next request may start."""
        return max(rate.wait(now) if rate else 0.0 for rate in (self._requests, self._tokens))

    def start(self, request: Request, now: float) -> float:
        """Count a request, and return the tokens it is expected to take."""
        if self._requests:
            self._requests.spend(1, now)
        if not self._tokens:
            return 0.0
        characters = sum(len(message.content) for message in request.prompt.messages)
        expected = characters / CHARACTERS_PER_TOKEN + self._guess * len(request.samples)
        self._tokens.spend(expected, now)
        return expected

    def finish(self, expected: float, completions: Sequence[Completion], now: float) -> None:
        """Replace the estimate by the real count, and learn how long responses are."""
        if not self._tokens or not completions or any(one.completion_tokens is None for one in completions):
            return
        used = sum((one.prompt_tokens or 0) + (one.completion_tokens or 0) for one in completions)
        self._tokens.spend(used - expected, now)
        mean = sum(one.completion_tokens or 0 for one in completions) / len(completions)
        self._answers += 1
        # A moving average over the last fifty answers; the first answer replaces the guess.
        self._guess += (mean - self._guess) / min(self._answers, 50)
