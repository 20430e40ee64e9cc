"""Progress of a run: a live bar on a terminal, a plain line every few seconds elsewhere. Always on standard error."""

from __future__ import annotations

import sys
import time
from typing import Self

from markscheme.types import Mark, Response, Verdict

PLAIN_EVERY = 5.0
"""Seconds between plain lines: a log file of an overnight run stays readable."""


class Progress:
    """Counts what arrives. Call it with each response and mark; use it as a context manager."""

    def __init__(self, title: str, *, quiet: bool = False) -> None:
        self._title = title
        self._quiet = quiet
        self._done = self._correct = self._errors = 0
        self._last = time.monotonic()
        self._total = 0

    def begin(self, total: int) -> None:
        """How many responses are still to come."""
        self._total = total

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def __call__(self, response: Response, mark: Mark) -> None:  # noqa: ARG002
        self._done += 1
        self._correct += mark.correct
        self._errors += mark.verdict is Verdict.ERROR
        now = time.monotonic()
        if not self._quiet and now - self._last >= PLAIN_EVERY:
            self._last = now
            print(f"{self._title}: {self._done} done, {self._errors} errors", file=sys.stderr)
