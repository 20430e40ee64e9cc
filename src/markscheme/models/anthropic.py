"""`anthropic/NAME`: the Messages API. Thinking blocks are kept as reasoning, never marked as the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from markscheme.config import RunConfig
from markscheme.errors import UsageError
from markscheme.models.base import Completion, Request
from markscheme.models.fields import api_key, as_object, count, extra_fields, finish_reason, with_path
from markscheme.models.secrets import secret_values
from markscheme.models.transport import Transport

OFFICIAL = "https://api.anthropic.com"
KEY_VARIABLE = "ANTHROPIC_API_KEY"
API_VERSION = "2023-06-01"
MAX_TOKENS = 8192
"""This API demands a limit; `--max-tokens` sets another."""


def create(target: str, config: RunConfig) -> Anthropic:
    """A model of Anthropic, or behind a gateway that speaks its API."""
    if not target:
        raise UsageError("anthropic needs a model name behind the slash")
    return Anthropic(target, config)


class Anthropic:
    """Asks `/v1/messages`, one sample a request. The API takes no seed."""

    concurrency = None

    def __init__(self, name: str, config: RunConfig) -> None:
        if (config.samples_per_request or 1) > 1:
            raise UsageError("the Messages API gives one sample a request; leave --samples-per-request out")
        self.name = f"anthropic/{name}"
        self._model = name
        self._extra = extra_fields(config.extra_field)
        key_variable = config.api_key_env or KEY_VARIABLE
        bases = config.base_url or (OFFICIAL,)
        headers = api_key(key_variable, bases, required=not config.base_url, header="x-api-key")
        addresses = [with_path(base.rstrip("/").removesuffix("/v1"), "v1/messages") for base in bases]
        self._transport = Transport(
            addresses, {**headers, "anthropic-version": API_VERSION}, key_variable, secret_values(config)
        )
        self._encoder = msgspec.json.Encoder()

    async def answer(self, request: Request) -> Sequence[Completion]:
        """One completion."""
        answer = await self._transport.post(self._encoder.encode(self._body(request)))
        try:
            return [_completion(answer)]
        except (KeyError, TypeError, AttributeError):
            raise self._transport.unusable(answer) from None

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    def _body(self, request: Request) -> dict[str, Any]:
        sampling = request.sampling
        messages = request.prompt.messages
        thinking = as_object(self._extra.get("thinking")).get("type") == "enabled"
        body: dict[str, Any] = {
            "model": self._model,
            "system": "\n\n".join(message.content for message in messages if message.role == "system") or None,
            "messages": [message for message in messages if message.role != "system"],
            "max_tokens": sampling.max_tokens or MAX_TOKENS,
            "temperature": None if thinking else sampling.temperature,  # the API refuses both together
            "top_p": sampling.top_p,
            "top_k": None if thinking else sampling.top_k,
            "stop_sequences": sampling.stop or None,
            **self._extra,
        }
        return {name: value for name, value in body.items() if value is not None}


def _completion(answer: dict[str, Any]) -> Completion:
    blocks = answer["content"]
    text = "".join(block["text"] for block in blocks if block["type"] == "text")
    thinking = "".join(block["thinking"] for block in blocks if block["type"] == "thinking")
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
        model=answer.get("model") if isinstance(answer.get("model"), str) else None,
    )
