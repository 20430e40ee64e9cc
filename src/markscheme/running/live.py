"""The figures of a run in progress, for whoever displays them."""

from __future__ import annotations

import time


class Live:
    """Counters, written by the scheduler and the recorder."""

    def __init__(self, total: int = 0) -> None:
        self.total = total
        """Responses of the whole run."""
        self.kept = 0
        """Of those, answered by an earlier process: not part of any speed."""
        self.done = 0
        """Answered and on disk, the earlier ones included."""
        self.errors = 0
        self.in_flight = 0
        self.retrying = 0
        self.limit = 0
        """Requests that may be in flight."""
        self.truncated = 0
        self.tokens = 0
        """Completion tokens received by this process."""
        self.marks: dict[str, list[int]] = {}
        """Of each problem, how many responses are scored and how many of them right."""
        self.trouble: str | None = None
        """The last failure that was or will be tried again."""
        self.state = ""
        """What the user should know beside the figures, such as that the run is being stopped."""
        self.servers = ""
        """What servers and replicas are doing, while there is something to tell."""
        self.started = time.monotonic()

    def scored(self, key: str, correct: bool) -> None:
        """One more response has a verdict."""
        tally = self.marks.get(key)
        if tally is None:
            tally = self.marks[key] = [0, 0]
        tally[0] += 1
        tally[1] += correct
