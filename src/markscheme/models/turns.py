"""Conversations in the format of each API: how turns and tools are sent and tool calls are read."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import msgspec

from markscheme.models.base import Request
from markscheme.models.fields import as_json, as_object
from markscheme.models.served import present
from markscheme.types import Message, ToolCall, Turn

MOST_CALLS = 64  # per turn: a broken server must not start thousands of tools


def chat_messages(request: Request) -> list[Any]:
    """Return the messages for chat completions."""
    return [*request.prompt.messages, *map(_chat_turn, request.turns)]


def _chat_turn(turn: Turn) -> Message | dict[str, Any]:
    if turn.role == "tool" and turn.call_id:
        return {"role": "tool", "tool_call_id": turn.call_id, "content": turn.text}
    if turn.role != "assistant":
        return Message("user", turn.text)
    called = [call for call in turn.tool_calls if call.id]
    if not called:
        return Message("assistant", turn.text)
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": as_arguments(call.arguments)}}
        for call in called
    ]
    # Models that think between calls continue from their reasoning; DeepSeek's API and vLLM take it under this name.
    said = {"content": turn.text or None, "reasoning_content": turn.reasoning, "tool_calls": calls}
    return {"role": "assistant", **present(said)}


def as_arguments(written: str) -> str:
    """Return arguments as a JSON object: some servers parse them and refuse the conversation otherwise."""
    try:
        read = isinstance(msgspec.json.decode(written), dict)
    except (msgspec.DecodeError, RecursionError):
        read = False
    return written if read else as_json({"invalid": written})


def chat_tools(request: Request) -> list[dict[str, Any]] | None:
    """Return the tools for chat completions, if there are any."""
    return [{"type": "function", "function": tool} for tool in request.tools] or None


def chat_calls(message: dict[str, Any]) -> tuple[ToolCall, ...]:
    """Return the tool calls in a message; a call without a function name is ignored."""
    listed = message.get("tool_calls")
    found = []
    for place, call in enumerate(listed[:MOST_CALLS] if isinstance(listed, list) else ()):
        function = as_object(as_object(call).get("function"))
        if isinstance(name := function.get("name"), str):
            own = call.get("id")
            found.append(
                ToolCall(
                    id=own if isinstance(own, str) and own else f"call_{place}",
                    name=name,
                    arguments=as_json(function.get("arguments") or ""),
                )
            )
    return tuple(found)


def plain_turns(turns: Sequence[Turn]) -> str:
    """Return the text after the prompt, for models that continue a text."""
    return "".join(turn.text if turn.role != "user" else f"\n\n{turn.text}\n\n" for turn in turns)


def anthropic_messages(request: Request) -> list[Any]:
    """Return the messages for Anthropic's API: thinking is sent back unchanged, and results of one turn are merged."""
    messages: list[Any] = [message for message in request.prompt.messages if message.role != "system"]
    for role, turns in groupby(request.turns, key=lambda turn: turn.role):
        if role == "assistant":
            messages += [{"role": "assistant", "content": list(map(_block, turn.raw)) or turn.text} for turn in turns]
        else:
            messages.append({"role": "user", "content": [_anthropic_block(turn) for turn in turns]})
    return messages


def _block(block: dict[str, Any]) -> dict[str, Any]:
    broken = block["type"] == "tool_use" and not isinstance(block["input"], dict)
    return {**block, "input": {"invalid": block["input"]}} if broken else block


def _anthropic_block(turn: Turn) -> dict[str, Any]:
    if not turn.call_id:
        return {"type": "text", "text": turn.text}
    return {"type": "tool_result", "tool_use_id": turn.call_id, "content": turn.text, "is_error": turn.failed}


def anthropic_calls(blocks: list[dict[str, Any]]) -> tuple[ToolCall, ...]:
    """Return the tool calls among the blocks of an answer."""
    called = [block for block in blocks if block["type"] == "tool_use"][:MOST_CALLS]
    return tuple(
        ToolCall(id=str(block["id"]), name=str(block["name"]), arguments=as_json(block["input"])) for block in called
    )
