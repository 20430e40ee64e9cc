"""The budget of a run. Requests in flight reserve the cost of the dearest request so far; until the first answer, only one
request is in flight. The limit is therefore exceeded by at most one request, plus what the requests in flight cost more than
the dearest one before.
"""

from __future__ import annotations

from collections.abc import Callable

from markscheme.config import RunConfig
from markscheme.errors import UsageError, option
from markscheme.runs.usage import Price, Usage
from markscheme.types import Response


class Budget:
    """Counts the cost of answers, for one run or for all runs of an experiment."""

    def __init__(self, max_cost: float | None, max_tokens: int | None) -> None:
        self._max_cost, self._max_tokens = max_cost, max_tokens
        self.cost, self.tokens = 0.0, 0
        self._dearest: tuple[float, float] | None = None  # highest cost and tokens of a request so far

    def check(self, config: RunConfig, price: Price | None) -> None:
        """Refuse a cost limit if the price is not known."""
        if self._max_cost is not None and price is None:
            raise UsageError(
                f"{option('max_cost')} needs a price, and none is known for {config.model}; give one with {option('prices', 'FILE.toml')}, or use "
                f"{option('max_tokens_total')}"
            )

    @property
    def used_up(self) -> str:
        """The reason why nothing more may be asked, or an empty text."""
        if self._max_cost is not None and self.cost >= self._max_cost:
            return f"the budget of ${self._max_cost:g} is used up (${self.cost:.4g})"
        if self._max_tokens is not None and self.tokens >= self._max_tokens:
            return f"the budget of {self._max_tokens:,} tokens is used up ({self.tokens:,})"
        return ""

    def affordable(self) -> float:
        """Return how many requests may be in flight: at least one until the budget is used up."""
        if self._dearest is None:
            return float("inf") if self._max_cost is None and self._max_tokens is None else 1
        spent = ((self._max_cost, self.cost), (self._max_tokens, self.tokens))
        limits = (
            (most - gone, each) for (most, gone), each in zip(spent, self._dearest, strict=True) if most is not None
        )
        return max(1, min((left // each for left, each in limits if each), default=float("inf")))

    def spend(self, tokens: Response | Usage, price: Price | None) -> None:
        """Count the tokens and the cost of a response or of a run."""
        prompt, completion = tokens.prompt_tokens or 0, tokens.completion_tokens or 0
        self.tokens += prompt + completion
        if price is not None:
            self.cost += price.of(prompt, completion, tokens.cached_tokens or 0)

    def watching(
        self, sink: Callable[[list[Response]], None], price: Price | None, stop: Callable[[], None]
    ) -> Callable[[list[Response]], None]:
        """Wrap a sink so that it counts what passes, and call `stop` when the budget is used up."""

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
