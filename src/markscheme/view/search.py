"""Finds words in the texts by reading the files: no index of words, whose size would be that of the texts again.

Only the lines of the rows in question are read, in file order and in large pieces; the needle is looked for in the
bytes as they stand, and each hit is checked on the decoded text. It takes one to three seconds a gigabyte, and what was
found so far can be shown meanwhile.
"""

from __future__ import annotations

import json
import time
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import msgspec
import numpy as np

from markscheme.runs.columns import Ints
from markscheme.runs.lines import UNREADABLE
from markscheme.runs.snapshot import Snapshot
from markscheme.view.background import Report

# Bytes read at once; a longer line is read whole. Small enough for memory that is used again: half the time of 4 MB.
PIECE = 192 << 10
REPORT_EVERY = 0.2  # seconds between two reports of how far a search came


class _Texts(msgspec.Struct):
    text: str = ""
    reasoning: str | None = None


_decoder = msgspec.json.Decoder(_Texts)


@dataclass(frozen=True)
class SearchResult:
    """Rows whose text holds the words, and how much was looked through."""

    rows: Ints
    searched: int
    total: int

    @property
    def complete(self) -> bool:
        """Whether every row in question was looked at."""
        return self.searched == self.total


class Needle:
    """What is looked for: in the bytes quickly, in the decoded text for certain.

    Without `case`, letters of ASCII are equal in both cases, as that is what can be told from bytes.
    """

    def __init__(self, words: str, case: bool) -> None:
        self._case = case
        self._words = words if case else words.lower()
        # As we write JSON, and as a writer does that escapes everything beyond ASCII.
        forms = {msgspec.json.encode(words)[1:-1], json.dumps(words)[1:-1].encode()}
        self._forms = [form if case else form.lower() for form in forms]

    def rows_in(self, piece: bytes, starts: list[int]) -> list[int]:
        """Which of the lines that start at `starts` may hold the words."""
        hay = piece if self._case else piece.lower()
        seen: set[int] = set()
        for form in self._forms:
            at = hay.find(form)
            while at >= 0:
                row = bisect_right(starts, at) - 1
                seen.add(row)
                if row + 1 == len(starts):
                    break
                at = hay.find(form, starts[row + 1])  # one hit a line is enough
        return sorted(seen)

    def is_in(self, line: bytes) -> bool:
        """Whether the words stand in the text or the reasoning of this line, and not merely in its id."""
        try:
            texts = _decoder.decode(line)
        except UNREADABLE:
            return False
        both = (texts.text, texts.reasoning or "")
        return any(self._words in (text if self._case else text.lower()) for text in both)


def search(
    snapshot: Snapshot,
    rows: Ints,
    words: str,
    *,
    case: bool = False,
    report: Report[SearchResult] = lambda _: True,
) -> SearchResult:
    """The rows among `rows` whose text or reasoning holds `words`.

    `report` is told now and then how far it came; the search ends there if it says False.
    """
    needle = Needle(words, case)
    place = snapshot.rows["offset"][rows]
    number = snapshot.rows["file"][rows]
    there = number >= 0
    order = np.lexsort((place[there], number[there]))
    todo = rows[there][order]
    hits: list[int] = []
    done, due = 0, 0.0
    for file_number in np.unique(number[there]):
        mine = todo[snapshot.rows["file"][todo] == file_number]
        try:
            stream = snapshot.files[file_number].open("rb", buffering=0)
        except OSError:
            continue
        with stream:
            for batch in _batches(snapshot, mine):
                hits += _hits(stream, snapshot, batch, needle)
                done += len(batch)
                if time.monotonic() < due:
                    continue
                due = time.monotonic() + REPORT_EVERY
                if not report(so_far := SearchResult(np.array(sorted(hits), np.int64), done, len(todo))):
                    return so_far
    return SearchResult(np.array(sorted(hits), np.int64), len(todo), len(todo))


def _batches(snapshot: Snapshot, rows: Ints) -> Iterator[Ints]:
    """Rows whose lines stand so close together that one read takes them all."""
    offset, length = snapshot.rows["offset"][rows], snapshot.rows["length"][rows]
    start = 0
    for at in range(1, len(rows) + 1):
        apart = at == len(rows) or offset[at] + length[at] - offset[start] > PIECE
        if apart or offset[at] - (offset[at - 1] + length[at - 1]) > PIECE // 8:
            yield rows[start:at]
            start = at


def _hits(stream: BinaryIO, snapshot: Snapshot, rows: Ints, needle: Needle) -> list[int]:
    base = int(snapshot.rows["offset"][rows[0]])
    starts = (snapshot.rows["offset"][rows] - base).tolist()
    ends = (snapshot.rows["offset"][rows] - base + snapshot.rows["length"][rows]).tolist()
    stream.seek(base)
    piece = stream.read(ends[-1])
    return [int(rows[row]) for row in needle.rows_in(piece, starts) if needle.is_in(piece[starts[row] : ends[row]])]
