"""Run work in a separate thread, as a future."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def in_thread(work: Callable[[], T], *, daemon: bool = True) -> Future[T]:
    """Return a future of `work`. A daemon thread is abandoned when the process ends, however long it may take."""
    outcome: Future[T] = Future()
    outcome.set_running_or_notify_cancel()  # a caller that gives up must not cancel a future that is set later

    def target() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:  # noqa: BLE001 - carried over to whoever waits, whatever it is
            outcome.set_exception(error)

    threading.Thread(target=target, name="markscheme", daemon=daemon).start()
    return outcome
