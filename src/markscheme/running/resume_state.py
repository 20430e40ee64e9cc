"""What is done of a run when a process begins to ask: which samples are answered, and the figures so far."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from markscheme.running.live import Live

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


class ResumeState:
    """Made from a snapshot of the folder; a fresh run has nothing yet, and needs none."""

    def __init__(self, total: int, snapshot: Snapshot | None = None, protocol: str = "") -> None:
        self.answered = SampleSet()
        self.live = Live(total)
        if snapshot is not None:
            self._read(snapshot, protocol)

    @property
    def missing(self) -> int:
        """Responses that are still to be asked for."""
        return self.live.total - len(self.answered)

    def _read(self, snapshot: Snapshot, protocol: str) -> None:
        from markscheme.runs.columns import CORRECT, ERROR, FINISH, UNMARKED

        answered, verdict = ~snapshot.failed, snapshot.verdict(protocol)
        scored = answered & (verdict != UNMARKED) & (verdict != ERROR)
        for number, key in enumerate(snapshot.keys):
            span = snapshot.rows_of(number)
            rows = slice(span.start, span.stop)
            self.answered.add_all(key, snapshot.sample[rows][answered[rows]].tolist())
            if n := int(scored[rows].sum()):
                self.live.marks[key] = [n, int((verdict[rows] == CORRECT).sum())]
        self.live.done = self.live.kept = len(self.answered)
        self.live.truncated = int((answered & (snapshot.rows["finish"] == FINISH.index("length"))).sum())
