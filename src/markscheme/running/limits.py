"""How many requests may be in flight: a number the user chose, or one that is found out while running."""

from __future__ import annotations

import resource
from typing import Protocol

from markscheme.errors import UsageError

OVERLOAD = frozenset({"rate_limit", "overloaded", "timeout"})
"""Kinds of failure that say: too much at once."""

SPARE_FILES = 128
"""Open files beside the connections: the journal, pipes of marking workers, libraries."""


class Limit(Protocol):
    """Told of every attempt, answers how many may be in flight now."""

    value: int

    def answered(self, latency: float, tokens: int | None) -> None:
        """An attempt came back after so many seconds with so many tokens."""

    def failed(self, kind: str) -> None:
        """An attempt failed."""


class FixedLimit:
    """The number that the user chose."""

    def __init__(self, value: int) -> None:
        self.value = value

    def answered(self, latency: float, tokens: int | None) -> None:
        """Changes nothing."""

    def failed(self, kind: str) -> None:
        """Changes nothing: the user's number stands; backing off is the retry policy's part."""


class AutoLimit:
    """Grows while the server gets more done, shrinks when it says that it is too much.

    Judged once a window of about as many attempts as are in flight. With `value` requests at a speed of s each, the
    server does `value × s`; a growth that does not raise this product only makes a queue, so it is taken back.
    Speed is tokens a second where the server counts tokens (responses differ in length by a factor of a hundred),
    else answers a second. Overload shrinks by the share of attempts that were refused: from twice too many to the
    right number in one step, while one refusal in a hundred hardly matters.
    """

    FACTOR = 2.0  # growth a window at first
    STEP = 1.1  # and once the limit has been seen
    GAIN = 0.35  # share of the growth that must arrive as throughput, else it was a queue
    REST = 4  # windows between two careful steps

    def __init__(self, start: int = 16, highest: int = 1024, lowest: int = 1) -> None:
        self.value = min(start, highest)
        self._highest, self._lowest = highest, lowest
        self._careful = False
        self._rest = 0
        self._before: tuple[int, float] | None = None  # the value before the last growth, and its throughput
        self._latencies: list[float] = []
        self._tokens: int | None = 0  # of the window; `None` once an answer came without a count
        self._refused = self._seen = self._window = 0
        self._reset()

    def answered(self, latency: float, tokens: int | None) -> None:
        """Count towards the window; at its end, decide."""
        self._latencies.append(latency)
        self._tokens = None if tokens is None or self._tokens is None else self._tokens + tokens
        self._seen += 1
        if self._seen >= self._window:
            self._decide()

    def failed(self, kind: str) -> None:
        """Count towards the window; only overload matters, a malformed answer says nothing about load."""
        if kind in OVERLOAD:
            self._refused += 1
            self._seen += 1
            if self._seen >= self._window:
                self._decide()

    def _decide(self) -> None:
        refused = self._refused / self._seen
        if refused > 0:
            self.value = max(self._lowest, min(self.value - 1, round(self.value * (1 - refused))))
            self._careful, self._before, self._rest = True, None, self.REST
        elif self._latencies:
            self._grow(self._throughput())
        self._reset()

    def _grow(self, throughput: float) -> None:
        if self._before is not None:
            value, earlier = self._before
            expected = earlier * self.value / value
            if throughput < earlier + self.GAIN * (expected - earlier):
                self.value, self._careful, self._before, self._rest = value, True, None, self.REST
                return
        if self._rest > 0:
            self._rest -= 1
            return
        self._before = (self.value, throughput)
        factor = self.STEP if self._careful else self.FACTOR
        self.value = min(self._highest, max(self.value + 1, int(self.value * factor)))
        if self.value == self._before[0]:
            self._before = None

    def _throughput(self) -> float:
        done = self._tokens or len(self._latencies)
        return self.value * done / max(sum(self._latencies), 1e-9)

    def _reset(self) -> None:
        self._latencies.clear()
        self._tokens = 0
        self._refused = self._seen = 0
        self._window = max(8, self.value)


def make_room(wanted: int) -> None:
    """Make sure that so many connections can be open: raise the soft limit of open files, or say what to raise."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + SPARE_FILES
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise UsageError(
            f"{wanted} requests in flight need {needed} open files and this process may have {hard}; "
            f"raise it (`ulimit -Hn {needed}`, or LimitNOFILE of the service) or lower --concurrency to {hard - SPARE_FILES}"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def most_connections() -> int:
    """How many connections this process can have open, whatever the soft limit is now."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return 1_000_000 if hard == resource.RLIM_INFINITY else max(1, hard - SPARE_FILES)
