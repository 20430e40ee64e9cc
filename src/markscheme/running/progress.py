"""Progress of a run: a live display on a terminal, a plain line every few seconds elsewhere. Always on standard error."""

from __future__ import annotations

import math
import sys
import time
from typing import TYPE_CHECKING, Self

from markscheme.running.live import Live

if TYPE_CHECKING:
    from rich.live import Live as Screen
    from rich.table import Table

PLAIN_EVERY = 5.0
"""Seconds between plain lines: a log file of an overnight run stays readable."""
REDRAW_EVERY = 0.25


def progress(title: str, *, quiet: bool = False) -> Quiet | Lines | Panel:
    """The display that fits where standard error goes."""
    if quiet:
        return Quiet()
    return Panel(title) if sys.stderr.isatty() else Lines(title)


class Quiet:
    """Says nothing."""

    every = 3600.0
    title = ""

    def show(self, live: Live) -> None:
        """Nothing."""

    def say(self, line: str) -> None:
        """Nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None


class Lines(Quiet):
    """One plain line every few seconds, for logs."""

    every = PLAIN_EVERY

    def __init__(self, title: str) -> None:
        self.title = title
        self._said: tuple[object, ...] | None = None

    def say(self, line: str) -> None:
        """The line itself."""
        print(f"{self.title}: {line}", file=sys.stderr, flush=True)

    def show(self, live: Live) -> None:
        """One line, unless nothing has happened since the last."""
        now = (live.done, live.errors, live.in_flight, live.retrying, live.state, live.servers)
        if now != self._said:
            self.say(plain_line(live))
        self._said = now


class Panel(Quiet):
    """A live table on a terminal."""

    every = REDRAW_EVERY

    def __init__(self, title: str) -> None:
        self.title = title
        self._screen: Screen | None = None

    def __enter__(self) -> Self:
        from rich.console import Console
        from rich.live import Live as Screen

        # The event loop says when to redraw; a thread of rich's own would only take turns from it.
        self._screen = Screen(console=Console(stderr=True), auto_refresh=False, transient=True)
        self._screen.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._screen is not None:
            self._screen.stop()

    def say(self, line: str) -> None:
        """Above the table, to stay."""
        from rich.text import Text

        if self._screen is not None:
            self._screen.console.print(Text(f"{self.title}: {line}"))

    def show(self, live: Live) -> None:
        """Redraw."""
        if self._screen is not None:
            self._screen.update(self._table(live), refresh=True)

    def _table(self, live: Live) -> Table:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 2))
        bar = Table.grid(padding=(0, 1))
        share = f"{live.done / live.total:.0%}" if live.total else ""
        bar.add_row(Text(self.title, style="bold"), ProgressBar(live.total or 1, live.done, width=30), share)
        table.add_row(bar)
        for line in _figures(live):
            table.add_row(Text(line))
        told = [text for text in (live.state, live.servers) if text]
        for text in told:
            table.add_row(Text(text, style="yellow"))
        if not told and live.trouble and live.retrying:
            table.add_row(Text(f"trying again: {live.trouble}"[:200], style="yellow"))
        return table


def plain_line(live: Live) -> str:
    """Everything in one line."""
    parts = [part for part in _figures(live) if part]
    told = [text for text in (live.state, live.servers) if text]
    parts += told
    if not told and live.trouble and live.retrying:
        parts.append(f"trying again: {live.trouble[:120]}")
    return " · ".join(parts)


def _figures(live: Live) -> list[str]:
    elapsed = max(time.monotonic() - live.started, 1e-9)
    fresh = live.done - live.kept
    counts = (
        f"{live.done}/{live.total} done, {live.in_flight} in flight, {live.retrying} retrying, {live.errors} errors"
    )
    speed = f"{fresh / elapsed:.1f} responses/s"
    if live.tokens:
        speed += f", {live.tokens / elapsed:,.0f} tokens/s"
    if live.done:
        speed += f", {live.truncated / live.done:.1%} truncated"
    if fresh and live.done < live.total:
        speed += f", about {_duration((live.total - live.done) * elapsed / fresh)} left"
    return [counts, accuracy_so_far(live), speed]


def mean_so_far(live: Live) -> tuple[float | None, float]:
    """The mean over problems and half its 95 % interval: each problem is one observation, however many samples it has.

    A quick normal interval, right enough for a moving display; the report has the one to quote.
    """
    shares = [right / scored for scored, right in live.marks.values() if scored]
    if len(shares) < 2:
        return None, 0.0
    mean = math.fsum(shares) / len(shares)
    spread = math.fsum((share - mean) ** 2 for share in shares) / (len(shares) - 1)
    return mean, 1.96 * math.sqrt(spread / len(shares))


def accuracy_so_far(live: Live) -> str:
    """`accuracy 62.3 % ± 4.1 %`, once there is something to say."""
    mean, half = mean_so_far(live)
    return "" if mean is None else f"accuracy {mean:.1%} ± {half:.1%}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
