"""How many marks of a run carry a flag."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from pathlib import Path

from markscheme.runs.files import RefusedError, marks_file, open_plain
from markscheme.runs.snapshot import Snapshot

PIECE = 1 << 20


def flag_counts(snapshot: Snapshot, protocol: str, flags: tuple[str, ...]) -> dict[str, int]:
    """The marks that count under a protocol by flag; most files carry none of them, which one look tells."""
    if not _mentions(marks_file(snapshot.folder, protocol.partition("@")[0]), flags):
        return {}
    counts = Counter(flag for mark in snapshot.marks(protocol) for flag in mark.flags)
    return {flag: counts[flag] for flag in flags if counts[flag]}


def _mentions(file: Path, words: tuple[str, ...]) -> bool:
    """Whether one of the words stands in a file, in quotes; looked through piece by piece, never held in memory."""
    wanted = [f'"{word}"'.encode() for word in words]
    overlap = max(map(len, wanted)) - 1  # a word may stand across two pieces
    end = b""
    with suppress(FileNotFoundError, RefusedError), open_plain(file) as source:
        while piece := source.read(PIECE):
            if any(word in end + piece for word in wanted):
                return True
            end = piece[-overlap:]
    return False
