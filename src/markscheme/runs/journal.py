"""The journal: lines appended as they arrive, so that a crash loses at most what was in flight.

`write` hands the lines to the operating system before it returns: after that a kill of the process cannot lose them.
Against a loss of power the file is also synced to the disk about once a second, off the event loop.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Self

import msgspec

from markscheme.errors import JournalError
from markscheme.redaction import redacted
from markscheme.runs.files import RefusedError
from markscheme.runs.lock import claim, release

SYNC_EVERY = 1.0
FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND


class Journal:
    """An append-only file of JSON lines, which one writer at a time can open. Use it as a context manager."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._encoder = msgspec.json.Encoder()
        self._handle: int | None = None
        self._size = 0
        self._dirty = False

    def __enter__(self) -> Self:
        try:
            self._handle = os.open(self.file, FLAGS, 0o644)
            if not stat.S_ISREG(os.fstat(self._handle).st_mode):
                raise RefusedError(0, "it is not a plain file")
            sync_folder(self.file.parent)
            if not claim(self._handle):
                release(self._handle)
                self._handle = None
                raise JournalError(f"{self.file} is being written by another process; wait for it or stop it")
            self._size = os.fstat(self._handle).st_size
            # A crash in mid-write leaves a line without its end; closing it off keeps the next line whole.
            if self._size and os.pread(self._handle, 1, self._size - 1) != b"\n":
                self._append(b"\n")
        except OSError as error:
            raise JournalError(f"cannot write {self.file}: {error.strerror}") from None
        return self

    def __exit__(self, *_: object) -> None:
        if self._handle is None:
            return
        try:
            if self.file.parent.exists():  # else whoever closes the run will notice
                self._put_back()
            os.fsync(self._handle)
        except OSError as error:
            raise JournalError(f"cannot sync {self.file} to the disk: {error.strerror}") from None
        finally:
            release(self._handle)
            self._handle = None

    def write(self, items: Iterable[msgspec.Struct]) -> None:
        """Append one line each. All of them are kept, or `JournalError` is raised and none of them is."""
        lines = bytearray()
        for item in items:
            self._encoder.encode_into(item, lines, -1)
            lines += b"\n"
        try:
            self._append(redacted(bytes(lines)))
        except OSError as error:
            folder = self.file.parent.parent if self.file.parent.name == "marks" else self.file.parent
            raise JournalError(
                f"cannot write {self.file}: {error.strerror}; everything before is kept, "
                f"so make room and `markscheme resume {folder}`"
            ) from None

    def _append(self, lines: bytes | bytearray) -> None:
        assert self._handle is not None, "the journal is not open"
        self._dirty = True
        rest = memoryview(lines)
        try:
            while rest:
                rest = rest[os.write(self._handle, rest) :]
        except OSError:
            # A full disk takes half a batch. Taking that half back leaves no torn line, and frees a little.
            os.ftruncate(self._handle, self._size)
            raise
        self._size += len(lines)

    def _put_back(self) -> None:
        """A file that was removed under us gets its name back: what we hold open is still all of it."""
        assert self._handle is not None
        if self.file.exists():
            return
        handle, done = os.open(self.file, FLAGS | os.O_EXCL, 0o644), 0
        while piece := os.pread(self._handle, 1 << 20, done):
            done += os.write(handle, piece)
        claim(handle)
        release(self._handle)
        self._handle = handle

    async def keep_synced(self, on_failure: Callable[[BaseException], None]) -> None:
        """Sync about once a second until cancelled; a slow disk delays nobody, a broken one is reported."""
        while True:
            await asyncio.sleep(SYNC_EVERY)
            if self._dirty and self._handle is not None:
                self._dirty = False
                try:
                    self._put_back()
                    await asyncio.to_thread(os.fsync, self._handle)
                except FileNotFoundError:
                    folder = self.file.parent
                    on_failure(JournalError(f"{folder} was removed or moved while it was being written"))
                    return
                except OSError as error:
                    on_failure(JournalError(f"cannot sync {self.file} to the disk: {error.strerror}"))
                    return


def sync_folder(folder: Path) -> None:
    """Make a file's new name last: without this a loss of power can take a file that was itself synced."""
    with suppress(OSError):  # a file system that does not know it, or not for folders
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
