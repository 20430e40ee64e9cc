"""Convert between our types and Inspect's, in one place for tasks, scorers and logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markscheme.types import FinishReason, Prompt, Response

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, ModelOutput, StopReason

STOP_REASONS: dict[str | None, StopReason] = {
    "stop": "stop",
    "length": "max_tokens",
    "content_filter": "content_filter",
}
_FINISH_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
}


def chat_messages(prompt: Prompt) -> list[ChatMessage]:
    """Return the messages of a prompt as Inspect's messages."""
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser

    kinds: dict[str, Any] = {"system": ChatMessageSystem, "assistant": ChatMessageAssistant, "user": ChatMessageUser}
    return [kinds[each.role](content=each.content) for each in prompt.messages]


def response_of(output: ModelOutput, sample: int) -> Response:
    """Return the first choice of an output: text, reasoning, finish reason, tokens."""
    usage = output.usage
    cached = (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0) if usage else 0
    return Response(
        key="",
        sample=sample,
        text=output.completion,
        reasoning=_reasoning(output),
        finish_reason=None if output.empty else _FINISH_REASONS.get(output.stop_reason, "other"),
        prompt_tokens=usage.input_tokens + cached if usage else None,
        completion_tokens=usage.output_tokens if usage else None,
        reasoning_tokens=usage.reasoning_tokens if usage else None,
        latency=output.time,
        model=output.model or None,
    )


def _reasoning(output: ModelOutput) -> str | None:
    if output.empty or isinstance(output.message.content, str):
        return None
    parts = [part.reasoning for part in output.message.content if part.type == "reasoning"]
    return "\n".join(parts) or None
