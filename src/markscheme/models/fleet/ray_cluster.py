"""The connection to a Ray cluster: opened once, closed at the end."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import wait
from contextlib import contextmanager
from typing import Any, TypeVar

from markscheme.errors import ModelError, first_line, needed
from markscheme.models.fleet.threads import in_thread

T = TypeVar("T")

PATIENCE = 20.0  # seconds for a cluster's address to answer
HEAD_GONE = 30.0  # seconds without the cluster's head after which it counts as gone for good
# Seconds without a head (60 by default) after which Ray kills this process unconditionally.
SELF_KILL = "RAY_gcs_rpc_server_reconnect_timeout_s"


def connect(address: str | None) -> tuple[Any, bool]:
    """Return the module `ray`, connected, and whether we must disconnect it."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # an evaluation must not send usage reports
    os.environ.setdefault(SELF_KILL, "180")  # by then `Head` has noticed, and the run is closed
    ray = needed("ray", "ray")
    if ray.is_initialized():  # by our caller
        return ray, False
    address = address or os.environ.get("RAY_ADDRESS") or None
    alone = {} if address else {"include_dashboard": False}
    former = signal.getsignal(signal.SIGTERM)
    try:
        if address is not None:
            _knock(address)
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **alone)
    except (ConnectionError, RuntimeError, ValueError, TimeoutError, OSError) as error:
        raise ModelError(f"no Ray cluster at {address or 'this machine'}: {first_line(error)}") from None
    finally:
        # Ray installs a handler that prints a stack; a run has its own way to end on SIGTERM.
        if former is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, former)
    return ray, True


def _knock(address: str) -> None:
    """Raise `OSError` if no server listens there. Ray itself would try for minutes, with its own warnings."""
    host, _, port = address.rpartition(":")
    if "/" in host or not (host and port.isdecimal()):
        return  # `auto`, `local`, `ray://…`
    socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE).close()


class Head:
    """The cluster's head. Without it, nodes go on answering for a while, but nothing can be placed."""

    def __init__(self, ray: Any) -> None:
        self._address = str(getattr(ray.get_runtime_context(), "gcs_address", ""))
        self._seen = time.monotonic()
        self._watched = True
        self._watched = self.there()  # not watched if unreachable from here although it is up (`ray://…`)

    def there(self) -> bool:
        """Return whether it listens now; raise `ModelError` once it has been silent for too long."""
        try:
            if self._watched:
                _knock(self._address)
        except OSError:
            if time.monotonic() - self._seen > HEAD_GONE:
                raise ModelError(
                    f"the head of the Ray cluster, {self._address}, has been gone for {HEAD_GONE:g} s"
                ) from None
            return False
        self._seen = time.monotonic()
        return True

    def ask(self, question: Callable[[], T]) -> T:
        """Return the answer to `question`; raise `ModelError` if the head is gone, for which Ray would wait for
        minutes.
        """
        answer = in_thread(question)
        while not wait([answer], timeout=1).done:
            self.there()
        return answer.result()


@contextmanager
def cluster(address: str | None) -> Iterator[Any]:
    """Connect to Ray for the duration of a block."""
    ray, ours = connect(address)
    try:
        yield ray
    finally:
        if ours:
            ray.shutdown()
