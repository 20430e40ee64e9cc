"""Slow figures made beside the page: shown when they are ready, the last ones meanwhile, each made once at a time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")

MOST_KEPT = 1_000


class Made(NamedTuple, Generic[T]):
    """A figure, or None if there is none yet; `fresh` says whether it is of this very moment."""

    value: T | None
    fresh: bool


class Background:
    """Keeps the last value for each key and makes a new one when its stamp changes."""

    def __init__(self, workers: int = 2) -> None:
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="figures")
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, tuple[Hashable, object]] = OrderedDict()
        self._busy: dict[Hashable, Future[None]] = {}

    def known(self, key: Hashable, stamp: Hashable) -> Made[T] | None:
        """The value for this stamp, if it has been made."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is None or kept[0] != stamp:
                return None
            self._kept.move_to_end(key)
            return Made(kept[1], True)  # type: ignore[arg-type]  # what was made under this key

    def keep(self, key: Hashable, stamp: Hashable, value: T) -> Made[T]:
        """A value that was made elsewhere."""
        with self._lock:
            self._kept[key] = (stamp, value)
            self._kept.move_to_end(key)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return Made(value, True)

    def get(self, key: Hashable, stamp: Hashable, work: Callable[[], T | None], wait: float) -> Made[T]:
        """The value for this stamp if it is made within `wait` seconds, else the one before."""
        ready: Made[T] | None = self.known(key, stamp)
        if ready is not None:
            return ready
        with self._lock:
            future = self._busy.get(key)
            if future is None:
                future = self._busy[key] = self._pool.submit(self._make, key, stamp, work)
        with suppress(NotYet):
            future.result(wait)
        with self._lock:
            kept = self._kept.get(key)
        if kept is None:
            return Made(None, False)
        return Made(kept[1], kept[0] == stamp)  # type: ignore[arg-type]

    def _make(self, key: Hashable, stamp: Hashable, work: Callable[[], object]) -> None:
        try:
            self.keep(key, stamp, work())
        finally:
            with self._lock:
                self._busy.pop(key, None)

    def close(self) -> None:
        """Let go of the threads; what is being made is finished, nothing new is begun."""
        self._pool.shutdown(wait=False, cancel_futures=True)
