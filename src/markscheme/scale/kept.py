"""A process and all its children, held by a keeper: `Popen` for what must never be left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import BinaryIO

from markscheme.scale import keeper

KILLED = -signal.SIGKILL


class Kept:
    """Started with the making; `pid` is the keeper's."""

    def __init__(
        self,
        command: Sequence[str],
        log: BinaryIO,
        environment: Mapping[str, str],
        grace: float,
        secrets: Sequence[str] = (),
    ) -> None:
        """`secrets` are kept out of the log, though the process may say them."""
        self._report, write = os.pipe()
        try:
            # `-I -S`: nothing but the standard library is needed, and it starts in a blink.
            started = subprocess.Popen(
                [sys.executable, "-I", "-S", keeper.__file__, str(write), str(grace), *command],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env={**environment, keeper.SECRETS: "\n".join(secrets)},
                pass_fds=(write,),
                start_new_session=True,  # Ctrl-C at the keyboard is for us: the server finishes what is in flight
            )
        finally:
            os.close(write)
        started.wait()  # it has left the family; the keeper lives on
        assert started.stdin is not None
        self._life = started.stdin
        self.pid = int(self._line() or 0)
        self.returncode: int | None = None
        os.set_blocking(self._report, False)

    def poll(self) -> int | None:
        """The exit code of the process (that of a shell: 137 is killed), or `None` while it runs."""
        if self.returncode is None:
            with suppress(BlockingIOError):
                told = self._line()
                self.returncode = int(told) if told else KILLED  # the keeper ended without a word
                self.release()
                os.close(self._report)
        return self.returncode

    def release(self) -> None:
        """Have it taken down; `poll` tells when it is."""
        with suppress(OSError):
            self._life.close()

    def kill(self) -> None:
        """Kill all of it, keeper included."""
        for pid in (*keeper.descendants(self.pid), self.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _line(self) -> str:
        """What the keeper tells next: a short line, written at once; nothing when it has ended."""
        line = b""
        while (letter := os.read(self._report, 1)) not in (b"", b"\n"):
            line += letter
        return line.decode()
