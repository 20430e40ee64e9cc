"""What earlier processes already did in a run folder: what is answered, what is marked, what it took."""

from __future__ import annotations

from markscheme.accounting import Accounts
from markscheme.running.live import Live
from markscheme.running.samples import SampleSet
from markscheme.runs import Run
from markscheme.types import Verdict


class Earlier:
    """Read from the journals, without their texts. Of a fresh run everything is empty."""

    def __init__(self, run: Run, protocol: str, accounts: Accounts) -> None:
        self.answered = SampleSet()
        self.marked = SampleSet()
        self.live = Live(run.manifest.problems * run.manifest.samples)
        self._read_responses(run, accounts)
        self._read_marks(run, protocol)
        self.damaged = run.damaged_lines

    def _read_responses(self, run: Run, accounts: Accounts) -> None:
        for head in run.heads():
            accounts.add(head)
            if head.error is None and self.answered.add(head.key, head.sample):
                self.live.truncated += head.finish_reason == "length"
        self.live.done = self.live.kept = len(self.answered)

    def _read_marks(self, run: Run, protocol: str) -> None:
        for head in run.mark_heads(protocol):
            if head.protocol != protocol:
                continue  # an older version of the protocol: made again
            if head.verdict is Verdict.ERROR and self.answered.has(head.key, head.sample):
                continue  # the answer came later, and the process ended before it was marked
            if self.marked.add(head.key, head.sample) and head.verdict is not Verdict.ERROR:
                self.live.scored(head.key, head.verdict is Verdict.CORRECT)
