"""A pool of worker processes for work that may hang or use too much memory. A worker is killed at its limits and replaced.

Workers communicate over pipes, so the pool works from any thread, from asyncio (through `asyncio.to_thread`), after a fork,
and from a script without a `__main__` guard. They start on first use, end with this process, and use no signals here. A
worker with sympy takes about 65 MB, most of it shared with its nursery.
"""

from __future__ import annotations

import atexit
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final, Literal, Protocol

import msgspec

from markscheme.marking._worker import send

MEMORY_MB: Final = 1024  # address space of a worker
START_LIMIT: Final = 60.0  # seconds for a worker to start and import its task, which do not count against the task
STARVED: Final = 5  # a task may take this many times its limit by the clock if a busy machine gave it less CPU time
TASKS_PER_WORKER: Final = 500  # then a worker is replaced, since sympy's caches grow


class TaskOutcome(msgspec.Struct, frozen=True):
    """The result of a task: its value if `done`, else the reason."""

    status: Literal["done", "failed", "timeout", "died"]
    value: Any = None
    why: str = ""


class Process(Protocol):
    """The part of `subprocess.Popen` that a worker needs."""

    pid: int
    stdin: IO[bytes] | None
    stdout: IO[bytes] | None

    def kill(self) -> None: ...
    def wait(self) -> int: ...


class Nursery:
    """A process that forks workers and imports their modules once: a new worker costs 20 ms, importing sympy 500 ms."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None

    def start(self, memory_mb: int, module: str) -> Process:
        """Start a worker for tasks in this module. Raises `OSError` if that fails."""
        (read, tell), (hear, write) = os.pipe(), os.pipe()
        try:
            for attempt in (1, 2):
                try:
                    pid = self._ask([memory_mb, module], (read, write))
                    return _Forked(self, pid, os.fdopen(tell, "wb"), os.fdopen(hear, "rb"))
                except OSError:  # killed from outside
                    self.close()
                    if attempt == 2:
                        os.close(tell)
                        os.close(hear)
                        raise
            raise AssertionError
        finally:
            os.close(read)
            os.close(write)

    def end(self, pid: int) -> None:
        """Kill a worker. Without a nursery, workers end when their pipes close."""
        with suppress(OSError):
            self._ask(pid)

    def close(self) -> None:
        """Kill the process. Its workers end when their pipes close; the next worker is started by a new nursery."""
        with self._lock:
            process, self._process = self._process, None
            self.abandon()
        if process is not None:
            process.kill()
            process.wait()

    def abandon(self) -> None:
        """Forget the process without touching it."""
        if self._socket is not None:
            self._socket.close()
        self._socket = self._process = None

    def _ask(self, request: object, pipes: Sequence[int] = ()) -> int:
        with self._lock:
            if self._socket is None and pipes:
                self._begin()
            if self._socket is None:
                raise BrokenPipeError
            socket.send_fds(self._socket, [msgspec.msgpack.encode(request)], pipes)
            answer = self._socket.recv(8, socket.MSG_WAITALL)
        if len(answer) < 8:
            raise BrokenPipeError
        return int.from_bytes(answer, "big")

    def _begin(self) -> None:
        """Start the process in its own group, so that Ctrl-C in the terminal does not reach it."""
        source = str(Path(__file__).resolve().parents[2])
        paths = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH", "")]))
        self._socket, other = socket.socketpair()
        self._socket.settimeout(START_LIMIT)
        with other:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "markscheme.marking._worker"],
                stdin=other.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": paths},
                process_group=0,
            )


class _Forked:
    def __init__(self, nursery: Nursery, pid: int, stdin: IO[bytes], stdout: IO[bytes]) -> None:
        self.pid = pid
        self.stdin: IO[bytes] | None = stdin
        self.stdout: IO[bytes] | None = stdout
        self._nursery, self._lock, self._ended = nursery, threading.Lock(), False

    def kill(self) -> None:
        with self._lock:  # the waiting thread and the one that closes the pool may both kill it
            if not self._ended:
                self._nursery.end(self.pid)
            self._ended = True

    def wait(self) -> int:
        return -signal.SIGKILL


class _Worker:
    """One process and its pipes. Used by one thread at a time."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.tasks = 0
        self.buffer = b""

    def receive(self, deadline: float) -> tuple[str, Any] | None:
        """Return the next message, or None at the deadline. Raises `EOFError` if the process has ended."""
        assert self.process.stdout is not None
        pipe = self.process.stdout.fileno()
        waiter = select.poll()
        waiter.register(pipe, select.POLLIN | select.POLLHUP)
        while True:
            if len(self.buffer) >= 4:
                size = int.from_bytes(self.buffer[:4], "big")
                if len(self.buffer) >= 4 + size:
                    body, self.buffer = self.buffer[4 : 4 + size], self.buffer[4 + size :]
                    kind, value = msgspec.msgpack.decode(body)
                    return kind, value
            left = deadline - time.monotonic()
            if left <= 0 or not waiter.poll(left * 1000):
                return None
            chunk = os.read(pipe, 65536)
            if not chunk:
                raise EOFError
            self.buffer += chunk

    def worked(self) -> float | None:
        """Return the CPU seconds used by the process if it is running or runnable; None if it waits or is unknown."""
        try:
            state, *counts = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:  # not Linux, or it has ended
            return None
        # Waiting for a disk (D) counts as runnable: on a busy machine it is an import and not the fault of the task.
        return (int(counts[10]) + int(counts[11])) / os.sysconf("SC_CLK_TCK") if state in "RD" else None

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.abandon()

    def abandon(self) -> None:
        """Close the pipes without touching the process: after a fork it belongs to the parent."""
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(OSError):  # the dead worker did not read its last message
                    pipe.close()


