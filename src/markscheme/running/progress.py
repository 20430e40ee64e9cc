"""Progress of a run: a live display in a terminal or notebook, else a plain line every few seconds."""

from __future__ import annotations

import math
import sys
import time
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self

from markscheme.redaction import printable
from markscheme.running.live import Live

if TYPE_CHECKING:
    from rich.live import Live as Screen
    from rich.table import Table

PLAIN_EVERY = 5.0  # seconds between plain lines, so that the log of a long run stays readable
REDRAW_EVERY = 0.25


def progress(title: str, *, quiet: bool = False) -> Quiet:
    """Return the display for a terminal, a notebook or a log."""
    if quiet:
        return Quiet()
    if _in_notebook():
        return NotebookLine(title)
    return Panel(title) if sys.stderr.isatty() else Lines(title)


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


class Quiet:
    """Shows nothing."""

    every = 3600.0
    title = ""

    def show(self, live: Live) -> None:
        pass

    def say(self, line: str) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None


class Lines(Quiet):
    """Prints a plain line every few seconds, for logs."""

    every = PLAIN_EVERY

    def __init__(self, title: str) -> None:
        self.title = title
        self._said: tuple[object, ...] | None = None

    def say(self, line: str) -> None:
        print(f"{self.title}: {printable(line)}", file=sys.stderr, flush=True)

    def show(self, live: Live) -> None:
        """Print a line unless nothing has happened since the last."""
        now = (live.done, live.errors, live.in_flight, live.retrying, live.state, live.servers)
        if now != self._said:
            self.say(plain_line(live))
        self._said = now


class NotebookLine(Lines):
    """Updates one line below the cell."""

    every = 0.5

    def __init__(self, title: str) -> None:
        super().__init__(title)
        self._line: Any = None

    def show(self, live: Live) -> None:
        ipython: Any = import_module("IPython.display")
        bar = f'<progress value="{live.done / max(1, live.total):.3f}" max="1"></progress>'
        shown = ipython.HTML(f"{bar} <small>{escape(f'{self.title}: {plain_line(live)}')}</small>")
        if self._line is None:
            self._line = ipython.display(shown, display_id=True)
        else:
            self._line.update(shown)


class Panel(Quiet):
    """Shows a live table in a terminal."""

    every = REDRAW_EVERY

    def __init__(self, title: str) -> None:
        self.title = title
        self._screen: Screen | None = None

    def __enter__(self) -> Self:
        from rich.console import Console
        from rich.live import Live as Screen

        # The event loop redraws; a thread of rich would only take time from it.
        self._screen = Screen(console=Console(stderr=True), auto_refresh=False, transient=True)
        self._screen.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._screen is not None:
            self._screen.stop()

    def say(self, line: str) -> None:
        """Print a line above the table."""
        from rich.text import Text

        if self._screen is not None:
            self._screen.console.print(Text(f"{self.title}: {printable(line)}"))

    def show(self, live: Live) -> None:
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
        for note in _notes(live, 186):
            table.add_row(Text(note, style="yellow"))
        return table


def plain_line(live: Live) -> str:
    """Return everything in one line."""
    return " · ".join(part for part in (*_figures(live), *_notes(live, 120)) if part)


def _notes(live: Live, longest: int) -> list[str]:
    """Return messages for the user, or the reason for retries if there are none."""
    notes = [note for note in (live.state, live.servers) if note]
    return notes or ([f"trying again: {live.trouble[:longest]}"] if live.trouble and live.retrying else [])


def _figures(live: Live) -> list[str]:
    elapsed = max(time.monotonic() - live.started, 1e-9)
    fresh = live.done - live.answered_before
    counts = (
        f"{live.done}/{live.total} done, {live.in_flight} in flight, {live.retrying} retrying, {live.errors} errors"
    )
    speed = f"{fresh / elapsed:.1f} responses/s"
    if live.tokens:
        speed += f", {live.tokens / elapsed:,.0f} tokens/s"
    if live.done:
        speed += f", {live.truncated / live.done:.1%} truncated"
    if fresh and live.done < live.total:
        speed += f", about {duration((live.total - live.done) * elapsed / fresh)} left"
    return [counts, accuracy_so_far(live), speed]


def mean_so_far(live: Live) -> tuple[float | None, float]:
    """Return the mean over problems and half the width of its 95 % interval.

    A normal interval is good enough for a moving display; the report has the one to quote.
    """
    shares = [right / scored for scored, right in live.marks.values() if scored]
    if len(shares) < 2:
        return None, 0.0
    mean = math.fsum(shares) / len(shares)
    spread = math.fsum((share - mean) ** 2 for share in shares) / (len(shares) - 1)
    return mean, 1.96 * math.sqrt(spread / len(shares))


def accuracy_so_far(live: Live) -> str:
    """Return the accuracy, such as `accuracy 62.3 % ± 4.1 %`, if there are at least two problems."""
    mean, half = mean_so_far(live)
    return "" if mean is None else f"accuracy {mean:.1%} ± {half:.1%}"


def duration(seconds: float) -> str:
    """`41 s`, `12 min`, `3.5 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
