"""The number of requests in flight: fixed by the user, or adapted to the server while running."""

from __future__ import annotations

import resource
from collections.abc import Callable

from markscheme.config import RunConfig
from markscheme.errors import UsageError, option
from markscheme.models.base import KINDS, Model

# Open files other than connections: journals, pipes of marking workers, libraries. About 25 are really open, so half of a
# low limit is enough.
SPARE_FILES = 128

# Requests in flight at one server that `auto` never exceeds: beyond it servers queue and do not get faster.
MOST_AUTOMATIC = 1024

FIRST = 8  # requests in flight until the first answer, so that a wrong address is not flooded


class FixedLimit:
    """The user's number, or `room`: what the replicas that are up can take now."""

    epoch = 0

    def __init__(self, value: int, room: Callable[[], int | None] = lambda: None) -> None:
        self._value, self._room = value, room

    @property
    def value(self) -> int:
        return self._room() or self._value

    def answered(self, latency: float, tokens: int | None, epoch: int) -> None:
        """Ignore the attempt."""

    def failed(self, kind: str, latency: float, epoch: int) -> None:
        """Ignore the failure: the retry policy backs off."""


class AutoLimit:
    """Grows while throughput grows, and shrinks when the server is overloaded.

    Throughput with `value` requests in flight is `value × answers ÷ seconds of all attempts`, in tokens if the server
    counts them, since responses differ in length by a factor of a hundred. A growth that hardly raises it only makes a
    queue or refusals and is undone; a cut that hardly lowers it only removes a queue and stays. The limit doubles until
    the first growth is undone, then takes small steps up and down in turn. If most attempts are refused or time out, it
    shrinks at once; a few failures count only through throughput, since some have nothing to do with load. Only attempts
    that started after the last change count.
    """

    FACTOR = 2.0  # first steps
    STEP = 1.25  # later steps
    GAIN = 0.4  # share of a growth that must become throughput, else the growth is undone
    REST = 3  # windows between two careful steps
    REFUSED = 0.5  # share of refusals in a window at which the limit shrinks at once
    BACK = 0.8  # by this factor

    def __init__(self, start: int = 32, highest: int = 1024, first: int | None = None) -> None:
        """Allow `first` requests until the first answer, then `start`."""
        self._start = min(start, highest)
        self.value = min(first or self._start, self._start)
        self.epoch = 0  # counts changes of `value`; attempts are reported with the epoch in which they started
        self._highest = highest
        self._answered = False  # anything, ever
        self._careful = False
        self._rest = 0
        self._up = True
        self._trial: tuple[int, float] | None = None  # value and throughput before the step on trial
        self._attempts = self._answers = self._tokens = self._refused = 0
        self._counted = True  # every answer in the window has a token count
        self._seconds = 0.0

    def answered(self, latency: float, tokens: int | None, epoch: int) -> None:
        """Count an answer, and decide at the end of a window."""
        if not self._answered:
            self._answered = True
            self._set(self._start)
        if epoch == self.epoch:
            self._answers += 1
            self._tokens += tokens or 0
            self._counted = self._counted and tokens is not None
            self._attempted(latency)

    def failed(self, kind: str, latency: float, epoch: int) -> None:
        """Count a failure: only some kinds are signs of load, but all take time."""
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
            # A step up must reach this line, and a step down must not fall below it.
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


Limit = FixedLimit | AutoLimit


def choose_limit(config: RunConfig, model: Model, missing: int) -> Limit:
    """Return the limit of requests in flight: the user's number, else the model's, else one that adapts.

    Refuses more connections than this process may have open files.
    """
    chosen = config.concurrency or model.concurrency
    if chosen is None and model.room is not None:
        return FixedLimit(1, room=lambda: model.room)
    if isinstance(chosen, int):
        value = max(1, min(chosen, missing))
        if model.connects:
            make_room(value)
        return FixedLimit(value)
    highest = MOST_AUTOMATIC * model.replicas
    if model.connects:
        highest = min(highest, most_connections())
        make_room(highest)
    return AutoLimit(32 * model.replicas, highest, first=None if model.reached else FIRST)


def make_room(wanted: int) -> None:
    """Raise the soft limit of open files for this many connections; if that fails, raise `UsageError` with what else to
    raise.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + SPARE_FILES
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and wanted > most_connections():
        raise UsageError(
            f"{wanted} requests in flight need {needed} open files and this process may have {hard}; raise that limit "
            f"(`ulimit -Hn {needed}` as root, or LimitNOFILE of the service) or lower {option('concurrency')} to {most_connections()}"
        )
    if hard != resource.RLIM_INFINITY:
        needed = min(needed, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
    except (OSError, ValueError):  # macOS reports no limit but has one
        raise UsageError(
            f"{wanted} requests in flight need {needed} open files, which this system does not allow; "
            f"raise it (`ulimit -n`, `launchctl limit maxfiles`) or lower {option('concurrency')}"
        ) from None


def most_connections() -> int:
    """Return the number of connections that the hard limit allows."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return 1_000_000 if hard == resource.RLIM_INFINITY else max(1, hard - min(SPARE_FILES, hard // 2))
