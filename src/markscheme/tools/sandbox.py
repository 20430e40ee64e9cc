"""Runs a program that nobody trusts: in bubblewrap, with no network, no files but its own, and limits on everything.

The program sees the Python installation read-only and an empty temporary folder. It has no environment of ours, sees no
process of ours and cannot start another: a filter of system calls refuses that, since a limit on processes does not hold
for root. Its time is counted by us, not by it.
"""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import struct
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from markscheme.errors import UsageError

LARGEST_OUTPUT = 2**16  # bytes that are read; a program that prints more is ended
FILES = 2**26  # bytes of its temporary folder
_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/tmp",
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "OMP_NUM_THREADS": "1",
}
_LIMITED = 'ulimit -v "$0"; ulimit -f 65536; ulimit -c 0; ulimit -n 64; exec "$@"'
"""Kilobytes of memory come as the first argument. Files count in blocks of 512 bytes."""


class Ended(NamedTuple):
    """How a program ended."""

    output: bytes
    status: int | None  # None where it was ended by us
    why: str = ""  # why it was


class Sandbox:
    """Runs programs, each in a sandbox of its own; refuses to be made where there is none."""

    def __init__(self, seconds: float, megabytes: int, *, unsafe: bool = False) -> None:
        self._seconds, self._kilobytes = seconds, megabytes * 1024
        self._bwrap = shutil.which("bwrap")
        if self._bwrap is None and not unsafe:
            raise UsageError(
                "tools run code that the model writes, and there is no sandbox for it: install bubblewrap (`bwrap`), or "
                "give --unsafe-tools to run it without one"
            )
        self.name = "bubblewrap" if self._bwrap else "no sandbox"

    async def run(self, command: Sequence[str], given: bytes) -> Ended:
        """Run a program with `given` on its standard input until it ends, prints too much or its time is up."""
        with tempfile.TemporaryDirectory(prefix="markscheme-tool-") as folder, tempfile.TemporaryFile() as calls:
            calls.write(_call_filter())
            calls.seek(0)
            limited = ("/bin/sh", "-c", _LIMITED, str(self._kilobytes), *command)
            process = await asyncio.create_subprocess_exec(
                *(self._inside(calls.fileno()) if self._bwrap else ()),
                *limited,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                env=_ENVIRONMENT,
                cwd=folder,
                pass_fds=(calls.fileno(),) if self._bwrap else (),
                start_new_session=True,
            )
            try:
                return await self._watched(process, given)
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, 9)  # bubblewrap's end is that of everything inside
                assert process.stdout is not None
                while await process.stdout.read(LARGEST_OUTPUT):  # `wait` returns only after the pipe is empty
                    pass
                await process.wait()

    async def _watched(self, process: asyncio.subprocess.Process, given: bytes) -> Ended:
        assert process.stdin is not None
        assert process.stdout is not None
        output = bytearray()
        try:
            async with asyncio.timeout(self._seconds):
                with suppress(ConnectionError):
                    process.stdin.write(given)
                    process.stdin.close()
                while piece := await process.stdout.read(LARGEST_OUTPUT):
                    output += piece
                    if len(output) > LARGEST_OUTPUT:
                        return Ended(bytes(output[:LARGEST_OUTPUT]), None, "it printed too much")
                return Ended(bytes(output), await process.wait())
        except TimeoutError:
            return Ended(bytes(output), None, f"it took longer than {self._seconds:g} s")

    def _inside(self, calls: int) -> list[str]:
        assert self._bwrap is not None
        words = [
            self._bwrap,
            "--unshare-all",
            "--unshare-user",
            "--disable-userns",
            "--die-with-parent",
            "--new-session",
        ]
        words += ["--cap-drop", "ALL", "--clearenv", "--seccomp", str(calls), "--ro-bind", "/usr", "/usr"]
        for name in ("bin", "lib", "lib64"):
            words += ["--ro-bind-try", f"/{name}", f"/{name}"]
        for folder in dict.fromkeys((sys.base_prefix, sys.prefix)):
            words += ["--ro-bind", folder, folder] if not folder.startswith("/usr") else []
        words += ["--proc", "/proc", "--dev", "/dev", "--size", str(FILES), "--tmpfs", "/tmp", "--chdir", "/tmp"]
        for name, value in _ENVIRONMENT.items():
            words += ["--setenv", name, value]
        return [*words, "--"]


_MACHINES = {
    # audit number of the machine, calls that start a process, and the one that may also start a thread
    "x86_64": (0xC000003E, (57, 58), 56),
    "aarch64": (0xC00000B7, (), 220),
}
_CLONE3, _CLONE_THREAD = 435, 0x10000
_ALLOW, _REFUSE, _UNKNOWN, _KILL = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000  # EPERM, ENOSYS


def _call_filter() -> bytes:
    """A program of the kernel's filter that refuses new processes and allows threads and everything else."""
    machine, forks, clone = _MACHINES.get(platform.machine(), (0, (), 0))
    if not machine:
        raise UsageError(f"the sandbox of tools does not know machines of the kind {platform.machine()}")
    steps = [(0x20, 0, 0, 4), (0x15, 1, 0, machine), (0x06, 0, 0, _KILL), (0x20, 0, 0, 0)]
    steps += [(0x35, 0, 1, 0x40000000), (0x06, 0, 0, _REFUSE)]  # calls by another numbering
    for number in forks:
        steps += [(0x15, 0, 1, number), (0x06, 0, 0, _REFUSE)]
    steps += [(0x15, 0, 1, _CLONE3), (0x06, 0, 0, _UNKNOWN)]  # glibc then takes the older call, which shows its flags
    steps += [(0x15, 0, 3, clone), (0x20, 0, 0, 16), (0x45, 1, 0, _CLONE_THREAD), (0x06, 0, 0, _REFUSE)]
    steps += [(0x06, 0, 0, _ALLOW)]
    return b"".join(struct.pack("HBBI", *step) for step in steps)
