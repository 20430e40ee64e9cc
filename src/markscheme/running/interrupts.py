"""Ctrl-C once: finish what is in flight. Twice: drop it. A polite kill (SIGTERM, SIGHUP): drop it at once."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, Self, TypeVar

from markscheme.running.live import Live

TOLD = (signal.SIGTERM, signal.SIGHUP)
"""A batch system that wants its place back, a terminal that was closed."""

T = TypeVar("T")


class Stoppable(Protocol):
    """What a signal stops: a scheduler, the marks that are made after it, a wait."""

    def drain(self) -> None:
        """Begin nothing more."""

    def stop(self) -> None:
        """Drop everything."""


class _Waiting:
    """A wait that both end."""

    def __init__(self, task: asyncio.Future[Any]) -> None:
        self._task = task

    def drain(self) -> None:
        self.stop()

    def stop(self) -> None:
        # A second time would disturb a task in cleaning up.
        if not (isinstance(self._task, asyncio.Task) and self._task.cancelling()):
            self._task.cancel()


class Interrupts:
    """Holds the signals while it is entered: from before a model is started until the run is closed.

    Outside the main thread, where there are none, it does nothing.
    """

    def __init__(self, live: Live) -> None:
        self._live = live
        self._work: Stoppable | None = None
        self._held = threading.current_thread() is threading.main_thread()
        self._former: dict[signal.Signals, Any] = {}
        self.happened = False

    def __enter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        if self._held:
            self._former = {number: signal.getsignal(number) for number in (signal.SIGINT, *TOLD)}
            if self._former[signal.SIGHUP] is signal.SIG_IGN:  # nohup: the terminal may go, the run stays
                del self._former[signal.SIGHUP]
            for number in self._former:
                self._loop.add_signal_handler(number, self.asked if number is signal.SIGINT else self._told)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._former.items():
            self._loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

    @contextmanager
    def stopping(self, work: Stoppable) -> Iterator[None]:
        """Signals stop this while it lasts; one that came just before it stops it as well."""
        self._work = work
        if self.happened:
            work.stop()
        try:
            yield
        finally:
            self._work = None

    async def unless_told(self, work: Awaitable[T]) -> T | None:
        """The result of a wait that a signal ends; `None` if one did."""
        task = asyncio.ensure_future(work)
        with self.stopping(_Waiting(task)):
            try:
                return await task
            except asyncio.CancelledError:
                if not self.happened:
                    raise
        return None

    def closing(self) -> None:
        """What is left takes seconds, and whoever interrupts it gets no more: Ctrl-C pressed again is obeyed at once."""
        if self._held:
            self._loop.remove_signal_handler(signal.SIGINT)
            signal.signal(signal.SIGINT, self._again)  # also inside a call that keeps the event loop waiting

    def asked(self) -> None:
        """Once: finish what is in flight. Twice: drop it."""
        if self.happened:
            self._told()
            return
        self.happened = True
        self._live.state = f"stopping: {self._live.in_flight} requests are still in flight (Ctrl-C again drops them)"
        if self._work is not None:
            self._work.drain()

    def _told(self) -> None:
        self.happened = True
        self._live.state = "stopping"
        if self._work is not None:
            self._work.stop()

    def _again(self, *_: object) -> None:
        if self.happened:
            raise KeyboardInterrupt
        self.happened = True
        self._loop.call_soon_threadsafe(self._told)
