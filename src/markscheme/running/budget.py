"""What may be spent. What is in flight is reserved at the cost of the dearest request so far; before the first answer one
request is asked. So at most one request is spent above the limit, and what those in flight cost more than the dearest before.
"""

from __future__ import annotations

from collections.abc import Callable

from markscheme.config import RunConfig
from markscheme.errors import UsageError, option
from markscheme.runs.usage import Price, Usage
from markscheme.types import Response


class Budget:
    """Counts what answers cost. One for a run, or for all runs of an experiment together."""

    def __init__(self, max_cost: float | None, max_tokens: int | None) -> None:
        self._max_cost, self._max_tokens = max_cost, max_tokens
        self.cost, self.tokens = 0.0, 0
        self._dearest: tuple[float, float] | None = None  # cost and tokens of a request

    def check(self, config: RunConfig, price: Price | None) -> None:
        """Refuse a limit on a cost that is not known."""
        if self._max_cost is not None and price is None:
            raise UsageError(
                f"{option('max_cost')} needs a price, and none is known for {config.model}; give one with {option('prices', 'FILE.toml')}, or use "
                f"{option('max_tokens_total')}"
            )

    @property
    def used_up(self) -> str:
        """Why nothing more may be asked, or the empty text."""
        if self._max_cost is not None and self.cost >= self._max_cost:
            return f"the budget of ${self._max_cost:g} is used up (${self.cost:.4g})"
        if self._max_tokens is not None and self.tokens >= self._max_tokens:
            return f"the budget of {self._max_tokens:,} tokens is used up ({self.tokens:,})"
        return ""

    def affordable(self) -> float:
        """How many requests may be in flight: at least one, until everything is used up."""
        if self._dearest is None:
            return float("inf") if self._max_cost is None and self._max_tokens is None else 1
        spent = ((self._max_cost, self.cost), (self._max_tokens, self.tokens))
        limits = (
            (most - gone, each) for (most, gone), each in zip(spent, self._dearest, strict=True) if most is not None
        )
        return max(1, min((left // each for left, each in limits if each), default=float("inf")))

    def spend(self, tokens: Response | Usage, price: Price | None) -> None:
        """Count what a response, or a run so far, took."""
        prompt, completion = tokens.prompt_tokens or 0, tokens.completion_tokens or 0
        self.tokens += prompt + completion
        if price is not None:
            self.cost += price.of(prompt, completion, tokens.cached_tokens or 0)

    def watching(
        self, sink: Callable[[list[Response]], None], price: Price | None, stop: Callable[[], None]
    ) -> Callable[[list[Response]], None]:
        """A sink that counts what it hands on, and stops when nothing is left."""

        def take(responses: list[Response]) -> None:
            sink(responses)
            before = (self.cost, self.tokens)
            for response in responses:
                self.spend(response, price)
            dearest = self._dearest or (0.0, 0.0)
            self._dearest = (max(dearest[0], self.cost - before[0]), max(dearest[1], self.tokens - before[1]))
            if self.used_up:
                stop()

        return take