class Pool:
    """At most `size` workers. A task waits for a free worker, and its time starts when it starts."""

    def __init__(
        self,
        size: int | None = None,
        *,
        memory_mb: int = MEMORY_MB,
        start: Callable[[int, str], Process | None] | None = None,
    ) -> None:
        """`start` may create workers in another way, given the memory and the task's module."""
        self.size = size or min(4, os.cpu_count() or 1)
        self.memory_mb, self._start = memory_mb, start
        self._reset()
        _pools.append(self)

    def _reset(self) -> None:
        self._nursery = Nursery()
        self._free = threading.Semaphore(self.size)
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._busy: set[_Worker] = set()
        self._closings = 0

    def run(self, task: str, arguments: list[Any], *, time_limit: float, steps: int = 0) -> TaskOutcome:
        """Run `module:function` with these arguments in a worker; the value must be plain data. Never raises.

        `steps` limits its work (`_worker._counted`), the same on every machine.
        """
        with self._free:
            closings = self._closings
            for _ in range(2):
                try:
                    worker = self._take(task)
                except OSError:
                    break
                if self._closings != closings:
                    self._give_back(worker, keep=False)
                    return TaskOutcome("died", why="the pool was closed")
                outcome = self._attempt(worker, [task, arguments, time_limit, steps])
                # An idle worker may have been killed from outside, so try another.
                if outcome is not None:
                    return outcome
        return TaskOutcome("died", why="the worker process could not be started")

    def _attempt(self, worker: _Worker, task: list[Any]) -> TaskOutcome | None:
        """Return the outcome, or None if the worker ended before the task started."""
        time_limit: float = task[2]
        started = False
        keep = False
        before = patience = 0.0
        try:
            assert worker.process.stdin is not None
            send(worker.process.stdin, task)
            deadline = time.monotonic() + START_LIMIT
            while True:
                message = worker.receive(deadline)
                if message is None and started and time.monotonic() < patience:
                    worked = worker.worked()
                    if worked is not None and worked - before < time_limit:
                        deadline = min(patience, time.monotonic() + max(0.05, time_limit - (worked - before)))
                        continue
                if message is None:
                    return TaskOutcome(
                        "timeout", why=f"took longer than {time_limit:g} s" if started else "did not start"
                    )
                kind, value = message
                if kind == "started":
                    started, deadline = True, time.monotonic() + time_limit
                    patience = time.monotonic() + STARVED * time_limit
                    before = value
                elif kind == "exhausted":
                    return TaskOutcome("timeout", why="took too many steps")
                elif kind != "ready":
                    keep = True
                    return TaskOutcome("done", value) if kind == "done" else TaskOutcome("failed", why=str(value))
        except (EOFError, OSError):
            return TaskOutcome("died", why="the worker process ended") if started else None
        finally:
            self._give_back(worker, keep=keep)

    def warm(self, task: str) -> None:
        """Start a worker before there is a task for it."""
        if not self._idle:
            with suppress(OSError):
                self._give_back(self._take(task), keep=True)

    def _take(self, task: str) -> _Worker:
        with self._lock:
            worker = self._idle.pop() if self._idle else None
        if worker is None:
            module = task.partition(":")[0]
            started = self._start(self.memory_mb, module) if self._start else None
            worker = _Worker(started or self._nursery.start(self.memory_mb, module))
        with self._lock:
            self._busy.add(worker)
        return worker

    def _give_back(self, worker: _Worker, *, keep: bool) -> None:
        worker.tasks += 1
        with self._lock:
            self._busy.discard(worker)
            if keep and worker.tasks < TASKS_PER_WORKER:
                self._idle.append(worker)
                return
        worker.kill()

    def close(self) -> None:
        """Kill all workers. The pool can be used again and then starts new ones."""
        with self._lock:
            self._closings += 1
            workers = [*self._idle, *self._busy]
            self._idle.clear()
        for worker in workers:
            worker.kill()
        self._nursery.close()

    def _after_fork(self) -> None:
        for worker in [*self._idle, *self._busy]:
            worker.abandon()
        self._nursery.abandon()
        self._reset()


_pools: Final[list[Pool]] = []
_default: Pool | None = None
_default_lock = threading.Lock()


def default_pool() -> Pool:
    global _default
    with _default_lock:
        if _default is None:
            _default = Pool()
        return _default


def _close_all() -> None:
    for pool in _pools:
        pool.close()


def _after_fork() -> None:
    global _default_lock
    _default_lock = threading.Lock()
    for pool in _pools:
        pool._after_fork()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_after_fork)
