"""Columns: a few numbers about every line of a run's journals and where the line stands. Never a text.

A table only grows, so what a `Snapshot` took of it never changes. 73 bytes a response and 19 a mark.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import numpy.typing as npt

from markscheme.types import Response, Verdict

VERDICTS: tuple[Verdict, ...] = tuple(Verdict)
CODE = {str(verdict): code for code, verdict in enumerate(VERDICTS)}
CORRECT, WRONG, ERROR, TRUNCATED = (
    CODE[verdict] for verdict in (Verdict.CORRECT, Verdict.WRONG, Verdict.ERROR, Verdict.TRUNCATED)
)
UNMARKED = -1

FINISH = ("stop", "length", "content_filter", "other")
UNKNOWN = -1

SAMPLE_BITS = 20
LARGEST_SAMPLE = 1_000_000  # a larger index is a damaged line

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Table = npt.NDArray[Any]  # a structured array: one row a line

_NAN = float("nan")
_FINISH_CODE: dict[str | None, int] = {name: code for code, name in enumerate(FINISH)}

# column, letter for `struct`, type for numpy
_RESPONSE_COLUMNS = (
    ("cell", "q", "<i8"),  # problem and sample in one number
    ("offset", "q", "<i8"),
    ("length", "i", "<i4"),  # bytes of the line
    ("size", "i", "<i4"),  # characters of text and reasoning
    ("prompt_tokens", "i", "<i4"),
    ("tokens", "i", "<i4"),
    ("reasoning_tokens", "i", "<i4"),
    ("latency", "f", "<f4"),
    ("first_token", "f", "<f4"),
    ("unit", "i", "<i4"),  # the seed: samples of a problem that share it came with one request
    ("text", "i", "<i4"),  # a hash of the text, by which repeated ones are found
    ("attempts", "H", "<u2"),
    ("file", "h", "<i2"),
    ("kind", "b", "i1"),  # of the error: 0 is an answer
    ("finish", "b", "i1"),
    ("cached_tokens", "i", "<i4"),
    ("turns", "H", "<u2"),  # of the model, in a conversation; else 0
    ("calls", "H", "<u2"),  # of tools
    ("tool_errors", "H", "<u2"),
    ("tool_tokens", "i", "<i4"),
    ("cut", "b", "i1"),  # still calling when its turns were used up
)
_RANGES = {"q": 2**63 - 1, "i": 2**31 - 1, "H": 2**16 - 1, "h": 2**15 - 1, "b": 2**7 - 1, "f": 1e38}
# The least and the most that each column takes.
_LIMITS = [(0 if letter == "H" else -1, _RANGES[letter]) for _, letter, _ in _RESPONSE_COLUMNS]

_MARK_COLUMNS = (("cell", "q", "<i8"), ("offset", "q", "<i8"), ("label", "h", "<i2"), ("verdict", "b", "i1"))

_RESPONSE_TYPE = np.dtype([(name, kind) for name, _, kind in _RESPONSE_COLUMNS])
# The numbers of a response that has not been read yet.
ABSENT: Table = np.array(
    (
        *(0, UNKNOWN, 0, 0, UNKNOWN, UNKNOWN, UNKNOWN, _NAN, _NAN, UNKNOWN, 0, 0, UNKNOWN, 0, UNKNOWN),
        *(UNKNOWN, 0, 0, 0, UNKNOWN, 0),
    ),
    _RESPONSE_TYPE,
)


class Columns:
    """Some rows of a table, column by column: `columns["tokens"]`. A column takes memory from when it is asked for."""

    def __init__(self, table: Table, chosen: Ints) -> None:
        self._table, self._chosen = table, chosen
        self._made: dict[str, Table] = {}

    def __len__(self) -> int:
        return len(self._chosen)

    def __getitem__(self, name: str) -> Table:
        if name not in self._made:
            self._made[name] = self._table[name][self._chosen]
        return self._made[name]


class _Lines:
    """A growing table, fed line by line."""

    def __init__(self, columns: tuple[tuple[str, str, str], ...]) -> None:
        self._type = np.dtype([(name, kind) for name, _, kind in columns])
        self._pack = struct.Struct("<" + "".join(letter for _, letter, _ in columns)).pack
        self._new = bytearray()
        self._table: Table = np.zeros(0, self._type)

    def table(self) -> Table:
        """Everything so far. Later lines make a new table, this one stays as it is."""
        if self._new:
            new = np.frombuffer(self._new, self._type)  # takes the bytes over, no copy
            self._table = np.concatenate([self._table, new]) if len(self._table) else new
            self._new = bytearray()
        return self._table


class ResponseLines(_Lines):
    """Every whole line of the responses' files whose problem is known."""

    def __init__(self) -> None:
        super().__init__(_RESPONSE_COLUMNS)
        self.kinds: dict[str, int] = {"": 0}  # kinds of error, by the number that stands for each

    def add(self, cell: int, one: Response, file: int, offset: int, length: int) -> None:
        kind = 0
        if one.error is not None:
            name = one.error_kind or "unknown"
            kind = self.kinds.setdefault(name, len(self.kinds)) if len(self.kinds) < 127 else self.kinds.get(name, 126)
        prompt, tokens, reasoning = one.prompt_tokens, one.completion_tokens, one.reasoning_tokens
        self._append(
            cell,
            offset,
            length,
            len(one.text) + (len(one.reasoning) if one.reasoning else 0),
            UNKNOWN if prompt is None else prompt,
            UNKNOWN if tokens is None else tokens,
            UNKNOWN if reasoning is None else reasoning,
            _NAN if one.latency is None else one.latency,
            _NAN if one.first_token is None else one.first_token,
            UNKNOWN if one.seed is None else one.seed & 0x7FFFFFFF,
            hash(one.text) & 0x7FFFFFFF,
            one.attempts,
            file,
            kind,
            _FINISH_CODE.get(one.finish_reason, UNKNOWN),
            UNKNOWN if one.cached_tokens is None else one.cached_tokens,
            *(_talk(one) if one.turns else _ONE_TURN),
        )

    def _append(self, *numbers: float) -> None:
        try:
            self._new += self._pack(*numbers)
        except (struct.error, OverflowError):  # what does not fit is cut to what does
            fitting = (min(max(each, low), high) for each, (low, high) in zip(numbers, _LIMITS, strict=True))
            self._new += self._pack(*fitting)


