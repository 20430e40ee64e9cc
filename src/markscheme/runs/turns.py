"""`turns.jsonl`: each turn of a conversation, written before the next begins. The last turn is in the response."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from markscheme.runs.lines import LineReader, decode_or_none
from markscheme.types import Turn


class TurnLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Turn `number` (from 0) of the conversation about a sample, or the ticket to fetch its answer with."""

    key: str
    sample: int = msgspec.field(default_factory=int)  # a factory, so that it is always written
    number: int = msgspec.field(default_factory=int)
    turn: Turn | None = None
    ticket: str = ""  # the server's name for the answer it is working on


class Begun(msgspec.Struct, frozen=True):
    """An unfinished conversation."""

    turns: tuple[Turn, ...]
    ticket: str = ""  # of the last answer that was asked for


def begun(
    folder: Path, wanted: Callable[[str, int], bool], key: str = "", seconds: float = float("inf")
) -> dict[tuple[str, int], Begun]:
    """Return the unfinished conversations by problem key and sample, with `key` only those of one problem.

    Turns count up to the first that is missing or damaged.
    """
    found: dict[tuple[str, int], list[Turn]] = {}
    tickets: dict[tuple[str, int], tuple[int, str]] = {}
    for file in sorted(folder.glob("turns*.jsonl")):
        reader = LineReader(file, folder.resolve())
        reader.look()
        for _, line in () if reader.refused else reader.lines(time.monotonic() + seconds):
            if key and key.encode() not in line:
                continue
            one = decode_or_none(line, TurnLine, TurnLine.__struct_fields__)
            if one is None or one.sample < 0 or not wanted(one.key, one.sample):
                continue
            cell = (one.key, one.sample)
            turns = found.setdefault(cell, [])
            if one.ticket:
                tickets[cell] = (one.number, one.ticket)
            elif one.turn is not None and one.number == len(turns):
                turns.append(one.turn)
    return {
        cell: Begun(tuple(turns), ticket if number == len(turns) else "")
        for cell, turns in found.items()
        if turns or cell in tickets
        for number, ticket in [tickets.get(cell, (-1, ""))]
    }
