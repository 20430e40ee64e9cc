"""One process at a time asks into a run folder.

A POSIX record lock on `lock`: the system lets go of it when the process ends, however it ends, even while a child
that was forked from it lives on (which `flock` would not). The file itself stays and means nothing.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
from pathlib import Path
from typing import Self

from markscheme.errors import JournalError

_held: set[Path] = set()
"""Folders locked by this very process: record locks do not keep a process from itself."""


class RunLock:
    """Use as a context manager around everything that writes."""

    def __init__(self, folder: Path, name: str = "lock") -> None:
        self._folder = folder
        self._file = (folder / name).absolute()
        self._handle: int | None = None

    def __enter__(self) -> Self:
        if self._file in _held:
            raise JournalError(f"{self._folder} is already being written by this process")
        try:
            handle = os.open(self._file, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise JournalError(f"cannot write {self._folder}: {error.strerror}") from None
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(handle, 200).decode("utf-8", "replace").strip()
            os.close(handle)
            raise JournalError(self._refusal(error, holder)) from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
        self._handle = handle
        _held.add(self._file)
        return self

    def __exit__(self, *_: object) -> None:
        _held.discard(self._file)
        if self._handle is not None:
            os.close(self._handle)  # which also unlocks
            self._handle = None

    def _refusal(self, error: OSError, holder: str) -> str:
        if error.errno in (errno.EACCES, errno.EAGAIN):
            return (
                f"{self._folder} is being written by {holder or 'another process'}; "
                f"wait for it or stop it, then `markscheme resume {self._folder}`"
            )
        return (
            f"{self._folder} lies on a file system without locks ({error.strerror}); "
            "put the run folder elsewhere, so that two processes cannot write into it"
        )