_ONE_TURN = (0, 0, 0, UNKNOWN, 0)


def _talk(one: Response) -> tuple[int, ...]:
    spoken = sum(turn.role == "assistant" for turn in one.turns)
    tokens = one.tool_tokens
    return spoken, one.calls or 0, one.tool_errors or 0, UNKNOWN if tokens is None else tokens, one.cut_off_by_turns


class MarkLines(_Lines):
    """Every whole line of one protocol's marks whose problem is known."""

    def __init__(self) -> None:
        super().__init__(_MARK_COLUMNS)
        self.labels: dict[str, int] = {}
        """`name@version` as the marks say, by the number that stands for each; the last to appear is last."""

    def add(self, cell: int, offset: int, label: str, verdict: str) -> None:
        """Keep where a mark stands and what it says; a verdict that does not exist (yet) is none."""
        number = self.labels.get(label)
        if number is None:
            number = self.labels[label] = min(len(self.labels), 2**15 - 1)
        self._new += self._pack(cell, offset, number, CODE.get(verdict, UNMARKED))


def last_of_each(cells: Ints, *later: npt.NDArray[Any]) -> Ints:
    """The place of the last line of each cell, cells in order; `later` are keys that decide before the position does."""
    order = np.lexsort((*reversed(later), cells)) if later else np.argsort(cells, kind="stable")
    ordered = cells[order]
    last: Ints = order[np.append(ordered[1:] != ordered[:-1], np.ones(min(1, len(ordered)), bool))]
    return last


def problem_of(cells: Ints) -> Ints:
    """The number of the problem in each cell."""
    return cells >> SAMPLE_BITS


def sample_of(cells: Ints) -> Ints:
    """The number of the sample in each cell."""
    return cells & ((1 << SAMPLE_BITS) - 1)
