"""What Inspect's model output says, as a `Response`: the scorer and the import of logs must read it alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markscheme.types import FinishReason, Response

if TYPE_CHECKING:
    from inspect_ai.model import ModelOutput

_FINISH: dict[str, FinishReason] = {
    "stop": "stop",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
}


def response_of(output: ModelOutput, *, key: str, sample: int, problem_id: str = "") -> Response:
    """The first choice of an output: text, reasoning, finish reason, tokens."""
    usage = output.usage
    cached = (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0) if usage else 0
    return Response(
        key=key,
        sample=sample,
        problem_id=problem_id,
        text=output.completion,
        reasoning=_reasoning(output),
        finish_reason=None if output.empty else _FINISH.get(output.stop_reason, "other"),
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
