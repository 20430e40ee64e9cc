"""The responses of a run with their problems and marks, and how many marks carry a flag."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from markscheme.runs.files import RefusedError, marks_file, open_plain
from markscheme.runs.snapshot import Snapshot
from markscheme.types import Mark, Problem, Response, Verdict

PIECE = 1 << 20


def marked_responses(snapshot: Snapshot, protocol: str | None) -> Iterator[tuple[Problem, Response, Mark | None]]:
    """Yield every response that counts with its problem and mark, in file order. Without a protocol there are no marks."""
    problems = {question.problem.key: question.problem for question in snapshot.questions()}
    marks = {(mark.key, mark.sample): mark for mark in snapshot.marks(protocol)} if protocol else {}
    for response in snapshot.responses():
        mark = marks.get((response.key, response.sample)) or (error_mark(response, protocol) if protocol else None)
        yield problems[response.key], response, mark


def error_mark(response: Response, protocol: str) -> Mark | None:
    """Return the mark `error` for a response with an error, even if none is stored."""
    if response.error is None:
        return None
    return Mark(verdict=Verdict.ERROR, protocol=protocol, why=response.error, key=response.key, sample=response.sample)


def flag_counts(snapshot: Snapshot, protocol: str, flags: tuple[str, ...]) -> dict[str, int]:
    """Count the marks of a protocol by flag."""
    # Most files carry no flag at all, and a search of the bytes shows that without decoding a line.
    if not _mentions(marks_file(snapshot.folder, protocol.partition("@")[0]), flags):
        return {}
    counts = Counter(flag for mark in snapshot.marks(protocol) for flag in mark.flags)
    return {flag: counts[flag] for flag in flags if counts[flag]}


def _mentions(file: Path, words: tuple[str, ...]) -> bool:
    """True if a file contains one of the words in quotes. Reads in pieces."""
    wanted = [f'"{word}"'.encode() for word in words]
    overlap = max(map(len, wanted)) - 1  # a word may cross the border of two pieces
    end = b""
    with suppress(FileNotFoundError, RefusedError), open_plain(file) as source:
        while piece := source.read(PIECE):
            if any(word in end + piece for word in wanted):
                return True
            end = piece[-overlap:]
    return False
