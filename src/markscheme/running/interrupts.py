"""Ctrl-C once: finish what is in flight. Twice: drop it. A polite kill (SIGTERM): drop it at once."""

from __future__ import annotations

import asyncio
import signal
import threading
from typing import Protocol, Self

from markscheme.running.live import Live


class Stoppable(Protocol):
    """What a signal stops: a scheduler, or the wait for servers before it."""

    def drain(self) -> None:
        """Begin nothing more."""

    def stop(self) -> None:
        """Drop everything."""


class Interrupts:
    """Stops something on signals while it is entered. Outside the main thread, where there are none, it does nothing."""

    def __init__(self, work: Stoppable, live: Live) -> None:
        self._work, self._live = work, live
        self._handled: list[int] = []
        self.happened = False

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            loop = asyncio.get_running_loop()
            for number, handler in ((signal.SIGINT, self._asked), (signal.SIGTERM, self._told)):
                loop.add_signal_handler(number, handler)
                self._handled.append(number)
        return self

    def __exit__(self, *_: object) -> None:
        for number in self._handled:
            asyncio.get_running_loop().remove_signal_handler(number)

    def _asked(self) -> None:
        if self.happened:
            self._told()
            return
        self.happened = True
        self._live.state = f"stopping: {self._live.in_flight} requests are still in flight (Ctrl-C again drops them)"
        self._work.drain()

    def _told(self) -> None:
        self.happened = True
        self._live.state = "stopping"
        self._work.stop()
