"""Coroutines of the functions that ask a model: they run in a thread, and cancelling one keeps what has arrived."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def awaitable(function: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Return the function as a coroutine. Cancelled, it stops asking and waits until everything is saved."""

    @wraps(function)
    async def call(*args: P.args, **named: P.kwargs) -> T:
        from markscheme.running.event_loop import STOP, Stop

        stop = Stop()
        token = STOP.set(stop)  # the thread gets a copy of the context
        try:
            task = asyncio.ensure_future(asyncio.to_thread(function, *args, **named))
        finally:
            STOP.reset(token)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            stop()
            await asyncio.wait([task])
            raise

    call.__name__ = call.__qualname__ = f"{function.__name__}_async"
    call.__doc__ = f"`{function.__name__}` as a coroutine. Cancelled, it stops asking and keeps what has arrived."
    return call
