"""A process with all its children, held by a keeper: a `Popen` that never leaves processes running."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from markscheme.models.fleet import keeper

KILLED = -signal.SIGKILL
# Environment variable that a server's descendants inherit; it finds them when nothing else does.
MARK = "MARKSCHEME_SERVER"


class GuardedProcess:
    """A process that starts when the object is created; `pid` is the keeper's. Raises `OSError` if it cannot start."""

    def __init__(
        self,
        command: Sequence[str],
        log: BinaryIO,
        environment: Mapping[str, str],
        grace: float,
        secrets: Sequence[str] = (),
    ) -> None:
        """`secrets` are kept out of the log, even if the process prints them."""
        self._mark = uuid4().hex
        self._report, write = os.pipe()
        try:
            # `-I -S`: the keeper needs only the standard library, and it starts faster.
            started = subprocess.Popen(
                [sys.executable, "-I", "-S", keeper.__file__, str(write), str(grace), *command],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env={**environment, MARK: self._mark},
                pass_fds=(write,),
                start_new_session=True,  # Ctrl-C in the terminal is meant for us: the server finishes what is in flight
            )
        except OSError:
            os.close(self._report)
            raise
        finally:
            os.close(write)
        started.wait()  # it has left the process group; the keeper lives on
        assert started.stdin is not None
        self._life = started.stdin
        with suppress(OSError):  # it has ended, as its report says
            self._life.write(json.dumps(list(secrets)).encode() + b"\n")
            self._life.flush()
        self.returncode: int | None = None
        self._server = 0  # also the server's process group
        report = self._line().split()
        if not report:
            self._end(KILLED)
            raise OSError("its keeper process ended before it was started")
        self.pid, self._server = map(int, report)
        os.set_blocking(self._report, False)

    def poll(self) -> int | None:
        """Return the exit code (as a shell has it: 137 is killed), or `None` while it runs."""
        if self.returncode is None:
            with suppress(BlockingIOError):
                report = self._line()
                self._end(int(report) if report else KILLED)
        return self.returncode

    def release(self) -> None:
        """Ask the keeper to stop it; `poll` tells when it has stopped."""
        with suppress(OSError):
            self._life.close()

    def kill(self) -> None:
        """Kill all of it, including the keeper."""
        for pid in (*keeper.descendants(self.pid), self.pid):
            _kill(pid)
        self._sweep()

    def _end(self, code: int) -> None:
        self.returncode = code
        self.release()
        os.close(self._report)
        if code == KILLED:  # the keeper ended silently: its server died with it, but not the server's children
            self._sweep()

    def _sweep(self) -> None:
        """Kill the server's process group and every process with its mark, including those started meanwhile.

        Both are needed: a process that changes its title (as vLLM's do) may lose the mark, and a daemon leaves the
        group.
        """
        killed: set[int] = set()
        while living := _marked(f"{MARK}={self._mark}".encode()) - killed:
            for pid in living:
                _kill(pid)
            killed |= living
        if self._server:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._server, signal.SIGKILL)

    def _line(self) -> str:
        """Return the keeper's next short line, or nothing if it has ended."""
        line = b""
        while (letter := os.read(self._report, 1)) not in (b"", b"\n"):
            line += letter
        return line.decode()


def _marked(mark: bytes) -> set[int]:
    """Return processes with this in their environment; none on systems other than Linux."""
    pids: set[int] = set()
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # another user's process, or one that just ended
            if mark in environment.read_bytes().split(b"\0"):
                pids.add(int(environment.parent.name))
    return pids


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)
