"""Marking in a separate process, so that no response can hold up asking, Ctrl-C, SIGTERM or the display.

A response usually takes 20 µs, but the time that a text may take in a pattern, a parser or a plug-in has no bound, and
Python runs one thread at a time. The process marks batches. A batch over the time limit is killed and its responses are
marked one by one; the one at fault becomes `unmarkable`, so resuming does not meet it again.
"""

from __future__ import annotations

import asyncio
import gc
import math
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO

import msgspec
from msgspec.structs import replace

from markscheme.marking import get_protocol
from markscheme.marking._worker import work
from markscheme.marking.sandbox import Pool, Process
from markscheme.running.interrupts import Interrupts
from markscheme.runs.judging import Pair, judge_all
from markscheme.types import Mark, Problem, Response, Verdict

SECONDS = 5.0  # of processor time for a batch, and so for a single response
PROOF = 3.0  # extra seconds per response for a protocol that may wait for a proof by sympy
SIDE_BY_SIDE = 2
PATIENCE = 1.0  # seconds that a full batch has to wait before a second process starts, which costs 0.2 s of CPU time
LINGER = 0.05  # seconds to collect a batch: handing one over takes 0.2 ms
MANY, FEW = 256, 8  # responses in a batch, and in a batch for a protocol that may wait
JUDGE = f"{__name__}:judge_encoded"
# Characters that may wait for the process. More wait for the end of the run, so that memory use is bounded.
BACKLOG = 16 << 20

_decoder = msgspec.msgpack.Decoder(list[Mark])
_stops = 0


class Marker:
    """Marks added responses in batches, and calls `keep` with the marks in the event loop."""

    def __init__(self, protocol: str, keep: Callable[[list[Mark]], object]) -> None:
        self._protocol, self._keep = protocol, keep
        self._size = FEW if get_protocol(protocol).slow else MANY
        self._waiting: deque[Pair] = deque()
        self._characters = 0
        self._under_way: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._full_since = math.inf  # when a full batch began to wait, on the clock of the event loop
        self._threads = ThreadPoolExecutor(SIDE_BY_SIDE, thread_name_prefix="marking")
        self.stopped = False
        self._failure: BaseException | None = None

    @property
    def room(self) -> bool:
        """Whether more may be added now."""
        return self._characters < BACKLOG

    def add(self, response: Response, problem: Problem) -> None:
        self._waiting.append((response, problem))
        self._characters += _length(response)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(LINGER, self._begin)

    def stop(self) -> None:
        """Drop everything, also the batch in progress; resuming marks the rest."""
        self.stopped = True
        self._waiting.clear()
        stop_marking()

    async def some(self) -> None:
        """Wait until there may be room again."""
        self._begin()
        if self._under_way:
            await asyncio.wait(self._under_way, return_when=asyncio.FIRST_COMPLETED)

    @contextmanager
    def obeying(self, interrupts: Interrupts, seconds: float) -> Iterator[None]:
        """Stop on a signal. If one has come already, stop after this many seconds."""
        if not interrupts.happened:
            with interrupts.stopping(self.stop):
                yield
            return
        clock = asyncio.get_running_loop().call_later(seconds, self.stop)
        try:
            yield
        finally:
            clock.cancel()

    async def finish(self) -> None:
        """Wait until everything is marked or the marker was stopped; raise what made it fail."""
        while self._waiting or self._under_way:
            await self.some()
        if self._timer is not None:
            self._timer.cancel()
        self._threads.shutdown(wait=False)
        if self._failure is not None:
            raise self._failure

    def _begin(self) -> None:
        """Start a batch, and a second one beside it if the first process does not keep up."""
        loop = asyncio.get_running_loop()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._waiting and len(self._under_way) < SIDE_BY_SIDE:
            full = len(self._waiting) >= self._size
            self._full_since = min(self._full_since, loop.time()) if full else math.inf
            if self._under_way and loop.time() < self._full_since + PATIENCE:
                if full:
                    self._timer = loop.call_at(self._full_since + PATIENCE, self._begin)
                return
            batch = [self._waiting.popleft() for _ in range(min(self._size, len(self._waiting)))]
            task = loop.create_task(self._judge(batch))
            self._under_way.add(task)
            task.add_done_callback(self._ended)

    async def _judge(self, batch: list[Pair]) -> None:
        loop = asyncio.get_running_loop()
        self._keep(await loop.run_in_executor(self._threads, mark_apart, batch, self._protocol))
        self._characters -= sum(_length(response) for response, _ in batch)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._under_way.discard(task)
        if not task.cancelled() and (failure := task.exception()) is not None:
            self._failure = self._failure or failure
            self.stop()
        self._begin()


