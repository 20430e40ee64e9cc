"""The state of a run in progress: which samples are answered, and the figures to display."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from markscheme.runs.snapshot import Snapshot


class SampleSet:
    """A set of samples, as one integer per problem: a hundred thousand samples take a few kilobytes."""

    def __init__(self) -> None:
        self._bits: dict[str, int] = {}

    def add_all(self, key: str, samples: Iterable[int]) -> None:
        bits = self._bits.get(key, 0)
        for sample in samples:
            bits |= 1 << sample
        self._bits[key] = bits

    def has(self, key: str, sample: int) -> bool:
        return bool(self._bits.get(key, 0) >> sample & 1)

    def __len__(self) -> int:
        return sum(bits.bit_count() for bits in self._bits.values())


class Live:
    """Counters that the scheduler and the recorder update."""

    def __init__(self, total: int = 0) -> None:
        self.answered = SampleSet()  # these are not asked again
        self.total = total  # responses of the whole run
        self.answered_before = 0  # by an earlier process; not part of the speed
        self.done = 0  # answered and saved, also by earlier processes
        self.errors = 0
        self.in_flight = 0
        self.retrying = 0
        self.limit = 0  # requests that may be in flight
        self.truncated = 0
        self.tokens = 0  # completion tokens received by this process
        self.marks: dict[str, list[int]] = {}
        """The number of scored and of correct responses, by problem."""
        self.trouble: str | None = None  # the last failure that is retried
        self.state = ""  # a message for the user, such as that the run is stopping
        self.servers = ""  # what servers and replicas are doing
        self.started = time.monotonic()

    @classmethod
    def resumed(cls, snapshot: Snapshot, protocol: str) -> Self:
        """Return the counters of a run that has responses already."""
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
        return self.total - len(self.answered)

    def scored(self, key: str, correct: bool) -> None:
        """Count a verdict."""
        tally = self.marks.setdefault(key, [0, 0])
        tally[0] += 1
        tally[1] += correct
