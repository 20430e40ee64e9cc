"""What is done of a run when a process begins to ask: which samples are answered, and the figures so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markscheme.running.live import Live
from markscheme.running.samples import SampleSet

if TYPE_CHECKING:
    from markscheme.runs.snapshot import Snapshot


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
            rows = slice(*(lambda span: (span.start, span.stop))(snapshot.rows_of(number)))
            self.answered.add_all(key, snapshot.sample[rows][answered[rows]].tolist())
            if n := int(scored[rows].sum()):
                self.live.marks[key] = [n, int((verdict[rows] == CORRECT).sum())]
        self.live.done = self.live.kept = len(self.answered)
        self.live.truncated = int((answered & (snapshot.rows["finish"] == FINISH.index("length"))).sum())
