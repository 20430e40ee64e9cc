"""One process at a time writes a run folder. Readers need no lock.

There are two locks. The POSIX record lock on the file `lock` works across machines and ends with its process. The `flock`
on the folder itself remains if somebody deletes `lock`. Folders are identified by inode, not by path.
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

TAKEN = (errno.EACCES, errno.EAGAIN)  # another process has the lock

# Folders locked by this process: record locks do not exclude their own process.
_held: set[tuple[int, int, str]] = set()
_guard = threading.Lock()

# Descriptors with a `flock`. A forked child closes them at once, or it would keep the lock.
_descriptors: set[int] = set()


def _close_in_child() -> None:
    for descriptor in _descriptors:
        with suppress(OSError):
            os.close(descriptor)
    _descriptors.clear()


os.register_at_fork(after_in_child=_close_in_child)


def claim(descriptor: int) -> bool:
    """Put a `flock` on an open file or folder. False if another process has one. `release` closes it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in TAKEN  # other errors: the file system does not support it
    _descriptors.add(descriptor)
    return True


def release(descriptor: int) -> None:
    """Unlock and close the descriptor."""
    if descriptor in _descriptors:
        _descriptors.discard(descriptor)
        fcntl.flock(descriptor, fcntl.LOCK_UN)  # closing is not enough while a child has it open
    os.close(descriptor)


class RunLock:
    """A context manager around everything that writes. Further ranks use another `name`."""

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
        if file.is_symlink() or file.is_fifo():  # a link's target would be truncated, and a pipe cannot be locked
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
        """True if a journal is open. On NFS other machines see the lock of a file but not that of a folder."""
        try:
            handle = os.open(self._folder / "responses.jsonl", os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW)
        except OSError:  # it does not exist, or is not a file that a journal opens
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
            f"{self._folder} is on a file system without locks ({error.strerror}); "
            "choose another place for the run folder, so that two processes cannot write into it"
        )


def _remove_leftovers(folder: Path) -> None:
    """Remove half-written files of processes that were killed on this machine (see `write_atomically`)."""
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
