"""Queues and batches for models in this process: threads take rows, futures receive the completions.

`RowQueue` is the queue. `Batcher` builds batches of rows of similar length around the one that has waited longest, so
padding is small and no row starves. The engine in `local/` takes rows whenever it has room.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from markscheme.models.base import Completion
from markscheme.types import Sampling

# Seconds without a new row before the waiting rows are taken: requests that start together arrive together.
LINGER = 0.005
LAST_TOKEN = 10.0  # seconds to wait at the end for the current token


class Row(NamedTuple):
    """One sample to generate."""

    tokens: list[int]
    seed: int
    room: int  # most tokens it may have
    sampling: Sampling


class _Job:
    """The rows of one request, and the future that receives their completions."""

    def __init__(self, rows: Sequence[Row], future: asyncio.Future[list[Completion]]) -> None:
        self.done: list[Completion | None] = [None] * len(rows)
        self.future = future

    def settle(self, index: int, completion: Completion) -> None:
        self.done[index] = completion
        completions = [one for one in self.done if one is not None]
        if len(completions) == len(self.done):
            self.tell(lambda: self.future.set_result(completions))

    def tell(self, tell: Callable[[], None]) -> None:
        def once() -> None:
            if not self.future.done():
                tell()

        loop = self.future.get_loop()
        if not loop.is_closed():
            loop.call_soon_threadsafe(once)


class Entry(NamedTuple):
    """A queued row, with its position in its request."""

    row: Row
    job: _Job
    place: int

    @property
    def abandoned(self) -> bool:
        """True if the request was cancelled."""
        return self.job.future.cancelled()

    def finish(self, completion: Completion) -> None:
        """Store the completion; the request is answered when all its rows are."""
        self.job.settle(self.place, completion)

    def fail(self, error: BaseException) -> None:
        """Fail the whole request."""
        self.job.tell(lambda: self.job.future.set_exception(error))


class RowQueue:
    """A queue of rows. Each thread calls `work`, starts with the first row and ends when the queue is closed."""

    def __init__(self, work: Callable[[], None], *, threads: int = 1) -> None:
        self._work, self._number = work, threads
        self.waiting: list[Entry] = []
        self.changed = threading.Condition()
        self.closed = False  # no request waits for an answer any more, so generation may stop at the next token
        self._threads: list[threading.Thread] = []

    async def put(self, rows: Sequence[Row]) -> list[Completion]:
        """Return the completions of these rows, in order."""
        job = _Job(rows, asyncio.get_running_loop().create_future())
        with self.changed:
            while len(self._threads) < self._number:
                # Daemon threads: a process that is told to exit must not wait for a generation that does not stop.
                self._threads.append(threading.Thread(target=self._work, name="generating", daemon=True))
                self._threads[-1].start()
            self.waiting += [Entry(row, job, index) for index, row in enumerate(rows)]
            self.changed.notify_all()
        return await job.future

    def wait(self) -> bool:
        """Return when rows are waiting and no more arrive for the moment; false if the queue is closed."""
        with self.changed:
            while not self.waiting and not self.closed:
                self.changed.wait()
        before = -1
        while not self.closed and len(self.waiting) != before:
            before = len(self.waiting)
            time.sleep(LINGER)
        return not self.closed

    def take(self) -> list[Entry]:
        """Take all waiting rows that were not cancelled."""
        with self.changed:
            rows, self.waiting = self.waiting, []
        return [entry for entry in rows if not entry.abandoned]

    def close(self) -> None:
        """Drop the waiting rows and give rows in progress a moment to stop."""
        with self.changed:
            self.closed = True
            self.waiting.clear()
            self.changed.notify_all()
        deadline = time.monotonic() + LAST_TOKEN
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))


class Batcher(RowQueue):
    """Pass rows to `generate`, at most `size` at a time and all with the same sampling options.

    With several `threads`, `generate` is called in each of them, and rows that are too few for full batches are shared.
    """

    def __init__(self, generate: Callable[[Sequence[Row]], list[Completion]], size: int, *, threads: int = 1) -> None:
        super().__init__(self._batches, threads=threads)
        self._generate, self._size, self._idle = generate, size, threads

    def _batches(self) -> None:
        while self.wait():
            with self.changed:
                batch = self._next()
                self._idle -= 1
            if batch:
                self._run(batch)
            with self.changed:
                self._idle += 1

    def _next(self) -> list[Entry]:
        """Return the rows closest in length to the one that has waited longest."""
        self.waiting = [entry for entry in self.waiting if not entry.abandoned]
        if not self.waiting:
            return []
        oldest = self.waiting[0]
        alike = [entry for entry in self.waiting if entry.row.sampling == oldest.row.sampling]
        alike.sort(key=lambda entry: len(entry.row.tokens))
        at = next(place for place, entry in enumerate(alike) if entry is oldest)
        size = min(self._size, -(-len(alike) // self._idle))
        first = max(0, min(at - size // 2, len(alike) - size))
        batch = alike[first : first + size]
        chosen = {id(entry) for entry in batch}
        self.waiting = [entry for entry in self.waiting if id(entry) not in chosen]
        return batch

    def _run(self, batch: list[Entry]) -> None:
        try:
            completions = self._generate([entry.row for entry in batch])
        except BaseException as error:  # noqa: BLE001 - carried to whoever waits, whatever it is
            for entry in batch:
                entry.fail(error)
            return
        for entry, completion in zip(batch, completions, strict=True):
            entry.finish(completion)
