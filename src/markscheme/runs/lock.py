"""One process at a time writes a run folder; whoever only reads needs no lock.

Two locks, for what one of them cannot do. A POSIX record lock on the file `lock`, which also holds between machines and
goes when its process ends, however it ends. And a `flock` on the folder itself, which nobody can delete during a run as
they can `lock`. Identity is the real folder, whatever path or link leads to it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import Self

from markscheme.errors import JournalError, command

TAKEN = (errno.EACCES, errno.EAGAIN)  # how the system says that somebody else has a lock

# Folders locked by this very process: record locks do not keep a process from itself.
_held: set[tuple[int, int, str]] = set()
_guard = threading.Lock()

# Descriptors that hold a `flock`. A forked child would hold it as long as it lives, so it closes them at once.
_descriptors: set[int] = set()


def _close_in_child() -> None:
    for descriptor in _descriptors:
        with suppress(OSError):
            os.close(descriptor)
    _descriptors.clear()


os.register_at_fork(after_in_child=_close_in_child)


def claim(descriptor: int) -> bool:
    """Put a `flock` on an open file or folder; false if somebody else has one. `release` closes it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in TAKEN  # else a file system that does not know it, or not for folders
    _descriptors.add(descriptor)
    return True


def release(descriptor: int) -> None:
    """Give up the lock, also for a child that has not let go yet, and close the descriptor."""
    if descriptor in _descriptors:
        _descriptors.discard(descriptor)
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


class RunLock:
    """Use as a context manager around everything that writes. `name` is another than `lock` for further ranks."""

    def __init__(self, folder: Path, name: str = "lock") -> None:
        self._folder, self._name = folder, name
        self._identity: tuple[int, int, str] | None = None
        self._handles: list[int] = []

    def __enter__(self) -> Self:
        try:
            self._enlist()
            self._lock()
        except BaseException as error:
            self.__exit__()
            if isinstance(error, OSError):
                raise JournalError(f"cannot write {error.filename or self._folder}: {error.strerror}") from None
            raise
        if self._name == "lock":
            _remove_leftovers(self._folder)
        return self

    def _enlist(self) -> None:
        about = self._folder.stat()
        identity = (about.st_dev, about.st_ino, self._name)
        with _guard:
            if identity in _held:
                raise JournalError(f"{self._folder} is already being written by this process")
            _held.add(identity)
        self._identity = identity

    def _lock(self) -> None:
        file = self._folder / self._name
        if file.is_symlink() or file.is_fifo():  # whatever a link leads to would be emptied, and a pipe keeps no lock
            file.unlink()
        handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        self._handles.append(handle)
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise JournalError(self._refusal(error, os.read(handle, 200))) from None
        if self._name == "lock":
            folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
            self._handles.append(folder)
            if not claim(folder) or self._is_written():
                raise JournalError(self._refusal(OSError(errno.EAGAIN, ""), b""))
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)

    def _is_written(self) -> bool:
        """Whether a journal is open: on NFS a folder's lock does not reach other machines, a file's does."""
        try:
            handle = os.open(self._folder / "responses.jsonl", os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW)
        except OSError:  # not there yet, or none that a journal opens
            return False
        free = claim(handle)
        release(handle)
        return not free

    def __exit__(self, *_: object) -> None:
        while self._handles:
            release(self._handles.pop())  # which also unlocks
        if self._identity is not None:
            with _guard:
                _held.discard(self._identity)
            self._identity = None

    def _refusal(self, error: OSError, holder: bytes) -> str:
        if error.errno in TAKEN:
            who = holder.decode("utf-8", "replace").strip() or "another process"
            return (
                f"{self._folder} is being written by {who}; "
                f"wait for it or stop it, then {command('resume', self._folder)}"
            )
        return (
            f"{self._folder} lies on a file system without locks ({error.strerror}); "
            "put the run folder elsewhere, so that two processes cannot write into it"
        )


def _remove_leftovers(folder: Path) -> None:
    """Half-written files of processes of this machine that were killed over them (see `write_atomically`)."""
    for file in (*folder.glob(".*.jso*"), *folder.glob("marks/.*.jso*")):
        writer = re.fullmatch(r"\..+\.jsonl?\.(\d+)\.\w+", file.name)
        if writer and not _is_alive(int(writer[1])):
            with suppress(OSError):
                file.unlink()


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass
    return True
