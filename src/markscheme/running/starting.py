"""Before the first request: a model that has servers to start does so, and Ctrl-C or SIGTERM ends the waiting at once."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from markscheme.models.base import Model
from markscheme.running.interrupts import Interrupts
from markscheme.running.live import Live


class _Waiting:
    """What a signal ends while nothing has been asked yet."""

    def __init__(self, task: asyncio.Task[str | None]) -> None:
        self._task = task

    def drain(self) -> None:
        self.stop()

    def stop(self) -> None:
        if not self._task.cancelling():  # a second time would disturb it in cleaning up
            self._task.cancel()


async def start_model(model: Model, folder: Path, live: Live, interrupts: Interrupts) -> bool:
    """Whether the model can be asked; false when the user stopped it. Raises `ModelError` when it does not start."""

    def say(text: str) -> None:
        live.servers = text

    task = asyncio.ensure_future(model.start(folder, say))
    still = ""
    with interrupts.stopping(_Waiting(task)):
        try:
            still = await task or ""
        except asyncio.CancelledError:
            if not interrupts.happened:
                raise
    live.servers = still
    live.started = time.monotonic()  # loading weights is no part of any speed
    return not interrupts.happened
