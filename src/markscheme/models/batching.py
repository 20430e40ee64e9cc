"""Batches for models that run in this process: rows wait, threads take those that fit together, futures are answered.

A batch is made of rows of like length around the one that has waited longest, so padding is small and nothing starves.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from markscheme.models.base import Completion
from markscheme.types import Sampling

LINGER = 0.005
"""Seconds between the first row and the batch: requests that start together arrive together."""
LAST_TOKEN = 10.0
"""Seconds to wait at the end for the token that is being generated."""


class Row(NamedTuple):
    """One sample to be generated."""

    tokens: list[int]
    seed: int
    room: int
    """Tokens it may have at most."""
    sampling: Sampling


class _Job:
    """The rows of one request, and who waits for them."""

    def __init__(self, rows: Sequence[Row], future: asyncio.Future[list[Completion]]) -> None:
        self.done: list[Completion | None] = [None] * len(rows)
        self.future = future

    def settle(self, index: int, completion: Completion) -> None:
        self.done[index] = completion
        completions = [one for one in self.done if one is not None]
        if len(completions) == len(self.done):
            self._tell(lambda: self.future.set_result(completions))

    def fail(self, error: BaseException) -> None:
        self._tell(lambda: self.future.set_exception(error))

    def _tell(self, tell: Callable[[], None]) -> None:
        def once() -> None:
            if not self.future.done():
                tell()

        loop = self.future.get_loop()
        if not loop.is_closed():
            loop.call_soon_threadsafe(once)


class Batcher:
    """Feeds rows to `generate`, at most `size` at a time and all of one sampling.

    With several `threads`, `generate` is called in each of them, and rows that are too few for full batches are shared.
    """

    def __init__(self, generate: Callable[[Sequence[Row]], list[Completion]], size: int, *, threads: int = 1) -> None:
        self._generate, self._size = generate, size
        self._number = self._idle = threads
        self._waiting: list[tuple[Row, _Job, int]] = []
        self._changed = threading.Condition()
        self.closed = False
        """Nobody waits for an answer any more: `generate` may stop at the next token."""
        self._threads: list[threading.Thread] = []

    async def put(self, rows: Sequence[Row]) -> list[Completion]:
        """The completions of these rows, in their order."""
        job = _Job(rows, asyncio.get_running_loop().create_future())
        with self._changed:
            while len(self._threads) < self._number:
                # Daemons: a process that is told to end must not wait for a generation that does not stop.
                self._threads.append(threading.Thread(target=self._work, name="generating", daemon=True))
                self._threads[-1].start()
            self._waiting += [(row, job, index) for index, row in enumerate(rows)]
            self._changed.notify_all()
        return await job.future

    def close(self) -> None:
        """Drop what waits and give the batches that are being generated a moment to stop."""
        with self._changed:
            self.closed = True
            self._waiting.clear()
            self._changed.notify_all()
        deadline = time.monotonic() + LAST_TOKEN
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self.closed:
                    self._changed.wait()
            time.sleep(LINGER)
            with self._changed:
                if self.closed:
                    return
                batch = self._next()
                self._idle -= 1
            if batch:
                self._run(batch)
            with self._changed:
                self._idle += 1

    def _next(self) -> list[tuple[Row, _Job, int]]:
        """The rows nearest in length to the one that has waited longest."""
        self._waiting = [entry for entry in self._waiting if not entry[1].future.cancelled()]
        if not self._waiting:
            return []
        oldest = self._waiting[0]
        alike = [entry for entry in self._waiting if entry[0].sampling == oldest[0].sampling]
        alike.sort(key=lambda entry: len(entry[0].tokens))
        at = next(place for place, entry in enumerate(alike) if entry is oldest)
        size = min(self._size, -(-len(alike) // self._idle))
        first = max(0, min(at - size // 2, len(alike) - size))
        batch = alike[first : first + size]
        chosen = {id(entry) for entry in batch}
        self._waiting = [entry for entry in self._waiting if id(entry) not in chosen]
        return batch

    def _run(self, batch: list[tuple[Row, _Job, int]]) -> None:
        try:
            completions = self._generate([row for row, _, _ in batch])
        except BaseException as error:  # noqa: BLE001 - carried to whoever waits, whatever it is
            for _, job, _ in batch:
                job.fail(error)
            return
        for (_, job, index), completion in zip(batch, completions, strict=True):
            job.settle(index, completion)
