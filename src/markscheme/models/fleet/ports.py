"""Ports on the loopback: a free one, and whether it is really our server that listens there.

Between the choice of a port and the server's own use of it another program may take it. Worse, servers that allow ports to
be shared (vLLM does) may take it both, and each request reaches one of the two.
"""

from __future__ import annotations

import socket
from contextlib import suppress
from pathlib import Path

from markscheme.models.fleet.keeper import descendants

LISTENING = "0A"
DRAWS = 100
# The loopback and all addresses, as the table of IPv4 has them: listeners there get what is sent to the loopback.
EVERYBODY_HEARS = ("0100007F", "00000000")

_given: set[int] = set()


def free_port() -> int:
    """A port that nobody uses at this moment, and that this process has not given to a server before."""
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
    """Whether somebody listens there."""
    with socket.socket() as knocking:
        knocking.settimeout(1.0)
        return knocking.connect_ex(("127.0.0.1", port)) == 0


def listens_below(port: int, process: int) -> bool:
    """Whether a descendant of a process listens on a port. Where that cannot be known, it is believed."""
    if not Path("/proc/net/tcp").exists():
        return True
    return not _sockets_below(process).isdisjoint(_listeners(port))


def is_shared(port: int, process: int) -> bool:
    """Whether others than the descendants of a process get requests there."""
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
    """The sockets that listen on a port, on whatever address or on some."""
    sockets: set[str] = set()
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        rows = [line.split() for line in table.read_text().splitlines()[1:]] if table.exists() else []
        for row in rows:
            address, _, number = row[1].rpartition(":")
            if row[3] == LISTENING and int(number, 16) == port and (addresses is None or address in addresses):
                sockets.add(f"socket:[{row[9]}]")
    return sockets
