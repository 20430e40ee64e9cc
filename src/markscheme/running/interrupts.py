"""Signals: the first Ctrl-C finishes the requests in flight, the second drops them, and SIGTERM or SIGHUP drop them at once."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self, TypeVar

from markscheme.running.live import Live

TERMINATING = (signal.SIGTERM, signal.SIGHUP)  # a batch system ends the job, a terminal is closed

T = TypeVar("T")

_early: list[int] = []  # signals that came before `Interrupts` was entered


@contextmanager
def signals_kept() -> Iterator[None]:
    """Hold signals for `Interrupts`, from before a manifest says that the run is going on until it says how it ended.

    Does nothing in another thread's event loop, which gets no signals.
    """
    if asyncio._get_running_loop() is not None or not _in_main_thread():
        yield
        return
    former = _handlers()
    for number in former:
        signal.signal(number, lambda number, _: _early.append(number))
    try:
        yield
    finally:
        _restore(former)
        while _early:
            signal.raise_signal(_early.pop())


def _nothing() -> None: ...


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _handlers() -> dict[signal.Signals, Any]:
    """Return the current handlers of the signals that we take."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, *TERMINATING)}
    if handlers[signal.SIGHUP] is signal.SIG_IGN:  # under nohup the run survives its terminal
        del handlers[signal.SIGHUP]
    return handlers


def _restore(handlers: dict[signal.Signals, Any]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, signal.SIG_DFL if handler is None else handler)


class Interrupts:
    """Handles signals from before a model is started until the run is closed; does nothing outside the main thread."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._stop: Callable[[], object] = _nothing
        self._drain: Callable[[], object] = _nothing
        self._held = _in_main_thread()
        self._former: dict[signal.Signals, Any] = {}
        self.happened = False

    def __enter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        if self._held:
            self._former = _handlers()
            for number in self._former:
                self._loop.add_signal_handler(number, self.interrupt if number is signal.SIGINT else self._terminate)
            while _early:
                self.interrupt() if _early.pop() == signal.SIGINT else self._terminate()
        return self

    def __exit__(self, *_: object) -> None:
        for number in self._former:
            self._loop.remove_signal_handler(number)
        _restore(self._former)

    @contextmanager
    def stopping(self, stop: Callable[[], object], drain: Callable[[], object] | None = None) -> Iterator[None]:
        """Let signals call `stop`, which drops everything, or `drain`, which starts nothing more.

        A signal that came before stops it too.
        """
        self._stop, self._drain = stop, drain or stop
        if self.happened:
            stop()
        try:
            yield
        finally:
            self._stop = self._drain = _nothing

    async def unless_interrupted(self, work: Awaitable[T]) -> T | None:
        """Return the result, or None if a signal came first."""
        task = asyncio.ensure_future(work)

        def give_up() -> None:
            # Cancelling again would disturb a task that is cleaning up.
            if not (isinstance(task, asyncio.Task) and task.cancelling()):
                task.cancel()

        with self.stopping(give_up):
            try:
                return await task
            except asyncio.CancelledError:
                if not self.happened:
                    raise
        return None

    def closing(self) -> None:
        """Obey the next Ctrl-C at once: what is left takes seconds."""
        if self._held:
            self._loop.remove_signal_handler(signal.SIGINT)
            signal.signal(signal.SIGINT, self._again)  # works inside a call that blocks the event loop too

    def interrupt(self) -> None:
        """Finish what is in flight; a second time, drop it."""
        if self.happened:
            self._terminate()
            return
        self.happened = True
        self._live.state = f"stopping: {self._live.in_flight} requests are still in flight (Ctrl-C again drops them)"
        self._drain()

    def _terminate(self) -> None:
        self.happened = True
        self._live.state = "stopping"
        self._stop()

    def _again(self, *_: object) -> None:
        if self.happened:
            raise KeyboardInterrupt
        self.happened = True
        self._loop.call_soon_threadsafe(self._terminate)
