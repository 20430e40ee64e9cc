"""What the viewer keeps of every response: a few numbers and where its line stands, in columns. Never a text.

`Cells` grows while files are read; `Snapshot` is its frozen copy in the order (problem, sample), which pages filter
and count with numpy. About 70 bytes a response and 9 a mark.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from markscheme.runs.folder import PlannedRound
from markscheme.types import Verdict

VERDICTS: tuple[Verdict, ...] = tuple(Verdict)
CODE = {str(verdict): code for code, verdict in enumerate(VERDICTS)}
CORRECT, WRONG, ERROR, TRUNCATED = (
    CODE[verdict] for verdict in (Verdict.CORRECT, Verdict.WRONG, Verdict.ERROR, Verdict.TRUNCATED)
)
UNMARKED = -1

FINISH = ("stop", "length", "content_filter", "other")
UNKNOWN = -1

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# name → array typecode and the value of a cell that has no response yet
_NUMBERS: dict[str, tuple[str, float]] = {
    "file": ("b", UNKNOWN),
    "offset": ("q", UNKNOWN),
    "length": ("q", 0),
    "failed": ("b", 0),
    "finish": ("b", UNKNOWN),
    "prompt_tokens": ("i", UNKNOWN),
    "tokens": ("i", UNKNOWN),
    "latency": ("f", float("nan")),
    "size": ("i", 0),  # bytes of text and reasoning as they stand in the file
}
_TOP = 2**31 - 1


class Cells:
    """One row a (problem, sample) that a response or a mark spoke of, in the order they turned up."""

    def __init__(self) -> None:
        self.problem, self.sample = array("i"), array("i")
        self.numbers: dict[str, array[Any]] = {name: array(code) for name, (code, _) in _NUMBERS.items()}
        self.verdicts: dict[str, array[int]] = {}
        self.mark_offsets: dict[str, array[int]] = {}
        self._row: dict[int, int] = {}
        self._room = 0  # rows that the columns have space for

    def __len__(self) -> int:
        return len(self.problem)

    def row(self, problem: int, sample: int) -> int:
        """The row of a cell, made if it is new."""
        place = problem << 32 | sample
        row = self._row.get(place)
        if row is None:
            row = self._row[place] = len(self.problem)
            self.problem.append(problem)
            self.sample.append(sample)
            if row >= self._room:
                self._grow()
        return row

    def _grow(self) -> None:
        """Lengthen all columns at once: eleven appends a row would be most of the time of reading marks."""
        more = max(1024, self._room // 2)
        for name, column in self.numbers.items():
            column.extend(array(column.typecode, [_NUMBERS[name][1]]) * more)
        for protocol in self.verdicts:
            self.verdicts[protocol].extend(array("b", [UNMARKED]) * more)
            self.mark_offsets[protocol].extend(array("q", [UNKNOWN]) * more)
        self._room += more

    def put(self, row: int, **numbers: float | None) -> None:
        """Set the numbers of a response; `None` is unknown, what does not fit is cut to what does."""
        for name, value in numbers.items():
            code, unknown = _NUMBERS[name]
            if value is None:
                value = unknown
            elif code == "i":
                value = min(max(int(value), UNKNOWN), _TOP)
            self.numbers[name][row] = value

    def has_gone(self) -> bool:
        """Whether a row has no response."""
        return UNKNOWN in self.numbers["file"][: len(self)]

    def clear_marks(self, protocol: str) -> None:
        """No mark of this protocol is known (any more)."""
        self.verdicts[protocol] = array("b", [UNMARKED]) * self._room
        self.mark_offsets[protocol] = array("q", [UNKNOWN]) * self._room

    def drop_marks(self, protocol: str) -> None:
        """The protocol's file is gone."""
        self.verdicts.pop(protocol, None)
        self.mark_offsets.pop(protocol, None)


@dataclass(frozen=True)
class Snapshot:
    """All columns at one moment, rows ordered by problem and sample."""

    version: int
    marks_version: int
    complete: bool
    """Everything in the files has been read."""
    progress: float
    problem: Ints
    sample: Ints
    numbers: dict[str, npt.NDArray[Any]]
    verdicts: dict[str, npt.NDArray[np.int8]]
    mark_offsets: dict[str, Ints]
    labels: dict[str, str]
    """Protocol name → `name@version` as its marks say."""
    damaged: int
    torn: int
    keys: Sequence[str] = field(repr=False)
    ids: Sequence[str] = field(repr=False)
    rounds: Sequence[PlannedRound] = ()
    """Of a run that asked some problems more often because of their answers."""

    def __len__(self) -> int:
        return len(self.problem)

    @classmethod
    def of(cls, cells: Cells, *, complete: bool, **rest: object) -> Snapshot:
        """Copy the columns, in order."""
        problem, sample = np.array(cells.problem, np.int64), np.array(cells.sample, np.int64)
        order = np.lexsort((sample, problem))
        size = len(cells)
        numbers = {name: np.array(column[:size])[order] for name, column in cells.numbers.items()}
        # A failed response has the same verdict under every protocol, whether or not somebody wrote it down.
        failed = numbers["failed"].astype(bool)
        # A mark whose response is nowhere stands for nothing; that is known once everything has been read.
        gone = (numbers["file"] == UNKNOWN) & complete
        verdicts = {}
        for name, column in cells.verdicts.items():
            stored = np.array(column[:size], np.int8)[order]
            verdicts[name] = np.where(failed, ERROR, np.where(gone, UNMARKED, stored)).astype(np.int8)
        return cls(
            complete=complete,
            problem=problem[order],
            sample=sample[order],
            numbers=numbers,
            verdicts=verdicts,
            mark_offsets={
                name: np.array(column[:size], np.int64)[order] for name, column in cells.mark_offsets.items()
            },
            **rest,  # type: ignore[arg-type]
        )

    @property
    def problems(self) -> int:
        """How many problems there are, answered or not."""
        return len(self.keys)

    @cached_property
    def arrived(self) -> Mask:
        """Rows whose response is in a file (a mark may stand there before its response was read)."""
        return np.asarray(self.numbers["file"] >= 0)

    def verdict(self, protocol: str) -> npt.NDArray[np.int8]:
        """Verdict codes under a protocol; all unmarked (or failed) where it has no marks."""
        if protocol in self.verdicts:
            return self.verdicts[protocol]
        failed = self.numbers["failed"].astype(bool)
        return np.where(failed, np.int8(ERROR), np.int8(UNMARKED)).astype(np.int8)

    def row(self, problem: int, sample: int) -> int | None:
        """The row of a cell, or None."""
        low, high = np.searchsorted(self.problem, [problem, problem + 1])
        row = int(low + np.searchsorted(self.sample[low:high], sample))
        return row if row < high and self.sample[row] == sample else None

    def rows_of(self, problem: int) -> range:
        """The rows of a problem."""
        low, high = np.searchsorted(self.problem, [problem, problem + 1])
        return range(int(low), int(high))

    @cached_property
    def disagree(self) -> Mask:
        """Rows that one protocol calls correct and another does not."""
        some, every = np.zeros(len(self), bool), np.ones(len(self), bool)
        for verdict in self.verdicts.values():
            marked = verdict != UNMARKED
            right = verdict == CORRECT
            some |= right & marked
            every &= right | ~marked
        return some & ~every
