"""Ports on the loopback: a free one, and whether it is really our server that listens there."""

from __future__ import annotations

import socket
from contextlib import suppress
from pathlib import Path

from markscheme.scale.keeper import descendants

LISTENING = "0A"


def free_port() -> int:
    """A port that nobody uses at this moment."""
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
    """Whether the listener on a port is a descendant of a process. Where that cannot be known, it is believed.

    Between the choice of a free port and the server's own use of it another program may take it, and answer.
    """
    if not Path("/proc/net/tcp").exists():
        return True
    sockets = {f"socket:[{inode}]" for name in ("tcp", "tcp6") for inode in _listeners(Path("/proc/net") / name, port)}
    for pid in descendants(process):
        with suppress(OSError):
            for handle in Path(f"/proc/{pid}/fd").iterdir():
                with suppress(OSError):
                    if str(handle.readlink()) in sockets:
                        return True
    return False


def _listeners(table: Path, port: int) -> list[str]:
    if not table.exists():
        return []
    rows = (line.split() for line in table.read_text().splitlines()[1:])
    return [row[9] for row in rows if row[3] == LISTENING and int(row[1].rpartition(":")[2], 16) == port]
