"""The journal: lines are appended as they arrive, so a crash loses at most what was in flight.

`write` hands the lines to the operating system before it returns, so killing the process cannot lose them. The file is
synced to the disk about once a second, off the event loop.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Self

import msgspec

from markscheme.errors import JournalError, command
from markscheme.redaction import redacted
from markscheme.runs.files import RefusedError, refuse_links
from markscheme.runs.lock import claim, release

SYNC_EVERY = 1.0
FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK


class Journal:
    """An append-only file of JSON lines with one writer at a time. Use it as a context manager."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._encoder = msgspec.json.Encoder()
        self._handle: int | None = None
        self._size = 0
        self._dirty = False

    def __enter__(self) -> Self:
        try:
            self._open()
        except OSError as error:
            raise JournalError(f"cannot write {self.file}: {error.strerror}") from None
        return self

    def _open(self) -> None:
        """Open the file and copy the lines of the previously open one. If that fails, keep the previous one."""
        before, size = self._handle, self._size
        handle = _claimed(self.file)
        try:
            sync_folder(self.file.parent)
            self._handle, self._size = handle, os.fstat(handle).st_size
            # A crash during a write leaves a partial line; ending it keeps the next line whole.
            if self._size and os.pread(handle, 1, self._size - 1) != b"\n":
                self._append(b"\n")
            if before is not None:
                self._copy(before)
        except BaseException:
            self._handle, self._size = before, size
            release(handle)
            raise
        if before is not None:
            release(before)

    def _copy(self, other: int) -> None:
        assert self._handle is not None
        there = {hash(line) for line in _lines(self._handle)}
        for line in _lines(other):
            if hash(line) not in there:
                self._append(line)

    def __exit__(self, *_: object) -> None:
        if self._handle is None:
            return
        try:
            if self.file.parent.exists():  # else closing the run reports it
                self._put_back()
            os.fsync(self._handle)
        except OSError as error:
            raise JournalError(f"cannot sync {self.file} to the disk: {error.strerror}") from None
        finally:
            release(self._handle)
            self._handle = None

    def write(self, items: Iterable[msgspec.Struct]) -> bool:
        """Append one line per item: all of them, or none and `JournalError`. True if a secret was removed from them."""
        lines = bytearray()
        for item in items:
            self._encoder.encode_into(item, lines, -1)
            lines += b"\n"
        try:
            kept = redacted(bytes(lines))
            self._append(kept)
        except OSError as error:
            folder = self.file.parent.parent if self.file.parent.name == "marks" else self.file.parent
            raise JournalError(
                f"cannot write {self.file}: {error.strerror}; everything before is kept, "
                f"so make room and {command('resume', folder)}"
            ) from None
        return kept != lines

    def _append(self, lines: bytes | bytearray) -> None:
        assert self._handle is not None, "the journal is not open"
        self._dirty = True
        rest = memoryview(lines)
        try:
            while rest:
                rest = rest[os.write(self._handle, rest) :]
        except OSError:
            # A full disk takes part of the lines. Removing that part leaves no torn line.
            os.ftruncate(self._handle, self._size)
            raise
        self._size += len(lines)

    def _put_back(self) -> None:
        """Write a new file if the old one was removed or replaced: the open handle still has all lines."""
        assert self._handle is not None
        with suppress(FileNotFoundError):
            there = self.file.lstat()
            if os.path.samestat(there, os.fstat(self._handle)):
                return
            if not stat.S_ISREG(there.st_mode):  # a folder, a pipe or a link
                self.file.rename(self.file.with_name(f"{self.file.name}.aside"))
        self._open()

    async def keep_synced(self, on_failure: Callable[[BaseException], None]) -> None:
        """Sync about once a second until cancelled. A slow disk delays nothing; a broken one is reported."""
        while True:
            await asyncio.sleep(SYNC_EVERY)
            if self._dirty and self._handle is not None:
                self._dirty = False
                try:
                    self._put_back()
                    await asyncio.to_thread(os.fsync, self._handle)
                except JournalError as refused:
                    on_failure(refused)
                    return
                except FileNotFoundError:
                    folder = self.file.parent
                    on_failure(JournalError(f"{folder} was removed or moved while it was being written"))
                    return
                except OSError as error:
                    on_failure(JournalError(f"cannot sync {self.file} to the disk: {error.strerror}"))
                    return


def _claimed(file: Path) -> int:
    refuse_links(file)
    handle = os.open(file, FLAGS, 0o644)
    refused: Exception | None = None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        refused = RefusedError(0, "it is not a plain file")
    elif not claim(handle):
        refused = JournalError(f"{file} is being written by another process; wait for it or stop it")
    if refused is not None:
        release(handle)
        raise refused
    return handle


def _lines(handle: int) -> Iterator[bytes]:
    with open(handle, "rb", closefd=False) as lines:
        lines.seek(0)
        yield from lines


def sync_folder(folder: Path) -> None:
    """Sync a folder, so that the name of a new file survives a power failure."""
    with suppress(OSError):  # not every file system supports it
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
