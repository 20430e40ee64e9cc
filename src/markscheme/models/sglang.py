"""`sglang/NAME` starts an SGLang server and asks it; `sglang/URL` is the native `/generate` of one that runs already.

`/generate` takes the prompt as plain text and applies no chat template. For a chat model on a running server use
`openai/NAME` with `--base-url URL/v1`: the same server, with the template.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import msgspec

from markscheme.config import RunConfig
from markscheme.errors import UsageError
from markscheme.models.base import Completion, Request, RequestFailed
from markscheme.models.fields import api_key, as_object, count, extra_fields, finish_reason, plain_prompt, with_path
from markscheme.models.managed import LOOPBACK, Managed, as_flags, server_arguments
from markscheme.models.secrets import hide_spec, secret_values
from markscheme.models.transport import Transport
from markscheme.scale.servers import Launch

KEY_VARIABLE = "SGLANG_API_KEY"


def create(target: str, config: RunConfig) -> SGLang | Managed:
    """A running server at the address behind the slash (further `--base-url` are replicas of it), or servers of our own."""
    if target.startswith(("http://", "https://")):
        return SGLang(target, config)
    if not target:
        raise UsageError("sglang needs a model (sglang/Qwen/Qwen3-8B) or a server (sglang/http://localhost:30000)")
    if find_spec("sglang") is None:
        raise UsageError(
            "sglang/ starts `sglang.launch_server`, and sglang is not installed: pip install 'sglang[all]'"
        )
    start = [sys.executable, "-m", "sglang.launch_server", "--model-path", target, "--host", LOOPBACK]
    flags = as_flags(server_arguments(config))
    return Managed(Launch("sglang", lambda port: [*start, "--port", str(port), *flags], "/health"), target, config)


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
