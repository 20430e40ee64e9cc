"""Several servers of one model: each request goes to the server with the fewest in flight.

A server that fails is left out for a time that grows with each failure, then tried with a single request; its first
answer brings it back. A server that sends `Retry-After` gets that time. If all servers are out, the one that is due
first is tried, since giving up is the scheduler's decision.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Container, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TypeVar

from markscheme.models.base import RequestFailed

OUT_FIRST, OUT_LONGEST = 1.0, 30.0  # seconds that a failing server is left out: at first, and at most

T = TypeVar("T")
_load = attrgetter("in_flight")


@dataclass(slots=True, eq=False)
class Replica:
    """One server and its state."""

    url: str
    in_flight: int = 0
    failures: int = 0
    out: int = 0  # consecutive times it was left out
    out_until: float = 0.0
    asked_until: float = 0.0  # it asked for this time itself
    refuses: bool = False  # its last failure said that no request can succeed
    well: bool = True  # not left out, and not asked for a pause, since its last answer


class Replicas:
    """Chooses a server for each request and learns from the outcome."""

    def __init__(self, urls: Sequence[str], clock: Callable[[], float] = time.monotonic) -> None:
        self.all = tuple(Replica(url) for url in urls)
        self._only = self.all[0] if len(self.all) == 1 else None
        self._clock = clock
        # Kept separately so that the choice among a thousand servers is one pass in C (20 µs).
        self._well: list[Replica] = list(self.all)
        self._ill: list[Replica] = []

    def choose(self) -> Replica:
        """Return the healthy server with the fewest requests in flight."""
        return self._only or self.another(()) or min(self.all, key=_due)

    def another(self, tried: Container[Replica]) -> Replica | None:
        """Return a healthy server that has not been tried, if there is one."""
        if self._only is not None:
            return None
        well = [one for one in self._well if one not in tried] if tried else self._well
        fit = [min(well, key=_load)] if well else []
        if self._ill:
            now = self._clock()
            fit += [one for one in self._ill if one not in tried and _fit(one, now)]
        return min(fit, key=_load) if fit else None

    async def asked(self, replica: Replica, request: Awaitable[T]) -> T:
        """Await a request sent to this server, and count a failure against it."""
        replica.in_flight += 1
        try:
            return await request
        except asyncio.CancelledError:  # the scheduler's time limit: this server was too slow
            self.failed(replica, RequestFailed("timeout", "", retryable=True))
            raise
        except RequestFailed as failure:
            if failure.kind != "bad_request":  # may well be the request's own fault
                self.failed(replica, failure)
            raise
        finally:
            replica.in_flight -= 1

    def answered(self, replica: Replica) -> None:
        """Record an answer: the server works (again)."""
        replica.failures = replica.out = 0
        replica.refuses = False
        if not replica.well and replica.asked_until <= self._clock():
            self._sort(replica, well=True)

    def failed(self, replica: Replica, failure: RequestFailed) -> None:
        """Count a failure that may be the server's; leave it out after enough of them."""
        if not failure.means.out_after:
            return
        now = self._clock()
        replica.refuses = failure.fatal
        replica.failures += 1
        if failure.retry_after is not None:
            replica.asked_until = max(replica.asked_until, now + failure.retry_after)
            self._sort(replica, well=False)
        if replica.out and now < replica.out_until:
            return  # one of many requests in flight when it was left out
        if replica.failures >= failure.means.out_after or replica.out:
            # Bound the exponent: a server that is down for a night is left out more than a thousand times.
            replica.out_until = now + min(OUT_LONGEST, OUT_FIRST * 2.0 ** min(replica.out, 10))
            replica.out += 1
            self._sort(replica, well=False)

    def leave_out(self, replica: Replica) -> None:
        """Mark a server as down: ask it only if no other is left, until `answered` brings it back."""
        replica.out += 1
        replica.out_until = float("inf")
        self._sort(replica, well=False)

    def _sort(self, replica: Replica, *, well: bool) -> None:
        if replica.well != well:
            replica.well = well
            self._well = [one for one in self.all if one.well]
            self._ill = [one for one in self.all if not one.well]

    def all_refuse(self) -> bool:
        """True if no server is left that could answer."""
        return all(one.refuses for one in self.all)


def _fit(replica: Replica, now: float) -> bool:
    if replica.asked_until > now:
        return False
    return replica.out == 0 or (replica.out_until <= now and replica.in_flight == 0)


def _due(replica: Replica) -> float:
    return max(replica.out_until if replica.out else 0.0, replica.asked_until)
