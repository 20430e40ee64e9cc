"""How many marks of a run carry a flag."""

from __future__ import annotations

from collections import Counter

from markscheme.runs.files import marks_file
from markscheme.runs.snapshot import Snapshot


def flag_counts(snapshot: Snapshot, protocol: str, flags: tuple[str, ...]) -> dict[str, int]:
    """The marks that count under a protocol by flag; most files carry none of them, which one look tells."""
    file = marks_file(snapshot.folder, protocol.partition("@")[0])
    written = file.read_bytes() if file.exists() else b""
    if not any(f'"{flag}"'.encode() in written for flag in flags):
        return {}
    counts = Counter(flag for mark in snapshot.marks(protocol) for flag in mark.flags)
    return {flag: counts[flag] for flag in flags if counts[flag]}
