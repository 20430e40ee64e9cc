"""Numbers about every line of a run's journals, as columns that only grow. Never a text.

73 bytes per response and 19 per mark. What a `Snapshot` took of a table never changes.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
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
LARGEST_SAMPLE = 1_000_000  # a larger index means a damaged line

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Table = npt.NDArray[Any]  # a structured array, one row per line

_NAN = float("nan")
_FINISH_CODE: dict[str | None, int] = {name: code for code, name in enumerate(FINISH)}

# Column, its type in the notation that `struct` and numpy share, and its value while the response has not been read.
_RESPONSE_COLUMNS: tuple[tuple[str, str, float], ...] = (
    ("cell", "q", 0),  # problem and sample in one number
    ("offset", "q", UNKNOWN),
    ("length", "i", 0),  # bytes of the line
    ("size", "i", 0),  # characters of text and reasoning
    ("prompt_tokens", "i", UNKNOWN),
    ("tokens", "i", UNKNOWN),
    ("reasoning_tokens", "i", UNKNOWN),
    ("latency", "f", _NAN),
    ("first_token", "f", _NAN),
    ("unit", "i", UNKNOWN),  # the seed: samples of a problem that share it came with one request
    ("text", "i", 0),  # a hash of the text, to find repeated ones
    ("attempts", "H", 0),
    ("file", "h", UNKNOWN),
    ("kind", "b", 0),  # of the error; 0 is an answer
    ("finish", "b", UNKNOWN),
    ("cached_tokens", "i", UNKNOWN),
    ("turns", "H", 0),  # the model's turns in a conversation, else 0
    ("calls", "H", 0),  # tool calls
    ("tool_errors", "H", 0),
    ("tool_tokens", "i", UNKNOWN),
    ("cut", "b", 0),  # still calling tools when its turns were used up
)
_MARK_COLUMNS = (("cell", "q", 0), ("offset", "q", 0), ("label", "h", 0), ("verdict", "b", 0))

_LARGEST = {"q": 2**63 - 1, "i": 2**31 - 1, "H": 2**16 - 1, "h": 2**15 - 1, "b": 2**7 - 1, "f": 1e38}


def _type_of(columns: Sequence[tuple[str, str, float]]) -> np.dtype[Any]:
    return np.dtype([(name, f"<{letter}") for name, letter, _ in columns])


ABSENT: Table = np.array(tuple(value for *_, value in _RESPONSE_COLUMNS), _type_of(_RESPONSE_COLUMNS))


class Columns:
    """Some rows of a table by column: `columns["tokens"]`. A column is copied when first asked for."""

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

    def __init__(self, columns: Sequence[tuple[str, str, float]]) -> None:
        self._type = _type_of(columns)
        self._pack = struct.Struct("<" + "".join(letter for _, letter, _ in columns)).pack
        self._new = bytearray()
        self._table: Table = np.zeros(0, self._type)

    def table(self) -> Table:
        """Return everything so far. Later lines make a new table."""
        if self._new:
            new = np.frombuffer(self._new, self._type)  # takes the bytes over without a copy
            self._table = np.concatenate([self._table, new]) if len(self._table) else new
            self._new = bytearray()
        return self._table


class ResponseLines(_Lines):
    """Every whole line of the response files whose problem is known."""

    def __init__(self) -> None:
        super().__init__(_RESPONSE_COLUMNS)
        self.kinds: dict[str, int] = {"": 0}  # kind of error → its number

    def add(self, cell: int, one: Response, file: int, offset: int, length: int) -> None:
        kind = 0
        if one.error is not None:
            name = one.error_kind or "unknown"
            kind = self.kinds.setdefault(name, len(self.kinds)) if len(self.kinds) < 127 else self.kinds.get(name, 126)
        prompt, tokens, reasoning = one.prompt_tokens, one.completion_tokens, one.reasoning_tokens
        numbers = (
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
            *(_conversation(one) if one.turns else (0, 0, 0, UNKNOWN, 0)),
        )
        try:
            self._new += self._pack(*numbers)
        except (struct.error, OverflowError):
            self._new += self._pack(*map(_clamped, numbers, _RESPONSE_COLUMNS))


def _clamped(number: float, column: tuple[str, str, float]) -> float:
    letter = column[1]
    return min(max(number, 0 if letter == "H" else -1), _LARGEST[letter])


def _conversation(one: Response) -> tuple[int, ...]:
    spoken = sum(turn.role == "assistant" for turn in one.turns)
    tokens = one.tool_tokens
    return spoken, one.calls or 0, one.tool_errors or 0, UNKNOWN if tokens is None else tokens, one.cut_off_by_turns


class MarkLines(_Lines):
    """Every whole line of one protocol's marks whose problem is known."""

    def __init__(self) -> None:
        super().__init__(_MARK_COLUMNS)
        # `name@version` as the marks say → its number; in the order of their first appearance.
        self.labels: dict[str, int] = {}

    def add(self, cell: int, offset: int, label: str, verdict: str) -> None:
        number = self.labels.get(label)
        if number is None:
            number = self.labels[label] = min(len(self.labels), 2**15 - 1)
        self._new += self._pack(cell, offset, number, CODE.get(verdict, UNMARKED))


def last_of_each(cells: Ints, *later: npt.NDArray[Any]) -> Ints:
    """Return the place of the last line of each cell, ordered by cell. The keys in `later` outrank the position."""
    order = np.lexsort((*reversed(later), cells)) if later else np.argsort(cells, kind="stable")
    ordered = cells[order]
    last: Ints = order[np.append(ordered[1:] != ordered[:-1], np.ones(min(1, len(ordered)), bool))]
    return last


def problem_of(cells: Ints) -> Ints:
    """Return the number of the problem in each cell."""
    return cells >> SAMPLE_BITS


def sample_of(cells: Ints) -> Ints:
    """Return the number of the sample in each cell."""
    return cells & ((1 << SAMPLE_BITS) - 1)
