"""The Ray cluster that a command uses: connected to once, let go of at the end."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from markscheme.errors import ModelError, UsageError

PATIENCE = 20.0
"""Seconds for the address of a cluster to answer."""


def connect(address: str | None) -> tuple[Any, bool]:
    """The module `ray`, connected, and whether it is for us to disconnect it."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # an evaluation reports to nobody
    try:
        ray: Any = import_module("ray")
    except ImportError as error:
        raise UsageError(f"--engine ray needs Ray ({error}): pip install 'markscheme[ray]'") from None
    if ray.is_initialized():  # by whoever calls us
        return ray, False
    address = address or os.environ.get("RAY_ADDRESS") or None
    alone = {} if address else {"include_dashboard": False}
    try:
        if address is not None:
            _knock(address)
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **alone)
    except (ConnectionError, RuntimeError, ValueError, TimeoutError, OSError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ModelError(f"no Ray cluster at {address or 'this machine'}: {reason}") from None
    return ray, True


def _knock(address: str) -> None:
    """Raise `OSError` where nobody listens. Ray itself would try for minutes, with warnings of its own."""
    host, _, port = address.rpartition(":")
    if "/" in host or not (host and port.isdecimal()):
        return  # `auto`, `local`, `ray://…`
    socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE).close()


@contextmanager
def cluster(address: str | None) -> Iterator[Any]:
    """Ray, connected for the time of a block."""
    ray, ours = connect(address)
    try:
        yield ray
    finally:
        if ours:
            ray.shutdown()
