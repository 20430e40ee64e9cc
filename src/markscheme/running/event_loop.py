"""The event loop of a run: its own, in a thread if one is running already (a notebook), and how to stop it from outside."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import wait
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, TypeVar

from markscheme.models.fleet.threads import in_thread

T = TypeVar("T")


class Stop:
    """Stops work in another thread, even if it is called before the work has begun."""

    def __init__(self) -> None:
        self._called = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._cancel: Callable[[], object] | None = None
        self._drain: Callable[[], object] | None = None

    def begin(self) -> None:
        """Register the current task as the one to stop."""
        task = asyncio.current_task()
        assert task is not None
        self._loop, self._cancel = asyncio.get_running_loop(), task.cancel
        if self._called:
            task.cancel()

    def finishes(self, drain: Callable[[], object]) -> None:
        """Register what finishes the requests in flight and starts nothing new."""
        self._drain = drain

    def drain(self) -> None:
        """Stop like the first Ctrl-C: requests in flight are paid for and are finished."""
        self._in_loop(self._drain) if self._drain is not None else self()

    def __call__(self) -> None:
        self._called = True
        self._in_loop(self._cancel)

    def _in_loop(self, call: Callable[[], object] | None) -> None:
        if self._loop is not None and call is not None:
            with suppress(RuntimeError):  # the loop has just ended
                self._loop.call_soon_threadsafe(call)


# Set by code that waits for a run in another thread.
STOP: ContextVar[Stop | None] = ContextVar("stop", default=None)


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a new event loop, in another thread if this one has a running loop.

    An interrupt ends the work before it is raised, so that nothing writes after the lock is released.
    """
    stop = STOP.get() or Stop()

    async def working() -> T:
        STOP.set(stop)
        stop.begin()
        return await work

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(working())
    outcome = in_thread(lambda: asyncio.run(working()), daemon=False)
    try:
        return outcome.result()  # Thread.join would forget the thread when it is interrupted
    except KeyboardInterrupt:
        stop.drain()
        outcome.result()  # a second interrupt drops the requests in flight
        raise
    finally:
        if not outcome.done():
            stop()
            wait([outcome])
