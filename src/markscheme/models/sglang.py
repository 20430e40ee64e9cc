"""`sglang/URL`: SGLang's native `/generate`, which takes the prompt as plain text and applies no chat template.

For chat models use `openai/NAME` with `--base-url URL/v1`: the same server, with the template.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from markscheme.config import RunConfig
from markscheme.errors import UsageError
from markscheme.models.base import Completion, Request, RequestFailed
from markscheme.models.fields import api_key, as_object, count, extra_fields, finish_reason, plain_prompt, with_path
from markscheme.models.secrets import hide_spec, secret_values
from markscheme.models.transport import Transport

KEY_VARIABLE = "SGLANG_API_KEY"


def create(target: str, config: RunConfig) -> SGLang:
    """A running SGLang server at the address behind the slash; further `--base-url` are replicas of it."""
    if not target.startswith(("http://", "https://")):
        raise UsageError("sglang needs the address of a running server: sglang/http://localhost:30000")
    return SGLang(target, config)


class SGLang:
    """Asks `/generate`; several samples a request through `n`."""

    concurrency = None

    def __init__(self, url: str, config: RunConfig) -> None:
        urls = [with_path(one, "generate") for one in (url, *config.base_url)]
        self.name = hide_spec(f"sglang/{url}")
        self._extra = extra_fields(config.extra_field)
        key_variable = config.api_key_env or KEY_VARIABLE
        headers = api_key(key_variable, urls, required=False, header="Authorization", form="Bearer {}")
        self._transport = Transport(urls, headers, key_variable, secret_values(config))
        self._encoder = msgspec.json.Encoder()

    async def answer(self, request: Request) -> Sequence[Completion]:
        """One completion a sample."""
        answer = await self._transport.post(self._encoder.encode(self._body(request)))
        try:
            answers = answer if isinstance(answer, list) else [answer]
            completions = [_completion(one, first=index == 0) for index, one in enumerate(answers)]
        except (KeyError, TypeError, AttributeError):
            raise self._transport.unusable(answer) from None
        if not completions:
            raise RequestFailed("empty", "the server answered without a single sample", retryable=True)
        return completions[: len(request.samples)]

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    def _body(self, request: Request) -> dict[str, Any]:
        sampling = request.sampling
        chosen: dict[str, Any] = {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "top_k": sampling.top_k,
            "max_new_tokens": sampling.max_tokens,
            "stop": sampling.stop or None,
            "n": len(request.samples) if len(request.samples) > 1 else None,
            "sampling_seed": request.seeds[0] if len(request.samples) == 1 else None,
            **self._extra,
        }
        return {
            "text": plain_prompt(request.prompt),
            "sampling_params": {name: value for name, value in chosen.items() if value is not None},
        }


def _completion(answer: dict[str, Any], *, first: bool) -> Completion:
    about = as_object(answer.get("meta_info"))
    ended = about.get("finish_reason")
    text = answer["text"]
    if not isinstance(text, str):
        raise TypeError("text is not a string")
    prompt_tokens = count(about.get("prompt_tokens"))
    return Completion(
        text=text,
        finish_reason=finish_reason(ended.get("type") if isinstance(ended, dict) else ended),
        # Each sample repeats the prompt's count, though the prompt was computed once.
        prompt_tokens=prompt_tokens if first or prompt_tokens is None else 0,
        completion_tokens=count(about.get("completion_tokens")),
    )
