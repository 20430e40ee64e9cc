"""When to try again: exponential backoff with jitter, never sooner than the server asks."""

from __future__ import annotations

import random

from markscheme.models.base import RequestFailed

LONGEST_DELAY = 60.0
LONGEST_ASKED = 600.0
"""Seconds that a `Retry-After` may ask for; a longer one (a daily quota) is a failure that `resume` takes up later."""


class RetryPolicy:
    """Decides after each failed attempt."""

    def __init__(self, retries: int, delay: float, jitter: random.Random | None = None) -> None:
        self._retries = retries
        self._delay = delay
        self._jitter = jitter or random.Random()

    def delay(self, failure: RequestFailed, attempt: int) -> float | None:
        """Seconds until the next try after attempt number `attempt` (from 1), or `None` to give up."""
        if not failure.retryable or attempt > self._retries:
            return None
        # Between half and the whole of the delay: requests that failed together do not come back together.
        longest = min(LONGEST_DELAY, self._delay * 2.0 ** min(attempt - 1, 30))
        chosen = longest * self._jitter.uniform(0.5, 1.0)
        if failure.retry_after is None:
            return chosen
        if failure.retry_after > LONGEST_ASKED:
            return None
        # Never sooner than asked, and a little spread after it.
        return max(chosen, failure.retry_after + min(chosen, 0.1 * failure.retry_after))
