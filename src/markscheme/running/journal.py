"""The journal: responses appended as they arrive, so that a crash loses at most what was in flight."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO, Self

import msgspec

from markscheme.errors import JournalError


class Journal:
    """An append-only file of JSON lines. Use it as a context manager."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._encoder = msgspec.json.Encoder()
        self._out: BinaryIO | None = None

    def __enter__(self) -> Self:
        try:
            self._out = self._file.open("ab", buffering=0)
            self._end_torn_line()
        except OSError as error:
            raise JournalError(f"cannot write {self._file}: {error.strerror}") from None
        return self

    def __exit__(self, *_: object) -> None:
        if self._out is not None:
            self._out.close()

    def append(self, item: msgspec.Struct) -> None:
        """One line, handed to the operating system before this returns: a kill of the process cannot lose it."""
        if self._out is None:
            raise JournalError(f"{self._file} is not open")
        try:
            self._out.write(self._encoder.encode(item) + b"\n")
        except OSError as error:
            raise JournalError(
                f"cannot write {self._file}: {error.strerror}; everything before this response is kept"
            ) from None

    def _end_torn_line(self) -> None:
        """A crash in mid-write leaves a line without its end; closing it off keeps the next line whole."""
        assert self._out is not None
        with self._file.open("rb") as existing:
            if existing.seek(0, 2) == 0:
                return
            existing.seek(-1, 2)
            if existing.read(1) != b"\n":
                self._out.write(b"\n")
