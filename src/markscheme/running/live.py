"""What is done of a run in progress: which samples are answered, and the figures, for whoever displays them."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from markscheme.runs.snapshot import Snapshot


class SampleSet:
    """Which samples of which problem are there, in one integer a problem: a hundred thousand take a few kilobytes."""

    def __init__(self) -> None:
        self._bits: dict[str, int] = {}

    def add_all(self, key: str, samples: Iterable[int]) -> None:
        """Put some of a problem in."""
        bits = self._bits.get(key, 0)
        for sample in samples:
            bits |= 1 << sample
        self._bits[key] = bits

    def has(self, key: str, sample: int) -> bool:
        """Whether it is there."""
        return bool(self._bits.get(key, 0) >> sample & 1)

    def __len__(self) -> int:
        return sum(bits.bit_count() for bits in self._bits.values())


class Live:
    """Counters, written by the scheduler and the recorder."""

    def __init__(self, total: int = 0) -> None:
        self.answered = SampleSet()  # what is not asked again
        self.total = total  # responses of the whole run
        self.answered_before = 0  # by an earlier process: no part of any speed
        self.done = 0  # answered and on disk, the earlier ones included
        self.errors = 0
        self.in_flight = 0
        self.retrying = 0
        self.limit = 0  # requests that may be in flight
        self.truncated = 0
        self.tokens = 0  # completion tokens received by this process
        self.marks: dict[str, list[int]] = {}
        """By problem: how many responses are scored, and how many of them are right."""
        self.trouble: str | None = None  # the last failure that was or will be tried again
        self.state = ""  # what the user should know beside the figures, such as that the run is being stopped
        self.servers = ""  # what servers and replicas are doing, while there is something to tell
        self.started = time.monotonic()

    @classmethod
    def resumed(cls, snapshot: Snapshot, protocol: str) -> Self:
        """The counters of a run that has responses already."""
        from markscheme.runs.columns import CORRECT, ERROR, FINISH, UNMARKED

        live = cls(snapshot.expected)
        answered, verdict = ~snapshot.failed, snapshot.verdict(protocol)
        scored = answered & (verdict != UNMARKED) & (verdict != ERROR)
        for number, key in enumerate(snapshot.keys):
            span = snapshot.rows_of(number)
            rows = slice(span.start, span.stop)
            live.answered.add_all(key, snapshot.sample[rows][answered[rows]].tolist())
            if n := int(scored[rows].sum()):
                live.marks[key] = [n, int((verdict[rows] == CORRECT).sum())]
        live.done = live.answered_before = len(live.answered)
        live.truncated = int((answered & (snapshot.rows["finish"] == FINISH.index("length"))).sum())
        return live

    @property
    def missing(self) -> int:
        """Responses that are still to be asked for, when a process begins."""
        return self.total - len(self.answered)

    def scored(self, key: str, correct: bool) -> None:
        """One more response has a verdict."""
        tally = self.marks.setdefault(key, [0, 0])
        tally[0] += 1
        tally[1] += correct
