"""`http/URL`: the plain contract, for a server of one's own.

`POST` with JSON `dataset`, `prompt`, `sample_id` and every `--extra-field`; the answer is JSON with the text in
`answer` (`--response-field`, dots go deeper: `data.0.text`). Sampling is the server's business: what it should know
goes into extra fields, and a sampling option that would not be sent is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from markscheme.config import RunConfig
from markscheme.errors import UsageError
from markscheme.models.base import Completion, Request
from markscheme.models.fields import api_key, count, extra_fields, finish_reason, plain_prompt
from markscheme.models.secrets import hide_spec, secret_values
from markscheme.models.transport import Transport

KEY_VARIABLE = "MARKSCHEME_HTTP_KEY"


def create(target: str, config: RunConfig) -> PlainHTTP:
    """A server at the address behind the slash; further `--base-url` are replicas of it."""
    if not target and not config.base_url:
        raise UsageError("http needs an address: http/http://localhost:8000/generate")
    return PlainHTTP(target, config)


class PlainHTTP:
    """Asks for one sample a request."""

    concurrency = None
    own_sampling = True

    def __init__(self, url: str, config: RunConfig) -> None:
        if (config.samples_per_request or 1) > 1:
            raise UsageError("the plain HTTP contract gives one sample a request; leave --samples-per-request out")
        for name in ("temperature", "top_p", "top_k", "max_tokens", "stop"):
            if getattr(config, name) not in (None, ()):
                flag = name.replace("_", "-")
                raise UsageError(f"http/ does not send --{flag}; use --extra-field {name}={getattr(config, name)}")
        urls = ([url] if url else []) + list(config.base_url)
        self.name = hide_spec(f"http/{url}")
        self._extra = extra_fields(config.extra_field)
        self._field = config.response_field
        key_variable = config.api_key_env or KEY_VARIABLE
        headers = api_key(key_variable, urls, required=False, header="Authorization", form="Bearer {}")
        self._transport = Transport(urls, headers, key_variable, secret_values(config))
        self._encoder = msgspec.json.Encoder()

    async def answer(self, request: Request) -> Sequence[Completion]:
        """One completion."""
        answer = await self._transport.post(self._encoder.encode(self._body(request)))
        try:
            text = _dig(answer, self._field)
        except (KeyError, IndexError, TypeError, ValueError):
            raise self._transport.unusable(answer) from None
        if not isinstance(text, str | int | float):
            raise self._transport.unusable(answer)
        said = answer if isinstance(answer, dict) else {}
        usage = said["usage"] if isinstance(said.get("usage"), dict) else {}
        return [
            Completion(
                text=str(text),
                finish_reason=finish_reason(said.get("finish_reason")),
                prompt_tokens=count(usage.get("prompt_tokens")),
                completion_tokens=count(usage.get("completion_tokens")),
            )
        ]

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    def _body(self, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = {
            "dataset": request.benchmark,
            "prompt": plain_prompt(request.prompt),
            "sample_id": request.samples[0],
            **self._extra,
        }
        return {name: value for name, value in body.items() if value is not None}


def _dig(answer: Any, path: str) -> Any:
    """The value at `path`; a field whose very name has dots in it comes first."""
    if isinstance(answer, dict) and path in answer:
        return answer[path]
    for step in path.split("."):
        answer = answer[int(step)] if isinstance(answer, list) else answer[step]
    return answer
