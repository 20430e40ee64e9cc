"""Ports on the loopback: find a free one, and check that our server is the one that listens there.

Another program may take the port between our choice and the server's start. Worse, servers that share ports (vLLM does)
may both take it, and each request reaches one of the two.
"""

from __future__ import annotations

import socket
from contextlib import suppress
from pathlib import Path

from markscheme.models.fleet.keeper import descendants

LISTENING = "0A"
DRAWS = 100
# The loopback and the wildcard address, as in the kernel's IPv4 table: their listeners get what is sent to the
# loopback.
EVERYBODY_HEARS = ("0100007F", "00000000")

_given: set[int] = set()


def free_port() -> int:
    """Return a port that is unused now and that this process has not assigned before."""
    for _ in range(DRAWS):
        port = _draw()
        if port not in _given:
            _given.add(port)
            return port
    raise OSError("there is no free port")


def _draw() -> int:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port: int = unused.getsockname()[1]
        return port


def is_taken(port: int) -> bool:
    """Return whether a server listens on the port."""
    with socket.socket() as knocking:
        knocking.settimeout(1.0)
        return knocking.connect_ex(("127.0.0.1", port)) == 0


def listens_below(port: int, process: int) -> bool:
    """Return whether a descendant of a process listens on a port; assume so if that cannot be checked."""
    if not Path("/proc/net/tcp").exists():
        return True
    return not _sockets_below(process).isdisjoint(_listeners(port))


def is_shared(port: int, process: int) -> bool:
    """Return whether other processes than a process's descendants get requests on the port."""
    return not _sockets_below(process).issuperset(_listeners(port, EVERYBODY_HEARS))


def _sockets_below(process: int) -> set[str]:
    sockets: set[str] = set()
    for pid in descendants(process):
        with suppress(OSError):
            for handle in Path(f"/proc/{pid}/fd").iterdir():
                with suppress(OSError):
                    sockets.add(str(handle.readlink()))
    return sockets


def _listeners(port: int, addresses: tuple[str, ...] | None = None) -> set[str]:
    """Return the sockets that listen on a port, at any or at the given addresses."""
    sockets: set[str] = set()
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        rows = [line.split() for line in table.read_text().splitlines()[1:]] if table.exists() else []
        for row in rows:
            address, _, number = row[1].rpartition(":")
            if row[3] == LISTENING and int(number, 16) == port and (addresses is None or address in addresses):
                sockets.add(f"socket:[{row[9]}]")
    return sockets
