"""Log to trackers during a run, from a thread each, so that a slow or failing one never holds up asking."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Self

from markscheme.errors import command, first_line
from markscheme.redaction import redacted_text
from markscheme.running.live import Live
from markscheme.running.progress import Quiet, mean_so_far
from markscheme.runs.folder import Run
from markscheme.tracking import TRACKERS, Tracker, check_trackers, log_run, open_tracker

EVERY = 5.0  # seconds between two points of a curve


class Tracked(Quiet):
    """A display that also logs to trackers. Failures are reported at the end and cost nothing else."""

    def __init__(self, display: Quiet, names: Sequence[str], folder: Path) -> None:
        check_trackers(names)
        self._display, self._folder = display, folder
        self.every = min(display.every, EVERY)
        self._next_show, self._next_point = 0.0, time.monotonic() + EVERY
        self._threads = {name: _TrackerThread(name, folder) for name in dict.fromkeys(names)}

    def show(self, live: Live) -> None:
        """Update the display and the trackers, each when it is due."""
        now = time.monotonic()
        if now >= self._next_show:
            self._display.show(live)
            self._next_show = now + 0.9 * self._display.every
        if now >= self._next_point:
            self._next_point = now + EVERY
            for thread in self._threads.values():
                thread.points.put((live.done, live_figures(live)))

    def say(self, line: str) -> None:
        self._display.say(line)

    def __enter__(self) -> Self:
        self._display.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._display.__exit__(*_)

    @contextmanager
    def telling(self) -> Iterator[Self]:
        """Run the threads of the trackers; at the end log the figures, the responses and the folder."""
        for thread in self._threads.values():
            thread.start()
        try:
            yield self
        finally:
            for thread in self._threads.values():
                thread.points.put(None)
            for name, thread in self._threads.items():
                thread.join()
                if thread.failure is not None:
                    again = f"{command('push', self._folder, to=name)} tries again"
                    reason = f"{TRACKERS[name]} did not get everything: {first_line(thread.failure)}"
                    print(redacted_text(f"markscheme: {reason}; {again}"), file=sys.stderr)


def live_figures(live: Live) -> dict[str, float]:
    """Return the figures of a point of a curve."""
    mean, half = mean_so_far(live)
    figures: dict[str, float] = {"live/done": live.done, "live/errors": live.errors, "live/tokens": live.tokens}
    if mean is not None:
        figures |= {"live/accuracy": mean, "live/accuracy_low": mean - half, "live/accuracy_high": mean + half}
    return figures


class _TrackerThread(threading.Thread):
    """One tracker and its queue."""

    def __init__(self, name: str, folder: Path) -> None:
        super().__init__(name=f"markscheme-{name}", daemon=True)
        self.points: SimpleQueue[tuple[int, Mapping[str, float]] | None] = SimpleQueue()
        self.failure: Exception | None = None
        self._tracker_name, self._folder = name, folder

    def run(self) -> None:
        tracker: Tracker | None = None
        try:
            while (point := self.points.get()) is not None:
                run = Run.open(self._folder)
                tracker = tracker or open_tracker(self._tracker_name, run)
                if run.manifest.config.step is None:  # else the axis is the training step
                    tracker.log(*point)
            if (self._folder / "manifest.json").exists():
                run = Run.open(self._folder)
                log_run(tracker or open_tracker(self._tracker_name, run), run)
        except Exception as error:  # noqa: BLE001 - a client may raise anything, and the run goes on
            self.failure = error
