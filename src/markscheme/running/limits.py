"""How many requests may be in flight: a number the user chose, or one that is found out while running."""

from __future__ import annotations

import resource
from collections.abc import Callable

from markscheme.errors import UsageError
from markscheme.models.base import KINDS

# Open files beside the connections: the journal, pipes of marking workers, libraries. Half of a limit that is lower
# than twice as many: about 25 are really open.
SPARE_FILES = 128

FIRST = 8  # requests in flight until the first answer: an address that nobody has answered from is not flooded


class FixedLimit:
    """A number that no attempt moves: the user's, or `room`, what the replicas that stand can take at the moment."""

    epoch = 0

    def __init__(self, value: int, room: Callable[[], int | None] = lambda: None) -> None:
        self._value, self._room = value, room

    @property
    def value(self) -> int:
        """How many may be in flight now."""
        return self._room() or self._value

    def answered(self, latency: float, tokens: int | None, epoch: int) -> None:
        """Changes nothing."""

    def failed(self, kind: str, latency: float, epoch: int) -> None:
        """Changes nothing: backing off is the retry policy's part."""


class AutoLimit:
    """Grows while the server gets more done, shrinks when it says that it is too much.

    What the server gets done with `value` requests in flight is `value × answers ÷ seconds of all attempts`, counted in
    tokens where it counts tokens (responses differ in length by a factor of a hundred). A growth that hardly raises this
    only makes a queue, or refusals, so it is taken back; a cut that hardly lowers it takes a queue away, so it stays.
    Doubling comes first; after the first growth in vain, careful steps up and down in turn. When most attempts are
    refused or time out, the limit shrinks at once; a few are judged by the same measure as everything else, since some
    failures have nothing to do with load. Only attempts that started after the last change count.
    """

    FACTOR = 2.0  # growth at first
    STEP = 1.25  # and once a limit has been seen
    GAIN = 0.4  # share of a growth that must arrive as throughput, else it was in vain
    REST = 3  # windows between two careful steps
    REFUSED = 0.5  # share of refusals in a window that needs no further judgement
    BACK = 0.8  # what remains then

    def __init__(self, start: int = 32, highest: int = 1024, first: int | None = None) -> None:
        """`first` requests at once until the first answer, then `start`."""
        self._start = min(start, highest)
        self.value = min(first or self._start, self._start)
        self.epoch = 0  # goes up when `value` changes; an attempt is reported with the epoch in which it started
        self._highest = highest
        self._answered = False  # anything, ever
        self._careful = False
        self._rest = 0
        self._up = True
        self._trial: tuple[int, float] | None = None  # the value before the step under trial, and its throughput
        self._attempts = self._answers = self._tokens = self._refused = 0
        self._counted = True  # every answer of the window told its tokens
        self._seconds = 0.0

    def answered(self, latency: float, tokens: int | None, epoch: int) -> None:
        """Count towards the window; at its end, decide."""
        if not self._answered:
            self._answered = True
            self._set(self._start)
        if epoch == self.epoch:
            self._answers += 1
            self._tokens += tokens or 0
            self._counted = self._counted and tokens is not None
            self._attempted(latency)

    def failed(self, kind: str, latency: float, epoch: int) -> None:
        """Count towards the window; only some kinds of failure speak of load, but all of them take time."""
        if epoch == self.epoch:
            self._refused += kind == "timeout" or (kind in KINDS and KINDS[kind].busy)
            self._attempted(latency)

    def _attempted(self, latency: float) -> None:
        self._attempts += 1
        self._seconds += latency
        window = max(8, self.value // 2)
        if self._refused >= self.REFUSED * window:
            self._careful, self._trial, self._rest, self._up = True, None, self.REST, True
            self._set(max(1, int(self.value * self.BACK)))
        elif self._attempts < window or not self._answered:
            return
        else:
            done = self._tokens if self._counted and self._tokens else self._answers
            self._climb(self.value * done / max(self._seconds, 1e-9))
        self._attempts = self._answers = self._tokens = self._refused = 0
        self._counted, self._seconds = True, 0.0

    def _climb(self, throughput: float) -> None:
        if self._trial is not None:
            value, before = self._trial
            self._trial = None
            expected = before * self.value / value
            # The same line for both directions: a step up must reach it, a step down must not fall below it.
            line = before + self.GAIN * (expected - before)
            if throughput < line:
                self._careful, self._rest = True, self.REST
                self._set(value)
                return
        if self._rest > 0:
            self._rest -= 1
            return
        self._trial = (self.value, throughput)
        if not self._careful:
            self._set(min(self._highest, int(self.value * self.FACTOR)))
        else:
            self._rest = self.REST
            step = self.STEP if self._up else 1 / self.STEP
            self._up = not self._up
            aim = round(self.value * step)
            self._set(max(1, min(self._highest, aim if aim != self.value else aim + 1)))

    def _set(self, value: int) -> None:
        if value == self.value:
            self._trial = None
            return
        self.value = value
        self.epoch += 1


Limit = FixedLimit | AutoLimit  # told of every attempt, says how many may be in flight now


def make_room(wanted: int) -> None:
    """Make sure that so many connections can be open: raise the soft limit of open files, or say what to raise."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + SPARE_FILES
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and wanted > most_connections():
        raise UsageError(
            f"{wanted} requests in flight need {needed} open files and this process may have {hard}; let it have more "
            f"(`ulimit -Hn {needed}` as root, or LimitNOFILE of the service) or lower --concurrency to {most_connections()}"
        )
    if hard != resource.RLIM_INFINITY:
        needed = min(needed, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
    except (OSError, ValueError):  # macOS promises no limit and keeps one
        raise UsageError(
            f"{wanted} requests in flight need {needed} open files, which this system does not allow; "
            "raise it (`ulimit -n`, `launchctl limit maxfiles`) or lower --concurrency"
        ) from None


def most_connections() -> int:
    """How many connections this process can have open, whatever the soft limit is now."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return 1_000_000 if hard == resource.RLIM_INFINITY else max(1, hard - min(SPARE_FILES, hard // 2))
