"""What earlier processes already did in a run folder: what is answered, what is marked, what it took."""

from __future__ import annotations

from collections.abc import Iterable

from markscheme.running.live import Live
from markscheme.runs.folder import Run
from markscheme.runs.samples import SampleSet
from markscheme.runs.usage import Accounts
from markscheme.types import Question, Verdict


class Earlier:
    """Read from the journals, without their texts. Of a fresh run everything is empty."""

    def __init__(self, run: Run, questions: Iterable[Question], accounts: Accounts) -> None:
        self.accounts = accounts
        self.answered = SampleSet()
        self.marked = SampleSet()
        self.live = Live()
        self._wanted = run.wanted([question.problem.key for question in questions])
        self.live.total = sum(self._wanted.values())
        self._read_responses(run)
        self._read_marks(run)
        self.damaged = run.damaged_lines

    @property
    def missing(self) -> int:
        """Responses that are still to be asked for."""
        return self.live.total - len(self.answered)

    def _read_responses(self, run: Run) -> None:
        for head in run.heads():
            if head.sample >= self._wanted.get(head.key, 0):
                continue  # nothing this run asks for
            self.accounts.add(head)
            if head.error is None and self.answered.add(head.key, head.sample):
                self.live.truncated += head.finish_reason == "length"
        self.live.done = self.live.kept = len(self.answered)

    def _read_marks(self, run: Run) -> None:
        for head in run.mark_heads(run.manifest.protocol):
            if head.protocol != run.manifest.protocol:
                continue  # an older version of the protocol: made again
            if head.sample >= self._wanted.get(head.key, 0):
                continue
            if self.marked.add(head.key, head.sample) and head.verdict is not Verdict.ERROR:
                self.live.scored(head.key, head.verdict is Verdict.CORRECT)
