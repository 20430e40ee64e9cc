"""`anthropic/NAME`: the Messages API. Thinking blocks are kept as reasoning, never marked as the answer."""

from __future__ import annotations

from typing import Any

import msgspec

from markscheme.config import RunConfig
from markscheme.errors import UsageError, option
from markscheme.models.addresses import OFFICIAL
from markscheme.models.base import Batches, Completion, Request
from markscheme.models.batches import AnthropicBatches
from markscheme.models.fields import as_object, count, finish_reason, rest_of, with_path
from markscheme.models.served import Served, present, same_names
from markscheme.models.streams import MessageFold
from markscheme.models.turns import anthropic_calls, anthropic_messages
from markscheme.types import Sampling

KEY_VARIABLE = "ANTHROPIC_API_KEY"
API_VERSION = "2023-06-01"
MAX_TOKENS = 8192  # the API requires a limit; `--max-tokens` sets another


def create(target: str, config: RunConfig) -> Anthropic:
    """Create a client for an Anthropic model, or for a gateway with the same API."""
    if not target:
        raise UsageError("anthropic needs a model name after the slash")
    return Anthropic(target, config)


class Anthropic(Served):
    """Ask `/v1/messages`, one sample per request. The API takes no seed."""

    converses = True
    fold = MessageFold

    def __init__(self, name: str, config: RunConfig) -> None:
        if (config.samples_per_request or 1) > 1:
            raise UsageError(
                f"the Messages API gives one sample per request; leave {option('samples_per_request')} out"
            )
        self._model = name
        bases = config.base_url or (OFFICIAL["anthropic"],)
        urls = [with_path(base.rstrip("/").removesuffix("/v1"), "v1/messages") for base in bases]
        self._url = urls[0]
        super().__init__(
            f"anthropic/{name}",
            urls,
            config,
            KEY_VARIABLE,
            sampling_names=same_names("temperature", "top_p", "top_k", "max_tokens", stop="stop_sequences"),
            key_required=not config.base_url,
            key_header="x-api-key",
            key_form="{}",
            headers={"anthropic-version": API_VERSION},
        )

    def options(self, config: RunConfig) -> dict[str, Any]:
        """Support only the thinking budget of the optional parameters."""
        super().options(msgspec.structs.replace(config, thinking_budget=None))
        budget = config.thinking_budget
        return {} if budget is None else {"thinking": {"type": "enabled", "budget_tokens": budget}}

    def as_sent(self, sampling: Sampling) -> Sampling:
        """Drop temperature and top_k next to thinking, which the API refuses, and add the token limit that it requires."""
        sampling = msgspec.structs.replace(sampling, max_tokens=sampling.max_tokens or MAX_TOKENS)
        if as_object(self.extra.get("thinking")).get("type") == "enabled":
            sampling = msgspec.structs.replace(sampling, temperature=None, top_k=None)
        return super().as_sent(sampling)

    def batches(self) -> Batches:
        return AnthropicBatches(self, self._transport, f"{self._url}/batches")

    def body(self, request: Request) -> dict[str, Any]:
        system = [message.content for message in request.prompt.messages if message.role == "system"]
        tools = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
            for tool in request.tools
        ]
        return present(
            {
                "model": self._model,
                "system": "\n\n".join(system) or None,
                "messages": anthropic_messages(request),
                "tools": tools or None,
                **self.sampling_fields(self.as_sent(request.sampling)),
                **self.extra,
            }
        )

    def read(self, answer: Any, _: Request) -> list[Completion]:
        return [_completion(answer)]


def _completion(answer: dict[str, Any]) -> Completion:
    blocks = answer["content"]
    text = "".join(block["text"] for block in blocks if block["type"] == "text")
    thinking = "".join(block["thinking"] for block in blocks if block["type"] == "thinking")
    others: dict[str, Any] = {"citations": [each for block in blocks for each in block.get("citations") or ()]}
    for block in blocks:
        if block["type"] not in ("text", "thinking"):
            others.setdefault(str(block["type"]), []).append(block)  # tool_use, redacted_thinking …
    usage = as_object(answer.get("usage"))
    read = [
        count(usage.get(name)) for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    ]
    return Completion(
        text=text,
        reasoning=thinking or None,
        finish_reason=finish_reason(answer.get("stop_reason")),
        prompt_tokens=None if read[0] is None else sum(number or 0 for number in read),
        completion_tokens=count(usage.get("output_tokens")),
        cached_tokens=read[2],
        model=answer.get("model") if isinstance(answer.get("model"), str) else None,
        metadata=rest_of(others),
        tool_calls=anthropic_calls(blocks),
        raw=tuple(blocks),
    )
