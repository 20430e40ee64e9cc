"""The sandbox's process: reads a task, runs it within limits, writes the outcome, until its input ends.

Started as `python -m markscheme.marking._worker MEMORY_MB`, or in a fork of a run. Messages are msgpack
after a length of four bytes. Standard output is kept for them alone: what a task prints goes nowhere.
"""

from __future__ import annotations

import importlib
import os
import resource
import select
import sys
import threading
import time
from typing import IO, Any, BinaryIO

import msgspec


def serve(memory_mb: int) -> None:
    """Serve tasks until standard input closes, which also happens when the parent dies."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    questions, answers = os.fdopen(0, "rb", closefd=False), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    _limit_memory(memory_mb)
    send(answers, ["ready", None])
    while (message := _receive(questions)) is not None:
        task, arguments, time_limit = message
        _serve(answers, task, arguments, time_limit)


def _end_with_parent() -> None:
    """End in the middle of a task, too: nobody wants its result, and some take hours."""
    waiter = select.poll()
    waiter.register(0, 0)  # told of the end alone, not of messages
    waiter.poll()
    os._exit(1)


def _serve(answers: BinaryIO, task: str, arguments: list[Any], time_limit: float) -> None:
    try:
        module, _, name = task.partition(":")
        function = getattr(importlib.import_module(module), name)
        _limit_time(time_limit)
        send(answers, ["started", time.process_time()])
        send(answers, ["done", function(*arguments)])
    except MemoryError:
        send(answers, ["failed", "ran out of memory"])
    except Exception as problem:  # noqa: BLE001 - a task may fail in any way; the parent is told and goes on
        send(answers, ["failed", f"{type(problem).__name__}: {problem}"[:500]])


def _limit_memory(megabytes: int) -> None:
    size = megabytes << 20
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _limit_time(seconds: float) -> None:
    """A second line of defence: the system ends the process even if the parent is gone and the interpreter stuck."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(used.ru_utime + used.ru_stime + seconds) + 2
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def _receive(stream: BinaryIO) -> Any:
    head = stream.read(4)
    if len(head) < 4:
        return None
    body = stream.read(int.from_bytes(head, "big"))
    return msgspec.msgpack.decode(body)


def send(stream: IO[bytes], message: list[Any]) -> None:
    """Write a message, to either end of the pipe."""
    body = msgspec.msgpack.encode(message)
    stream.write(len(body).to_bytes(4, "big") + body)
    stream.flush()


if __name__ == "__main__":
    serve(int(sys.argv[1]))
