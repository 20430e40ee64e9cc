"""Keep one server process, and make sure that nothing of it outlives us.

This is a program of its own and uses only the standard library: `python keeper.py REPORT GRACE COMMAND…`. The first
line of standard input is a JSON list of texts that must not be logged. When standard input closes (its owner closed it
or died, by whatever signal) or on SIGTERM, the server is asked to end and, after GRACE seconds, killed with everything
it started. If the server ends by itself, its remaining children are killed as well.

On Linux the keeper adopts orphans among its descendants, so it also finds children that left the process group. It
leaves its owner's process group, because some owners (Ray's workers) are killed together with their children. It
reports its own id, the server's id and finally the exit code through the descriptor REPORT. If there are secrets, the
server's output goes through the keeper, which removes them: servers like to log their options.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
LOOK_EVERY = 0.1
KILLING = 10.0  # seconds that killing may take: a process inside a GPU driver does not end at once
LAST_WORDS = 5.0  # seconds to forward the server's last output
NOT_STARTED = 127
LONGEST_LINE = 1 << 20  # most bytes of a line that are held until it ends
SHORTEST_LINE = 16  # characters from which a line of a secret is hidden on its own: a key in JSON has the line `{`


class Keeper:
    """The server and its descendants."""

    def __init__(self, command: list[str], secrets: list[bytes]) -> None:
        _prctl(PR_SET_CHILD_SUBREAPER, 1)
        keeper = os.getpid()
        self._server = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if secrets else None,
            stderr=subprocess.STDOUT if secrets else None,
            process_group=0,
            preexec_fn=lambda: _share_fate(keeper),
        )
        self.pid = self._group = self._server.pid
        self._copying: threading.Thread | None = None
        if self._server.stdout is not None:
            self._copying = threading.Thread(target=_copy, args=(self._server.stdout.fileno(), secrets), daemon=True)
            self._copying.start()
        self.exit_code: int | None = None

    def reap(self) -> None:
        """Collect ended processes, and note the server's exit code."""
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == self._group:
                    code = os.waitstatus_to_exitcode(ended[1])
                    self.exit_code = code if code >= 0 else 128 - code

    def end(self, grace: float) -> None:
        """Ask every process to end, once, and give the server its grace period."""
        self._signal(signal.SIGTERM)
        deadline = time.monotonic() + grace
        while self.exit_code is None and time.monotonic() < deadline:
            time.sleep(LOOK_EVERY)
            self.reap()

    def kill(self) -> None:
        """Kill every process, including those started meanwhile."""
        deadline = time.monotonic() + KILLING
        while not self._gone() and time.monotonic() < deadline:
            self._signal(signal.SIGKILL)
            time.sleep(LOOK_EVERY / 5)
        if self._copying is not None:
            self._copying.join(LAST_WORDS)

    def _gone(self) -> bool:
        self.reap()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._group, 0)
            return False
        return not descendants(os.getpid())

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._group, number)
        for child in descendants(os.getpid()):
            with suppress(ProcessLookupError, PermissionError):
                # The group already got it: a second SIGTERM makes some servers abandon an orderly shutdown.
                if os.getpgid(child) != self._group:
                    os.kill(child, number)


def main() -> None:
    """Leave the process group, keep the server, and report how it ended."""
    report, grace, command = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
    if os.fork():
        os._exit(0)
    os.setsid()

    def tell(*numbers: int) -> None:
        with suppress(BrokenPipeError):
            os.write(report, (" ".join(map(str, numbers)) + "\n").encode())

    tell(keep(command, grace, tell))


def keep(command: list[str], grace: float, tell: Callable[[int, int], None]) -> int:
    """Start the command, wait for its end or our owner's, stop all children, and return the exit code."""
    signals: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, _: signals.append(number))
    try:
        keeper = Keeper(command, _secrets(sys.stdin.buffer.readline()))
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr, flush=True)
        tell(os.getpid(), 0)
        return NOT_STARTED
    tell(os.getpid(), keeper.pid)
    while keeper.exit_code is None:
        if signals or _owner_is_gone():
            keeper.end(grace)
            break
        keeper.reap()
    # Processes left by a server get no grace period, as the server has already had one.
    keeper.kill()
    return 1 if keeper.exit_code is None else keeper.exit_code


def _secrets(told: bytes) -> list[bytes]:
    """Return what must not be logged, longest first, and the long lines of multi-line secrets, as output comes by
    lines.
    """
    secrets = json.loads(told)
    lines = [line for secret in secrets for line in secret.splitlines() if len(line) >= SHORTEST_LINE]
    return sorted({secret.encode() for secret in (*secrets, *lines) if secret}, key=len, reverse=True)


def _copy(pipe: int, secrets: list[bytes]) -> None:
    """Forward the server's output line by line (progress bars too), without the secrets in it.

    Enough of an unfinished line is held back that no secret is cut in two.
    """
    rest, longest = b"", max(map(len, secrets))
    while output := os.read(pipe, 1 << 16):
        rest += output
        end = max(rest.rfind(b"\n"), rest.rfind(b"\r")) + 1
        if not end and len(rest) > LONGEST_LINE:
            rest = _without(secrets, rest)
            end = len(rest) - longest + 1
        _write(_without(secrets, rest[:end]))
        rest = rest[end:]
    _write(_without(secrets, rest))


def _without(secrets: list[bytes], text: bytes) -> bytes:
    for secret in secrets:
        text = text.replace(secret, b"***")
    return text


def _write(text: bytes) -> None:
    with suppress(OSError):  # a full disk must not stop the server, which waits for us to keep reading
        os.write(sys.stdout.fileno(), text)


def _owner_is_gone() -> bool:
    """Wait a moment for standard input to close; nothing else is read from it."""
    ready, _, _ = select.select([0], [], [], LOOK_EVERY)
    return bool(ready) and os.read(0, 1) == b""


def descendants(of: int) -> list[int]:
    """Return every living descendant of a process, from /proc; none on systems other than Linux, where the group must
    do.
    """
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):
            # The name, in parentheses, may contain anything; state and parent follow the last parenthesis.
            state, parent, *_ = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
            if state != "Z":
                parents[int(folder.name)] = int(parent)
    family = {of}
    while new := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= new
    return sorted(family - {of})


def _share_fate(keeper: int) -> None:
    """Make the server die with the keeper; runs in the server's process."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != keeper:
        os._exit(1)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    main()
