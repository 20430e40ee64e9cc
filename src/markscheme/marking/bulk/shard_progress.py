"""Lines that say how far a marking is, also while nothing ends: a command that is silent looks like one that hangs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Self

from markscheme.marking.bulk.shard_parts import ShardOutcome

SAY_EVERY = 10.0

Say = Callable[[str], None]


class Progress:
    """A line every some seconds for the time of a block, and one when all is done."""

    def __init__(self, parts: int, done: int, say: Say) -> None:
        self._parts, self._done, self._say = parts, done, say
        self._marks = 0
        self._note = ""
        self._began = time.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._tick, name="progress", daemon=True)

    def __enter__(self) -> Self:
        if self._done:
            self._say(f"{self._done} of {self._parts} parts are there from before")
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        if self._done == self._parts and (self._parts > 1 or time.monotonic() - self._began > SAY_EVERY):
            self._say(self._line())

    def add(self, outcome: ShardOutcome) -> None:
        """A part is done."""
        self._done += 1
        self._marks += outcome.marks

    def note(self, text: str) -> None:
        """What else is worth saying, until there is something newer."""
        self._note = f"; {text}"

    def _tick(self) -> None:
        while not self._over.wait(SAY_EVERY):
            self._say(self._line() + self._note)

    def _line(self) -> str:
        seconds = time.monotonic() - self._began
        rate = self._marks / max(seconds, 1e-9)
        return (
            f"{self._done} of {self._parts} parts, {self._marks:,} responses marked in {seconds:,.0f} s, {rate:,.0f}/s"
        )