def _length(response: Response) -> int:
    return len(response.text) + len(response.reasoning or "")


def mark_apart(pairs: Sequence[Pair], protocol: str) -> list[Mark]:
    """Mark a batch in the other process, while other threads go on. Returns nothing if it is stopped."""
    rule, stops = get_protocol(protocol), _stops
    limit = SECONDS + (PROOF * len(pairs) if rule.slow else 0.0)
    # JSON is the only format that holds every integer. Marking uses only the names of metadata.
    bare = [(replace(response, metadata=dict.fromkeys(response.metadata)), problem) for response, problem in pairs]
    # A function of this program by its label: a copy of this process may know an earlier version of it.
    known_as = (
        rule.source if rule.source.rpartition(":")[0].endswith(".py") else rule.label if rule.source else protocol
    )
    outcome = _pool().run(JUDGE, [msgspec.json.encode(bare), known_as], time_limit=limit)
    if outcome.status == "done":
        return _decoder.decode(outcome.value)
    if stops != _stops:
        return []
    if outcome.status == "failed" and "memory" not in outcome.why:  # a protocol that only this process knows
        return list(judge_all(pairs, protocol))
    if len(pairs) > 1:
        return [one for pair in pairs for one in mark_apart([pair], protocol)]
    why = f"the marker {outcome.why}" if outcome.status == "timeout" else f"the marker failed: {outcome.why}"
    ((response, _),) = pairs
    return [Mark(verdict=Verdict.UNMARKABLE, protocol=rule.label, why=why, key=response.key, sample=response.sample)]


def judge_encoded(pairs: bytes, protocol: str) -> bytes:
    decoded = msgspec.json.decode(pairs, type=list[Pair])
    return msgspec.msgpack.encode(list(judge_all(decoded, protocol)))


def start_marking() -> None:
    """Start the process before the first answer, while this process has only one thread."""
    _pool().warm(JUDGE)


def stop_marking() -> None:
    """Kill the batches in progress."""
    global _stops
    _stops += 1
    _pool().close()


@cache
def _pool() -> Pool:
    """Return a separate pool: a mark that waits for a worker of the marker's pool must not occupy one."""
    return Pool(SIDE_BY_SIDE, start=_fork)


def _fork(memory_mb: int, _module: str) -> Process | None:
    """Return a copy of this process, which has everything imported and saves 0.2 s. Not safe with other threads."""
    alone = sys.platform == "linux" and len(list(Path("/proc/self/task").glob("*"))) == 1  # empty without /proc
    return _Fork(memory_mb) if alone else None


class _Fork:
    """A forked process that serves tasks."""

    def __init__(self, memory_mb: int) -> None:
        (read, tell), (hear, write) = os.pipe(), os.pipe()
        gc.freeze()  # neither process searches for cycles in what both have, which would copy every page of it
        self.pid = os.fork()
        if not self.pid:
            _leave_the_run()
            work(read, write, memory_mb)
        gc.unfreeze()  # as the oldest objects
        os.close(read)
        os.close(write)
        self.stdin: IO[bytes] | None = os.fdopen(tell, "wb")
        self.stdout: IO[bytes] | None = os.fdopen(hear, "rb")
        self._ended, self._lock = False, threading.Lock()  # the waiting thread and `stop` may both end it

    def kill(self) -> None:
        with self._lock:
            if not self._ended:
                os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        with self._lock:
            if not self._ended:
                os.waitpid(self.pid, 0)
            self._ended = True
        return -signal.SIGKILL


def _leave_the_run() -> None:
    """Leave the signals and Ctrl-C to the run, in the forked process."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    os.setsid()
