"""What every page is made from: the library, the addresses, the time it may take."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from markscheme.errors import JournalError
from markscheme.view.background import Background, Made
from markscheme.view.judging import Judgings
from markscheme.view.library import Entry, Library, OpenRun
from markscheme.view.links import Links
from markscheme.view.search import Searches

T = TypeVar("T")

PATIENCE = 0.35
"""Seconds a page waits for an index or a figure that is not ready; then it is shown without and asks again."""


class NotThereError(Exception):
    """There is nothing at this address; the message is for the reader of the page."""


@dataclass(frozen=True)
class Page:
    """A template with what it shows. `again` is when the page should ask for news, in seconds; 0 is never."""

    template: str
    title: str
    context: Mapping[str, Any] = field(default_factory=dict)
    again: float = 0


@dataclass(frozen=True)
class Site:
    """One folder of runs, as pages see it."""

    library: Library
    links: Links
    background: Background = field(default_factory=Background)
    searches: Searches = field(default_factory=Searches)
    judgings: Judgings = field(default_factory=Judgings)
    patience: float = PATIENCE
    until: float = 0.0
    """When this page's patience ends, as `time.monotonic`."""

    def begin(self, links: Links | None = None) -> Site:
        """The site as one page sees it: with its own addresses, and its patience starting now."""
        return replace(self, links=links or self.links, until=time.monotonic() + self.patience)

    @property
    def left(self) -> float:
        """Seconds that the page may still wait."""
        return max(0.0, self.until - time.monotonic())

    def entry(self, slug: str) -> Entry:
        """A run by its slug."""
        found = self.library.entry(slug)
        if found is None:
            raise NotThereError(f"There is no run {slug!r} in this folder.")
        return found

    def open(self, slug: str) -> OpenRun:
        """A run with its index as far as patience goes, and with what was judged while it was looked at."""
        try:
            run = self.library.open(self.entry(slug), self.left)
        except JournalError as trouble:
            raise NotThereError(f"{trouble}.") from None
        judged = self.judgings.of(run)
        if judged is None or not judged.complete:
            return run
        made = {name: (judged.labels[name], codes) for name, codes in judged.verdicts.items()}
        return replace(run, snapshot=replace(run.snapshot, judged=made))

    def figure(self, run: OpenRun, name: Hashable, work: Callable[[], T]) -> Made[T]:
        """A slow figure of a run's verdicts: what there is of it, and whether it is of this moment."""
        stamp = (run.snapshot.marks_version, frozenset(run.snapshot.judged))
        return self.background.get((run.entry.path, name), stamp, work, self.left)


def live(run: OpenRun, *, pending: bool = False) -> float:
    """How soon a page of this run has news."""
    if pending or not run.snapshot.complete:
        return 0.7
    return {"running": 2.0, "silent": 10.0}.get(run.entry.status, 0.0)
