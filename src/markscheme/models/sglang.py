"""`sglang/NAME` starts an SGLang server and asks it; `sglang/URL` asks `/generate` of a running one.

`/generate` takes plain text and applies no chat template. For a chat model on a running server use `openai/NAME` with
`--base-url URL/v1`: the same server, with the template.
"""

from __future__ import annotations

import sys
from typing import Any

from markscheme.config import RunConfig
from markscheme.errors import UsageError
from markscheme.models.base import Completion, Request, RequestFailed
from markscheme.models.fields import as_object, count, finish_reason, plain_prompt, with_path
from markscheme.models.fleet.managed import Managed, is_installed
from markscheme.models.fleet.servers import Program
from markscheme.models.served import Served, present, same_names

KEY_VARIABLE = "SGLANG_API_KEY"


def create(target: str, config: RunConfig) -> SGLang | Managed:
    """Create a client for the server at this address (each `--base-url` is another replica), or start servers."""
    if target.startswith(("http://", "https://")):
        return SGLang(target, config)
    if not target:
        raise UsageError("sglang needs a model (sglang/Qwen/Qwen3-8B) or a server (sglang/http://localhost:30000)")
    if not is_installed("sglang"):
        raise UsageError(
            "sglang/ starts `sglang.launch_server`, and sglang is not installed: pip install 'sglang[all]'"
        )
    start = [sys.executable, "-m", "sglang.launch_server", "--model-path", target]
    return Managed(Program("sglang", start), target, config)


class SGLang(Served):
    """Ask `/generate`; `n` gives several samples per request."""

    ending = "/generate"

    def __init__(self, url: str, config: RunConfig) -> None:
        urls = [with_path(one, "generate") for one in (url, *config.base_url)]
        names = same_names("temperature", "top_p", "top_k", "stop", max_tokens="max_new_tokens")
        super().__init__(f"sglang/{url}", urls, config, KEY_VARIABLE, sampling_names=names)

    def body(self, request: Request) -> dict[str, Any]:
        """Build the request; extra fields are sampling parameters here."""
        chosen = {
            **self.sampling_fields(request.sampling),
            "n": len(request.samples) if len(request.samples) > 1 else None,
            "sampling_seed": request.seeds[0] if len(request.samples) == 1 else None,
            **self.extra,
        }
        return {"text": plain_prompt(request.prompt), "sampling_params": present(chosen)}

    def read(self, answer: Any, _: Request) -> list[Completion]:
        answers = answer if isinstance(answer, list) else [answer]
        if not answers:
            raise RequestFailed("empty", "the server answered without a single sample", retryable=True)
        return [_completion(one, first=index == 0) for index, one in enumerate(answers)]


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
        # Each sample repeats the prompt's token count, though the prompt was computed once.
        prompt_tokens=prompt_tokens if first or prompt_tokens is None else 0,
        completion_tokens=count(about.get("completion_tokens")),
    )
