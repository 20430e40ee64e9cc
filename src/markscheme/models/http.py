"""`http/URL`: the plain contract, for a server of your own.

`POST` JSON with `dataset`, `prompt`, `sample_id` and every `--extra-field`; the answer is JSON with the text in
`answer` (`--response-field` names another field, with dots for nesting: `data.0.text`). Sampling is up to the server:
pass what it needs as extra fields. Sampling options that would not be sent are refused.
"""

from __future__ import annotations

from typing import Any

from markscheme.config import RunConfig
from markscheme.errors import UsageError, option
from markscheme.models.base import Completion, Request
from markscheme.models.fields import as_object, count, finish_reason, plain_prompt
from markscheme.models.served import Served, present

KEY_VARIABLE = "MARKSCHEME_HTTP_KEY"


def create(target: str, config: RunConfig) -> PlainHTTP:
    """Create a client for the server at the address after the slash; each `--base-url` is another replica of it."""
    if not target and not config.base_url:
        raise UsageError("http needs an address: http/http://localhost:8000/generate")
    return PlainHTTP(target, config)


class PlainHTTP(Served):
    """Ask for one sample per request."""

    own_sampling = True
    ending = "/generate"

    def __init__(self, url: str, config: RunConfig) -> None:
        if (config.samples_per_request or 1) > 1:
            raise UsageError(
                f"the plain HTTP contract gives one sample per request; leave {option('samples_per_request')} out"
            )
        for name in ("temperature", "top_p", "top_k", "max_tokens", "stop"):
            if getattr(config, name) not in (None, ()):
                raise UsageError(
                    f"http/ does not send {option(name)}; use {option('extra_field')} {name}={getattr(config, name)}"
                )
        self._field = config.response_field
        super().__init__(f"http/{url}", [*([url] if url else []), *config.base_url], config, KEY_VARIABLE)

    def body(self, request: Request) -> dict[str, Any]:
        return present(
            {
                "dataset": request.benchmark,
                "prompt": plain_prompt(request.prompt),
                "sample_id": request.samples[0],
                **self.extra,
            }
        )

    def read(self, answer: Any, _: Request) -> list[Completion]:
        text = _dig(answer, self._field)
        if not isinstance(text, str | int | float):
            raise TypeError("no text")
        fields = as_object(answer)
        usage = as_object(fields.get("usage"))
        return [
            Completion(
                text=str(text),
                finish_reason=finish_reason(fields.get("finish_reason")),
                prompt_tokens=count(usage.get("prompt_tokens")),
                completion_tokens=count(usage.get("completion_tokens")),
            )
        ]


def _dig(answer: Any, path: str) -> Any:
    """Return the value at `path`. A field whose name contains the dots takes precedence."""
    if isinstance(answer, dict) and path in answer:
        return answer[path]
    for step in path.split("."):
        answer = answer[int(step)] if isinstance(answer, list) else answer[step]
    return answer
