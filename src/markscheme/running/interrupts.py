"""Ctrl-C once: finish what is in flight. Twice: drop it. A polite kill (SIGTERM): drop it at once."""

from __future__ import annotations

import asyncio
import signal
import threading
from typing import Self

from markscheme.running.live import Live
from markscheme.running.scheduler import Scheduler


class Interrupts:
    """Stops a scheduler on signals while it is entered. Outside the main thread, where there are none, it does nothing."""

    def __init__(self, scheduler: Scheduler, live: Live) -> None:
        self._scheduler, self._live = scheduler, live
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
        self._scheduler.drain()

    def _told(self) -> None:
        self.happened = True
        self._live.state = "stopping"
        self._scheduler.stop()
