"""The turns of a conversation, as the template `said` shows them."""

from __future__ import annotations

import json

from markscheme.runs.turns import Begun, begun
from markscheme.types import ToolCall, Turn
from markscheme.view.library import OpenRun

SECONDS = 0.5  # time limit for finding the turns of a conversation in progress


def call_text(call: ToolCall) -> str:
    """Return code as code, and other arguments as the model wrote them."""
    try:
        given = json.loads(call.arguments, strict=False)
    except (ValueError, RecursionError):
        return call.arguments
    code = given.get("code") if isinstance(given, dict) else None
    return code if isinstance(code, str) else call.arguments


def turns_so_far(run: OpenRun, problem: int, sample: int) -> tuple[Turn, ...]:
    """Return the turns of a response that is still in progress."""
    key = run.snapshot.keys[problem]
    return begun(run.entry.path, lambda *cell: cell == (key, sample), key, SECONDS).get((key, sample), Begun(())).turns
