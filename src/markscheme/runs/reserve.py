"""Room for the last words: a little of the disk is kept back while asking, and given free before the manifest is written.

A full disk stops a run. Without this it would take no manifest and no report either, and the folder would say `running`.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Self

BYTES = 1 << 16
BYTES_A_PROBLEM = 512
"""What manifest, report and accounts take, generously."""


class Reserve:
    """Use as a context manager around the asking."""

    def __init__(self, folder: Path, problems: int) -> None:
        self._file = folder / ".reserve"
        self._size = BYTES + BYTES_A_PROBLEM * problems

    def __enter__(self) -> Self:
        with suppress(OSError):  # no room already: the first answer will say so
            self._file.write_bytes(bytes(self._size))
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._file.unlink(missing_ok=True)
