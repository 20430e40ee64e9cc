"""The processes of the sandbox. A worker reads tasks, runs each within limits and writes the result, until its input ends.

Workers are forks of a run or of the nursery, which runs as `python -m markscheme.marking._worker` and imports what workers
need once. A message is msgpack after a length of four bytes. Standard output carries only messages: what a task prints is
discarded.
"""

from __future__ import annotations

import gc
import importlib
import os
import resource
import select
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, BinaryIO, NoReturn

import msgspec


def nurse(requests: socket.socket) -> None:
    """Fork a worker for the pipes of each request, or kill one, until the other side closes.

    Only this process kills and reaps its workers, so a process id never belongs to another process.
    """
    while True:
        body, pipes, _, _ = socket.recv_fds(requests, 4096, 2)
        if not body:
            return
        request = msgspec.msgpack.decode(body)
        if isinstance(request, int):
            os.kill(request, signal.SIGKILL)
            os.waitpid(request, 0)
            requests.sendall(b"0" * 8)
            continue
        memory_mb, module = request
        with suppress(Exception):  # the worker fails in the same way and reports it
            prepare = getattr(importlib.import_module(module), "prepare", None)
            if prepare is not None:
                prepare()
        gc.freeze()
        if not (pid := os.fork()):
            requests.close()
            work(pipes[0], pipes[1], memory_mb)
        for pipe in pipes:
            os.close(pipe)
        requests.sendall(pid.to_bytes(8, "big"))


def work(read: int, write: int, memory_mb: int) -> NoReturn:
    try:
        os.dup2(read, 0)
        os.dup2(write, 1)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        serve(memory_mb)
    finally:
        os._exit(0)


def serve(memory_mb: int) -> None:
    """Serve tasks until standard input closes, as it does when the parent dies."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    questions, answers = os.fdopen(0, "rb", closefd=False), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    _limit_memory(memory_mb)
    send(answers, ["ready", None])
    while (message := _receive(questions)) is not None:
        task, arguments, time_limit, steps = message
        _serve(answers, task, arguments, time_limit, steps)


def _end_with_parent() -> None:
    """Exit when the parent dies, even during a task, since some tasks take hours."""
    waiter = select.poll()
    waiter.register(0, 0)  # wakes only when the pipe closes, not for messages
    waiter.poll()
    os._exit(1)


def _serve(answers: BinaryIO, task: str, arguments: list[Any], time_limit: float, steps: int) -> None:
    try:
        module, _, name = task.partition(":")
        function = getattr(importlib.import_module(module), name)
        _limit_time(time_limit)
        send(answers, ["started", time.process_time()])
        with _counted(steps, answers):
            value = function(*arguments)
        send(answers, ["done", value])
    except MemoryError:
        send(answers, ["failed", "ran out of memory"])
    except Exception as problem:  # noqa: BLE001 - a task may fail in any way; the parent continues
        send(answers, ["failed", f"{type(problem).__name__}: {problem}"[:500]])


def _limit_memory(megabytes: int) -> None:
    size = megabytes << 20
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _limit_time(seconds: float) -> None:
    """Have the system kill the process even if the parent is gone and the interpreter hangs."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(used.ru_utime + used.ru_stime + seconds) + 2
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.getrlimit(resource.RLIMIT_CPU)[1]))


@contextmanager
def _counted(steps: int, answers: BinaryIO) -> Iterator[None]:
    """End the process after this many steps, if not 0. A step is 700 new objects, counted by the garbage collector.

    Unlike time, that is the same on a fast, a slow and a busy machine.
    """
    left = steps

    def step(phase: str, _: object) -> None:
        nonlocal left
        left -= phase == "start"
        if left < 0:
            send(answers, ["exhausted", None])
            os._exit(0)

    if not steps:
        yield
        return
    gc.collect(0)  # the count begins at 0
    gc.callbacks.append(step)
    try:
        yield
    finally:
        gc.callbacks.remove(step)


def _receive(stream: BinaryIO) -> Any:
    head = stream.read(4)
    if len(head) < 4:
        return None
    body = stream.read(int.from_bytes(head, "big"))
    return msgspec.msgpack.decode(body)


def send(stream: IO[bytes], message: list[Any]) -> None:
    """Write a message to either end of the pipe."""
    body = msgspec.msgpack.encode(message)
    stream.write(len(body).to_bytes(4, "big") + body)
    stream.flush()


if __name__ == "__main__":
    nurse(socket.socket(fileno=0))
