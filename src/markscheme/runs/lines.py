"""Read JSON lines: only those added since the last read, with replaced files detected.

An unfinished last line is left for the next read, since it may still be being written. Never holds more than a line.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, TypeVar

import msgspec

from markscheme.errors import JournalError, os_reason
from markscheme.runs.files import RefusedError, open_plain, read_inside, state_inside

T = TypeVar("T", bound=msgspec.Struct)

# What decoding raises for a line that is torn, not UTF-8, not ours, or nested too deeply.
UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)

LONGEST_LINE = 256 << 20  # bytes; a longer line counts as damaged and is skipped without being held

_EVERY = 64  # lines between two looks at the clock
_LINE_END = ord("\n")


class LineReader:
    """One growing file."""

    def __init__(self, file: Path, root: Path | None) -> None:
        self.file, self._root = file, root
        self.refused = False  # a link out of the folder, or not a plain file
        self.size = 0
        self.restart()

    def restart(self) -> None:
        """Forget everything and begin again."""
        self.damaged = 0
        self.torn = False  # the file ends in the middle of a line
        self._seen: tuple[int, int] | None = None  # size and mtime when everything had been read
        self._offset = 0  # up to here the file has been read
        self._inode = 0
        self._before = b""  # the bytes before the offset, to recognize the file

    @property
    def unread(self) -> int:
        """Bytes not read yet, as of the last look."""
        return max(0, self.size - self._offset)

    def look(self) -> str:
        """Return what happened to the file: `same`, `grown`, or `replaced` (also if it is shorter or gone)."""
        try:
            about = state_inside(self.file, self._root)
        except OSError as error:
            self.size, self.refused = 0, isinstance(error, RefusedError)
            return "replaced" if self._offset else "same"
        self.size = about.st_size
        state = (about.st_size, about.st_mtime_ns)
        if state == self._seen and about.st_ino == self._inode:
            return "same"
        if self._offset and not self._is_the_same(about):
            return "replaced"
        if about.st_size == self._offset:
            self._seen = state
            return "same"
        return "grown"

    def lines(self, until: float) -> Iterator[tuple[int, bytes]]:
        """Yield each new whole line with its offset, until the end or the time `until` (`time.monotonic`).

        A last line without a line end counts only if it is a complete JSON value.
        """
        try:
            stream = open_plain(self.file)
        except OSError:
            # A file that is there but unreadable counts as damaged once, until something about it changes.
            with suppress(OSError):
                state = self.file.stat()
                self.damaged += 1
                self._seen, self._inode = (state.st_size, state.st_mtime_ns), state.st_ino
            return
        with stream:
            state = os.fstat(stream.fileno())
            self.size, self._inode, self.torn = state.st_size, state.st_ino, False
            stream.seek(self._offset)
            try:
                yield from self._whole_lines(stream, until)
            finally:
                length = min(32, self._offset)
                stream.seek(self._offset - length)
                self._before = stream.read(length)
            if self.torn or self._offset >= state.st_size:
                self._seen = (state.st_size, state.st_mtime_ns)

    def _whole_lines(self, stream: BinaryIO, until: float) -> Iterator[tuple[int, bytes]]:
        number = 0
        while line := stream.readline(LONGEST_LINE):
            offset = self._offset
            if line[-1] != _LINE_END:
                if len(line) == LONGEST_LINE:
                    self._skip(stream, len(line))
                    continue
                if not _is_json(line):
                    self.torn = True
                    return
            self._offset = offset + len(line)
            if len(line) > 2 or not line.isspace():
                yield offset, line
            number += 1
            if not number % _EVERY and time.monotonic() > until:
                return

    def _skip(self, stream: BinaryIO, read: int) -> None:
        self.damaged += 1
        while more := stream.readline(LONGEST_LINE):
            read += len(more)
            if more[-1] == _LINE_END:
                break
        self._offset += read

    def _is_the_same(self, about: os.stat_result) -> bool:
        # A journal only grows. Another inode, a shorter file or other bytes before the offset mean a new one.
        if about.st_ino != self._inode or about.st_size < self._offset:
            return False
        try:
            with open_plain(self.file) as stream:
                stream.seek(self._offset - len(self._before))
                return stream.read(len(self._before)) == self._before
        except OSError:
            return False


def _is_json(line: bytes) -> bool:
    try:
        msgspec.json.decode(line, type=msgspec.Raw)
    except UNREADABLE:
        return False
    return True


def read_line(file: Path, offset: int) -> bytes:
    """Return the line at an offset; nothing if the file is gone."""
    try:
        return next(read_lines(file, [offset]))
    except JournalError:
        return b""


def read_lines(file: Path, offsets: Iterable[int]) -> Iterator[bytes]:
    """Yield the lines at these offsets; empty ones if the file has become shorter."""
    try:
        with open_plain(file) as stream:
            for offset in offsets:
                stream.seek(offset)
                yield stream.readline(LONGEST_LINE)
    except OSError as error:
        raise JournalError(f"cannot read {file}: {os_reason(error)}") from None


def read_all(file: Path, kind: type[T]) -> Iterator[T]:
    """Yield every line of a small file as `kind`. Damaged lines are skipped, and so is anything but a plain file."""
    try:
        lines = read_inside(file, None, LONGEST_LINE).splitlines()
    except (FileNotFoundError, RefusedError):
        return
    except OSError as error:
        raise JournalError(f"cannot read {file}: {os_reason(error)}") from None
    yield from (one for line in lines if (one := decode_or_none(line, kind)) is not None)


def replaced(file: Path) -> NoReturn:
    """Raise: a line is not what was read before."""
    raise JournalError(f"{file} was replaced while it was being read; try again")


def decode_or_none(line: bytes, kind: type[T], essential: Collection[str] = ()) -> T | None:
    """Decode a line as `kind`; None if it is not one.

    A field of an unexpected type (from a newer version, say) is left out, unless it is `essential`.
    """
    try:
        return msgspec.json.decode(line, type=kind)
    except msgspec.ValidationError:
        pass
    except UNREADABLE:
        return None
    try:
        return convert_or_none(msgspec.json.decode(line), kind, essential)
    except UNREADABLE:
        return None


def convert_or_none(stored: Any, kind: type[T], essential: Collection[str] = ()) -> T | None:
    """Convert a decoded JSON value, by the rules of `decode_or_none`."""
    readable: dict[str, object] = {}
    for field in msgspec.structs.fields(kind) if isinstance(stored, dict) else ():
        if field.encode_name in stored:
            try:
                readable[field.name] = msgspec.convert(stored[field.encode_name], field.type)
            except UNREADABLE:
                if field.name in essential:
                    return None
    try:
        return kind(**readable)
    except TypeError:  # a required field is missing
        return None
