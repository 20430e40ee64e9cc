"""Batches for models that run in this process: rows wait, a thread takes those that fit together, futures are answered.

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
    """Feeds rows to `generate`, at most `size` at a time and all of one sampling."""

    def __init__(self, generate: Callable[[Sequence[Row]], list[Completion]], size: int) -> None:
        self._generate, self._size = generate, size
        self._waiting: list[tuple[Row, _Job, int]] = []
        self._changed = threading.Condition()
        self.closed = False
        """Nobody waits for an answer any more: `generate` may stop at the next token."""
        self._thread: threading.Thread | None = None

    async def put(self, rows: Sequence[Row]) -> list[Completion]:
        """The completions of these rows, in their order."""
        job = _Job(rows, asyncio.get_running_loop().create_future())
        with self._changed:
            if self._thread is None:
                # A daemon: a process that is told to end must not wait for a generation that does not stop.
                self._thread = threading.Thread(target=self._work, name="generating", daemon=True)
                self._thread.start()
            self._waiting += [(row, job, index) for index, row in enumerate(rows)]
            self._changed.notify()
        return await job.future

    def close(self) -> None:
        """Drop what waits and give the batch that is being generated a moment to stop."""
        with self._changed:
            self.closed = True
            self._waiting.clear()
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(LAST_TOKEN)

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
            if batch:
                self._run(batch)

    def _next(self) -> list[tuple[Row, _Job, int]]:
        """The rows nearest in length to the one that has waited longest."""
        self._waiting = [entry for entry in self._waiting if not entry[1].future.cancelled()]
        if not self._waiting:
            return []
        oldest = self._waiting[0]
        alike = [entry for entry in self._waiting if entry[0].sampling == oldest[0].sampling]
        alike.sort(key=lambda entry: len(entry[0].tokens))
        at = next(place for place, entry in enumerate(alike) if entry is oldest)
        first = max(0, min(at - self._size // 2, len(alike) - self._size))
        batch = alike[first : first + self._size]
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
