"""Slow work in the background: pages show partial values until the whole is ready."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

T = TypeVar("T")
Report = Callable[[T], bool]  # takes a partial value; returns False if the work should stop

ABANDONED = 20.0  # seconds without a request after which work is abandoned


class Made(NamedTuple, Generic[T]):
    """A value, or None if there is none yet; `fresh` if it is complete and up to date."""

    value: T | None
    fresh: bool


@dataclass
class _Job:
    wanted_until: float = 0.0
    future: Future[None] | None = None


class Background:
    """Keeps the last value for each key and computes a new one when its stamp changes."""

    def __init__(self, workers: int = 2, most: int = 1_000) -> None:
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="background")
        self._most = most
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, tuple[Hashable, Any]] = OrderedDict()
        self._busy: dict[Hashable, _Job] = {}
        self._closed = False

    def known(self, key: Hashable, stamp: Hashable) -> Made[Any] | None:
        """Return the value for this stamp if there is one."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is None or kept[0] != stamp:
                return None
            self._kept.move_to_end(key)
            return Made(kept[1], True)

    def keep(self, key: Hashable, stamp: Hashable, value: T) -> Made[T]:
        with self._lock:
            self._kept[key] = (stamp, value)
            self._kept.move_to_end(key)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return Made(value, True)

    def get(self, key: Hashable, stamp: Hashable, work: Callable[[Report[T]], T | None], wait: float | None) -> Made[T]:
        """Return the value for this stamp if it is ready within `wait` seconds, else the last partial value."""
        ready = self.known(key, stamp)
        if ready is not None:
            return ready
        with self._lock:
            job = self._busy.setdefault(key, _Job())
            if job.future is None:
                job.future = self._pool.submit(self._make, key, stamp, work, job)
            patience = math.inf if wait is None else wait
            job.wanted_until = max(job.wanted_until, time.monotonic() + patience + ABANDONED)
        with suppress(NotYet):
            job.future.result(wait)
        with self._lock:
            kept_stamp, value = self._kept.get(key, (None, None))
        return Made(value, kept_stamp == stamp)

    def _make(self, key: Hashable, stamp: Hashable, work: Callable[[Report[T]], T | None], job: _Job) -> None:
        unfinished = object()  # the stamp of a partial value, equal to no other
        given_up = False

        def report(so_far: T) -> bool:
            nonlocal given_up
            self.keep(key, unfinished, so_far)
            given_up = self._closed or time.monotonic() > job.wanted_until
            return not given_up

        try:
            value = work(report)
            self.keep(key, unfinished if given_up else stamp, value)
        finally:
            with self._lock:
                self._busy.pop(key, None)

    def close(self) -> None:
        """Start nothing new, and end work at its next progress report."""
        self._closed = True
        self._pool.shutdown(wait=False, cancel_futures=True)
