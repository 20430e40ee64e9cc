"""The Ray cluster that a command uses: connected to once, let go of at the end."""

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

PATIENCE = 20.0  # seconds for the address of a cluster to answer
HEAD_GONE = 30.0  # seconds without a cluster's head after which it is taken to be gone for good
# Seconds without a head (60 by default) after which Ray ends this process, whatever it is in the middle of.
SELF_KILL = "RAY_gcs_rpc_server_reconnect_timeout_s"


def connect(address: str | None) -> tuple[Any, bool]:
    """The module `ray`, connected, and whether it is for us to disconnect it."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # an evaluation reports to nobody
    os.environ.setdefault(SELF_KILL, "180")  # by then `Head` has noticed, and the run is closed
    ray = needed("ray", "ray")
    if ray.is_initialized():  # by whoever calls us
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
        # Ray takes it for itself, to print where it stands; a run has an ending of its own for it.
        if former is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, former)
    return ray, True


def _knock(address: str) -> None:
    """Raise `OSError` where nobody listens. Ray itself would try for minutes, with warnings of its own."""
    host, _, port = address.rpartition(":")
    if "/" in host or not (host and port.isdecimal()):
        return  # `auto`, `local`, `ray://…`
    socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE).close()


class Head:
    """The cluster's head, without which its nodes answer on for a while, but nothing can be placed any more."""

    def __init__(self, ray: Any) -> None:
        self._address = str(getattr(ray.get_runtime_context(), "gcs_address", ""))
        self._seen = time.monotonic()
        self._watched = True
        self._watched = self.there()  # one that cannot be reached from here though it stands (`ray://…`) is not watched

    def there(self) -> bool:
        """Whether it listens now; raises `ModelError` once it has not for a while."""
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
        """What it answers; raises `ModelError` where it went meanwhile, for which Ray would wait for minutes."""
        answer = in_thread(question)
        while not wait([answer], timeout=1).done:
            self.there()
        return answer.result()


@contextmanager
def cluster(address: str | None) -> Iterator[Any]:
    """Ray, connected for the time of a block."""
    ray, ours = connect(address)
    try:
        yield ray
    finally:
        if ours:
            ray.shutdown()
