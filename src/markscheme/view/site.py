"""What every page is made from: the library, the addresses, the time limit."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, NamedTuple, TypeVar

from markscheme.errors import JournalError, MarkschemeError
from markscheme.runs.columns import Ints
from markscheme.view.background import Background, Made
from markscheme.view.library import Entry, Library, OpenRun
from markscheme.view.links import Links

T = TypeVar("T")
Rows = TypeVar("Rows", Ints, list[Any])

# Seconds a page waits for an index or a figure; after that it is shown without it and reloads later.
PATIENCE = 0.35


class NotThereError(MarkschemeError):
    """Nothing exists at this address; the message is shown on the page."""


@dataclass(frozen=True)
class Page:
    """A template with its context. `again` is the number of seconds after which the page updates; 0 is never."""

    template: str
    title: str
    context: Mapping[str, Any] = field(default_factory=dict)
    again: float = 0


class Sheet(NamedTuple, Generic[Rows]):
    """One page of a long table."""

    rows: Rows
    page: int
    pages: int

    @classmethod
    def turn_to(cls, rows: Rows, asked: str | int, most: int, *, whole: bool = False) -> Sheet[Rows]:
        """Return the requested page or the nearest one; with `whole`, all rows on one page."""
        if whole:
            return cls(rows, 1, 1)
        text = str(asked)
        number = int(text) if text.isdecimal() and len(text) < 9 else 1
        pages = max(1, math.ceil(len(rows) / most))
        page = min(pages, max(1, number))
        return cls(rows[(page - 1) * most : page * most], page, pages)


@dataclass(frozen=True)
class Site:
    """One folder of runs, as pages see it."""

    library: Library
    links: Links
    background: Background = field(default_factory=Background)
    searches: Background = field(default_factory=lambda: Background(workers=3, most=30))
    judgings: Background = field(default_factory=lambda: Background(workers=1, most=4))
    patience: float = PATIENCE
    until: float = 0.0  # end of this page's patience, by `time.monotonic`

    def begin(self, links: Links | None = None) -> Site:
        """Return the site for one page, whose patience starts now."""
        return replace(self, links=links or self.links, until=time.monotonic() + self.patience)

    def close(self) -> None:
        for work in (self.background, self.searches, self.judgings):
            work.close()

    @property
    def left(self) -> float:
        return max(0.0, self.until - time.monotonic())

    def entry(self, slug: str) -> Entry:
        entry = self.library.entry(slug)
        if entry is None:
            raise NotThereError(f"This folder does not contain a run {slug!r}.")
        return entry

    def open(self, slug: str) -> OpenRun:
        """Open a run, indexed as far as patience allows, with the verdicts made since the viewer started."""
        try:
            run = self.library.open(self.entry(slug), self.left)
            if run.snapshot.complete:
                _ = run.snapshot.wanted  # fails here if the plan does not fit the problems
        except JournalError as trouble:
            raise NotThereError(f"{trouble}.") from None
        judging = self.judgings.known((run.entry.path, run.snapshot.version), True)
        if judging is None or judging.value is None:
            return run
        return replace(run, snapshot=replace(run.snapshot, judged=judging.value.judged))

    def figure(self, run: OpenRun, name: Hashable, work: Callable[[], T]) -> Made[T]:
        """Return a slow figure of a run's verdicts, as far as it is computed, and whether it is up to date."""
        stamp = (run.snapshot.marks_version, frozenset(run.snapshot.judged))
        return self.background.get((run.entry.path, name), stamp, lambda _: work(), self.left)


def live(run: OpenRun, *, pending: bool = False) -> float:
    """Return the seconds after which a page of this run should update."""
    if pending or not run.snapshot.complete:
        return 0.7
    return {"running": 2.0, "silent": 10.0}.get(run.entry.status, 0.0)
