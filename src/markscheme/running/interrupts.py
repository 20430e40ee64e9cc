"""Ctrl-C once: finish what is in flight. Twice: drop it. A polite kill (SIGTERM, SIGHUP): drop it at once."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self, TypeVar

from markscheme.models.fleet.ranks import ALONE, Ranks
from markscheme.running.live import Live

TERMINATING = (signal.SIGTERM, signal.SIGHUP)  # a batch system that wants its place back, a terminal that was closed

T = TypeVar("T")

_early: list[int] = []  # signals that came before there was somebody to obey them


@contextmanager
def signals_kept(ranks: Ranks = ALONE) -> Iterator[None]:
    """Signals wait for `Interrupts`: from before a manifest says that the run goes on, so that it also says how it ended.

    Not where another thread has the event loop, which no signal reaches, nor among ranks: one that waits for the others
    in a call of torch hears nothing, and must die when it is told to.
    """
    if ranks.several or asyncio._get_running_loop() is not None or not _in_main_thread():
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


def _nothing() -> None:
    """What a signal calls while nothing can be stopped."""


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _handlers() -> dict[signal.Signals, Any]:
    """The present handlers of the signals that we take."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, *TERMINATING)}
    if handlers[signal.SIGHUP] is signal.SIG_IGN:  # nohup: the terminal may go, the run stays
        del handlers[signal.SIGHUP]
    return handlers


def _restore(handlers: dict[signal.Signals, Any]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, signal.SIG_DFL if handler is None else handler)


class Interrupts:
    """Holds the signals while it is entered: from before a model is started until the run is closed.

    Outside the main thread, where there are none, it does nothing.
    """

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
        """Signals call these while it lasts: `stop` drops everything, `drain` (else `stop`) begins nothing more.

        A signal that came just before it stops as well.
        """
        self._stop, self._drain = stop, drain or stop
        if self.happened:
            stop()
        try:
            yield
        finally:
            self._stop = self._drain = _nothing

    async def unless_interrupted(self, work: Awaitable[T]) -> T | None:
        """The result of a wait that a signal ends; `None` if one did."""
        task = asyncio.ensure_future(work)

        def give_up() -> None:
            # A second time would disturb a task in cleaning up.
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
        """What is left takes seconds, and whoever interrupts it gets no more: Ctrl-C pressed again is obeyed at once."""
        if self._held:
            self._loop.remove_signal_handler(signal.SIGINT)
            signal.signal(signal.SIGINT, self._again)  # also inside a call that keeps the event loop waiting

    def interrupt(self) -> None:
        """Once: finish what is in flight. Twice: drop it."""
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
