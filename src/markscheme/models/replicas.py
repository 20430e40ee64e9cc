"""Several servers of one model: the next request goes to the one with the fewest in flight.

A server that fails is left out for a while that grows with each failure, then tried with a single request; the first
answer brings it back. With every server out, the one that is due first is tried: giving up is the scheduler's decision.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from markscheme.models.base import RequestFailed

OUT_FIRST = 1.0
OUT_LONGEST = 30.0
"""Seconds that a failing server is left out, at first and at most."""

BROKEN = {"connection": 1, "timeout": 2, "overloaded": 3, "server_error": 3, "malformed": 3, "empty": 3}
"""Failures in a row, by kind, after which a server is left out. One refused connection is enough, one 500 is not."""


class Replica:
    """One server and how it is doing."""

    __slots__ = ("failures", "in_flight", "out", "out_until", "url")

    def __init__(self, url: str) -> None:
        self.url = url
        self.in_flight = 0
        self.failures = 0
        self.out = 0  # how many times in a row it was left out
        self.out_until = 0.0


class Replicas:
    """Chooses a server for each request, and learns from what became of it."""

    def __init__(self, urls: Sequence[str], clock: Callable[[], float] = time.monotonic) -> None:
        self.all = tuple(Replica(url) for url in urls)
        self._only = self.all[0] if len(self.all) == 1 else None
        self._clock = clock

    def choose(self) -> Replica:
        """The healthy server with the fewest requests in flight."""
        if self._only is not None:
            return self._only
        now = self._clock()
        fit = [one for one in self.all if one.out == 0 or (one.out_until <= now and one.in_flight == 0)]
        if fit:
            return min(fit, key=_load)
        return min(self.all, key=lambda one: one.out_until)

    def answered(self, replica: Replica) -> None:
        """It works (again)."""
        replica.failures = replica.out = 0

    def failed(self, replica: Replica, failure: RequestFailed) -> None:
        """Count a failure that may be the server's; leave it out when there were enough."""
        limit = BROKEN.get(failure.kind)
        if limit is None:
            return
        replica.failures += 1
        if replica.failures >= limit or replica.out:
            replica.out_until = self._clock() + min(OUT_LONGEST, OUT_FIRST * 2**replica.out)
            replica.out += 1

    def leave_out(self, replica: Replica) -> None:
        """It is known to be down: ask it only if no other is there, until `answered` brings it back."""
        replica.out += 1
        replica.out_until = float("inf")


def _load(replica: Replica) -> int:
    return replica.in_flight
