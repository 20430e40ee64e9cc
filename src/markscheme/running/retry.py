"""Retries: exponential backoff with jitter, never sooner than the server asks."""

from __future__ import annotations

import random

from markscheme.models.base import RequestFailed

LONGEST_DELAY = 60.0

# Most doublings of the delay if the server did respond (a 500, half a document).
AWAKE = 3


class RetryPolicy:
    """Decides after each failed attempt."""

    def __init__(self, retries: int, delay: float, jitter: random.Random | None = None) -> None:
        self._retries = retries
        self._delay = delay
        self._jitter = jitter or random.Random()

    def delay(self, failure: RequestFailed, attempt: int, in_a_row: int) -> float | None:
        """Return the seconds until the next try, or None to give up.

        `attempt` counts all tries of the request. `in_a_row` counts failures since the server last answered any request, and doubles
        the delay: a server that answers other requests is neither down nor slow.
        """
        if not failure.retryable or attempt > self._retries or failure.asks_too_long:
            return None
        most = 30 if failure.means.away or failure.means.busy else AWAKE
        doublings = 0 if failure.retry_after is not None else min(in_a_row - 1, most)
        # Jitter: requests that failed together do not come back together.
        chosen = min(LONGEST_DELAY, self._delay * 2.0**doublings) * self._jitter.uniform(0.5, 1.0)
        if failure.retry_after is None:
            return chosen
        # Not sooner than asked, and spread a little.
        return max(chosen, failure.retry_after * self._jitter.uniform(1.0, 1.1))
