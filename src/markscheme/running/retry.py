"""When to try again: exponential backoff with jitter, never sooner than the server asks."""

from __future__ import annotations

import random

from markscheme.models.base import RequestFailed

LONGEST_DELAY = 60.0

# Doublings after which the delay stays, when the server did answer something (a 500, half a document): it is there.
AWAKE = 3


class RetryPolicy:
    """Decides after each failed attempt."""

    def __init__(self, retries: int, delay: float, jitter: random.Random | None = None) -> None:
        self._retries = retries
        self._delay = delay
        self._jitter = jitter or random.Random()

    def delay(self, failure: RequestFailed, attempt: int, in_a_row: int) -> float | None:
        """Seconds until the next try, or `None` to give up.

        `attempt` counts every try of the request, from 1; `in_a_row` those that failed since the server last answered
        anybody, also from 1. The delay doubles with the latter: a server that answers others is neither down nor slow.
        """
        if not failure.retryable or attempt > self._retries or failure.asks_too_long:
            return None
        most = 30 if failure.means.away or failure.means.busy else AWAKE
        doublings = 0 if failure.retry_after is not None else min(in_a_row - 1, most)
        # Between half and the whole of it: requests that failed together do not come back together.
        chosen = min(LONGEST_DELAY, self._delay * 2.0**doublings) * self._jitter.uniform(0.5, 1.0)
        if failure.retry_after is None:
            return chosen
        # Never sooner than asked, and a little spread after it.
        return max(chosen, failure.retry_after * self._jitter.uniform(1.0, 1.1))
