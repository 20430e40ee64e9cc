"""Keeps what arrives: on disk first, then marked, then counted.

Everything that arrives within one turn of the event loop is written with one system call. A protocol that only reads
text marks in the loop (some 20 µs); one that may wait for a worker process marks in threads beside it, and a long
response in a process of its own, so that a slow mark never delays a request or a signal. When those fall behind, the
rest is marked after the asking, from the journal.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor

from markscheme.errors import MarkschemeError
from markscheme.marking import Protocol, mark
from markscheme.running.live import Live
from markscheme.running.within_limits import is_long, mark_apart, stop_marking
from markscheme.runs.journal import Journal
from markscheme.types import Mark, Problem, Response, Verdict

MOMENT = 3.0
"""Seconds for the marks under way when a run is told to end."""

BACKLOG = 256
"""Responses that may wait for a marking thread: more are left for later, so that memory stays flat."""


class Recorder:
    """The sink of the scheduler."""

    def __init__(
        self,
        journal: Journal,
        marks: Journal | None,
        problems: Mapping[str, Problem],
        protocol: Protocol,
        live: Live,
    ) -> None:
        self._journal, self._marks, self._live = journal, marks, live
        self._problems, self._protocol = problems, protocol
        self._arrived: list[Response] = []
        self._judged: list[Mark] = []
        self._flushing = False
        self._threads: ThreadPoolExecutor | None = None
        self._pending: set[Future[Mark]] = set()
        self.server_model: str | None = None
        self.on_failure: Callable[[BaseException], None] = lambda _: None
        """Told when something cannot be kept; the run cannot go on then."""

    def take(self, responses: list[Response]) -> None:
        """Keep these, at the end of this turn of the event loop."""
        self._arrived += responses
        self._soon()

    def flush(self) -> None:
        """Write, mark and count everything that has arrived."""
        self._flushing = False
        arrived, self._arrived = self._arrived, []
        try:
            if arrived:
                self._journal.write(arrived)
                for response in arrived:
                    self._count(response)
                self._mark(arrived)
            if self._judged:
                judged, self._judged = self._judged, []
                if self._marks is not None:
                    self._marks.write(judged)
        except MarkschemeError as failure:
            self.on_failure(failure)
        except BaseException as bug:
            self.on_failure(bug)  # in a callback of the event loop nobody else would hear of it
            raise

    async def finish(self, *, hurry: bool = False) -> None:
        """Wait for the marks under way; in a hurry only for a moment, and resuming makes the others."""
        if hurry and self._pending:
            await asyncio.wait([asyncio.wrap_future(future) for future in self._pending], timeout=MOMENT)
            self._pending = set()
            if self._threads is not None:
                self._threads.shutdown(wait=False, cancel_futures=True)
            stop_marking()
        while self._pending:
            await asyncio.wait([asyncio.wrap_future(future) for future in self._pending])
            await asyncio.sleep(0)
        if self._threads is not None:
            self._threads.shutdown()
        self.flush()

    def _soon(self) -> None:
        if not self._flushing:
            self._flushing = True
            asyncio.get_running_loop().call_soon(self.flush)

    def _count(self, response: Response) -> None:
        if response.error is not None:
            self._live.errors += 1
            return
        self._live.done += 1
        self._live.tokens += response.completion_tokens or 0
        self._live.truncated += response.finish_reason == "length"
        self.server_model = self.server_model or response.model

    def _mark(self, responses: list[Response]) -> None:
        name = self._protocol.name
        loop = asyncio.get_running_loop()
        quick: list[Mark] = []
        for response in responses:
            problem, apart = self._problems[response.key], is_long(response)
            if not self._protocol.slow and not apart:
                quick.append(mark(response, problem, protocol=name))
            elif len(self._pending) < BACKLOG:
                threads = self._threads or self._start_threads()
                future = threads.submit(mark_apart if apart else mark, response, problem, protocol=name)
                self._pending.add(future)
                future.add_done_callback(lambda done: loop.call_soon_threadsafe(self._thread_judged, done))
        self._judged_are(quick)

    def _start_threads(self) -> ThreadPoolExecutor:
        count = min(16, 2 * (os.cpu_count() or 1))
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="marking")
        return self._threads

    def _thread_judged(self, future: Future[Mark]) -> None:
        if future not in self._pending:  # nobody waits for it any more
            return
        self._pending.discard(future)
        error = future.exception()
        if error is not None:
            self.on_failure(error)
            return
        self._judged_are([future.result()])
        self._soon()

    def _judged_are(self, marks: list[Mark]) -> None:
        self._judged += marks
        for one in marks:
            if one.verdict is not Verdict.ERROR:
                self._live.scored(one.key, one.correct)
