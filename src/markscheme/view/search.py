"""Searches the texts by reading the files; an index of words would be as large as the texts.

Only the lines of the given rows are read, in file order and in large pieces. The words are searched in the raw bytes, and
each hit is checked on the decoded text. This takes one to three seconds per gigabyte, and partial results can be shown.
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

# Bytes read at once; a longer line is read as a whole. Larger pieces do not stay in the cache: 4 MB take twice as long.
PIECE = 192 << 10
REPORT_EVERY = 0.2  # seconds between two progress reports


class _Texts(msgspec.Struct):
    text: str = ""
    reasoning: str | None = None


_decoder = msgspec.json.Decoder(_Texts)


@dataclass(frozen=True)
class SearchResult:
    """The matching rows, and how many rows were searched."""

    rows: Ints
    searched: int
    total: int

    @property
    def complete(self) -> bool:
        """True if every row was searched."""
        return self.searched == self.total


class Needle:
    """The words of a search, to find in bytes quickly and in decoded text with certainty.

    Without `case`, only ASCII letters match in both cases, since the search is in bytes.
    """

    def __init__(self, words: str, case: bool) -> None:
        self._case = case
        self._words = words if case else words.lower()
        # as we write JSON, and as writers do that escape everything beyond ASCII
        forms = {msgspec.json.encode(words)[1:-1], json.dumps(words)[1:-1].encode()}
        self._forms = [form if case else form.lower() for form in forms]

    def rows_in(self, piece: bytes, starts: list[int]) -> list[int]:
        """Return the lines, by index in `starts`, that may contain the words."""
        hay = piece if self._case else piece.lower()
        seen: set[int] = set()
        for form in self._forms:
            at = hay.find(form)
            while at >= 0:
                row = bisect_right(starts, at) - 1
                seen.add(row)
                if row + 1 == len(starts):
                    break
                at = hay.find(form, starts[row + 1])  # one hit per line is enough
        return sorted(seen)

    def is_in(self, line: bytes) -> bool:
        """True if the words are in the text or the reasoning of a line."""
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
    """Return the rows whose text or reasoning contains `words`.

    `report` gets partial results; the search stops if it returns False.
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
    """Yield rows whose lines are close enough together for one read."""
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
