"""The turns of a conversation, folded: what was said, which tools were called, what they gave back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from markscheme.runs.turns import Begun, begun
from markscheme.types import ToolCall, Turn
from markscheme.view.library import OpenRun

SHOWN = 24_000  # characters of a turn that are in the page
SECONDS = 0.5  # of looking for the turns of a conversation that is going on
MOST = 200  # turns in a page


class Spoken(NamedTuple):
    """One turn, as a page shows it."""

    title: str
    note: str
    failed: bool
    text: str
    calls: list[tuple[str, str]]  # the name of a tool, and what it was told
    length: int


def spoken(turns: Sequence[Turn]) -> list[Spoken]:
    """The turns with their numbers."""
    return [_spoken(number, turn) for number, turn in enumerate(turns[:MOST], 1)]


def _spoken(number: int, turn: Turn) -> Spoken:
    who = {"assistant": "the model", "tool": "result of a tool", "user": "the user"}[turn.role]
    notes = [f"{len(turn.tool_calls)} call{'s' * (len(turn.tool_calls) != 1)}"] if turn.tool_calls else []
    notes += [f"{turn.completion_tokens:,} tokens"] if turn.completion_tokens is not None else []
    notes += [f"{turn.latency:.3g} s"] if turn.latency is not None else []
    text = "\n\n".join(filter(None, [turn.reasoning, turn.text]))
    calls = [(call.name[:80], _told(call)[:SHOWN]) for call in turn.tool_calls if call.id]
    return Spoken(f"Turn {number}: {who}", ", ".join(notes), turn.failed, text[:SHOWN], calls, len(text))


def _told(call: ToolCall) -> str:
    """Code as code; other arguments as they were written."""
    try:
        given = json.loads(call.arguments, strict=False)
    except (ValueError, RecursionError):
        return call.arguments
    code = given.get("code") if isinstance(given, dict) else None
    return code if isinstance(code, str) else call.arguments


def turns_so_far(run: OpenRun, problem: int, sample: int) -> tuple[Turn, ...]:
    """What was said of a response that is still being asked for."""
    key = run.snapshot.keys[problem]
    return begun(run.entry.path, lambda *cell: cell == (key, sample), key, SECONDS).get((key, sample), Begun(())).turns
