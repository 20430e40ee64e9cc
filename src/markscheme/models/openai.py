"""`openai/NAME`: the chat and completions APIs of OpenAI and compatible servers; the Responses API is in
`responses.py`.

vLLM, SGLang, llama.cpp, TGI, Together and others implement these with small differences. A field that is missing, null
or of the wrong type counts as not given; it is never a reason to drop an answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markscheme.config import RunConfig
from markscheme.errors import UsageError, option
from markscheme.models.addresses import OFFICIAL
from markscheme.models.base import Batches, Completion, Request, RequestFailed
from markscheme.models.batches import OpenAIBatches
from markscheme.models.fields import (
    as_object,
    as_text,
    count,
    extra_fields,
    finish_reason,
    host_of,
    plain_prompt,
    reasoning_of,
    rest_of,
    share_tokens,
    with_path,
)
from markscheme.models.responses import Responses
from markscheme.models.served import Served, present, same_names
from markscheme.models.streams import DIGITS, ChatFold
from markscheme.models.turns import chat_calls, chat_messages, chat_tools, plain_turns

KEY_VARIABLE = "OPENAI_API_KEY"


def create(target: str, config: RunConfig) -> Served:
    """Create a client for one or more servers; without `--base-url`, for OpenAI itself."""
    if not target:
        raise UsageError(
            f"openai needs a model name, such as openai/gpt-4.1 or openai/Qwen3-8B with {option('base_url')}"
        )
    return asks(target, config)


def asks(name: str, config: RunConfig, *, key: str | None = None) -> Served:
    """Create the client for the API that the options name; `key` is the key of a server that we started."""
    if config.api == "responses":
        variable = _key_variable(config.base_url or (OFFICIAL["openai"],))
        return Responses(name, config, key=key, key_variable=variable)
    if config.background:
        raise UsageError(f"{option('background')} needs {option('api', 'responses')}")
    if config.reasoning_summary is not None:
        raise UsageError(
            f"{option('reasoning_summary')} needs {option('api', 'responses')}; chat servers return their reasoning or nothing"
        )
    return OpenAI(name, config, key=key)


class OpenAI(Served):
    """Ask `/chat/completions` or `/completions`."""

    converses = True
    fold = ChatFold
    stream_fields: Mapping[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}

    def __init__(self, name: str, config: RunConfig, *, key: str | None = None) -> None:
        """`key` is the key of a server that we started; any other key is in the environment."""
        self._model = name
        self._chat = config.api == "chat"
        bases = config.base_url or (OFFICIAL["openai"],)
        self._limit_field = config.max_tokens_field or _limit_field(bases)
        path = "chat/completions" if self._chat else "completions"
        urls = [with_path(base, path) for base in bases]
        names = same_names("temperature", "top_p", "top_k", "stop", max_tokens=self._limit_field)
        self._first_url = urls[0]
        if host_of(bases[0]) == "api.openai.com":  # it would otherwise pad every event with random text
            options = {"include_usage": True, "include_obfuscation": False}
            self.stream_fields = {"stream": True, "stream_options": options}
        super().__init__(
            f"openai/{name}",
            urls,
            config,
            _key_variable(bases),
            key=key,
            key_required=not config.base_url,
            sampling_names=names,
        )

    def options(self, config: RunConfig) -> dict[str, Any]:
        """Use the field names of vLLM, SGLang and OpenAI."""
        template = extra_fields(config.chat_template_kwarg, "--chat-template-kwarg")
        return present({"reasoning_effort": config.reasoning_effort, "chat_template_kwargs": template or None})

    def batches(self) -> Batches:
        path = "/chat/completions" if self._chat else "/completions"
        return OpenAIBatches(self, self._transport, self._first_url.removesuffix(path), f"/v1{path}")

    def body(self, request: Request) -> dict[str, Any]:
        asked: dict[str, Any] = {"prompt": plain_prompt(request.prompt) + plain_turns(request.turns)}
        if self._chat:
            asked = {"messages": chat_messages(request), "tools": chat_tools(request)}
        return present(
            {
                "model": self._model,
                **asked,
                **self.sampling_fields(request.sampling),
                "seed": request.seeds[0],
                "n": len(request.samples) if len(request.samples) > 1 else None,
                **self.extra,
            }
        )

    def read(self, answer: Any, request: Request) -> list[Completion]:
        completions = [self._completion(answer, choice) for choice in answer["choices"]]
        if not completions:
            raise RequestFailed("empty", "the server answered without a single choice", retryable=True)
        if len(request.samples) == 1:
            return completions
        return share_tokens(completions[: len(request.samples)], answer.get("usage"))

    def _completion(self, answer: dict[str, Any], choice: dict[str, Any]) -> Completion:
        message = choice["message"] if self._chat else choice
        usage = as_object(answer.get("usage"))
        details = as_object(usage.get("completion_tokens_details"))
        text, reasoning = as_text(message.get("content") if self._chat else message["text"]), reasoning_of(message)
        rest = _rest(message) if self._chat else {}
        if len(answer["choices"]) == 1:  # else the count of tokens is that of all
            rest |= _event_lengths(choice.get("event_lengths"), count(usage.get("completion_tokens")), reasoning + text)
        return Completion(
            text=text,
            reasoning=reasoning or None,
            finish_reason=finish_reason(choice.get("finish_reason")),
            prompt_tokens=count(usage.get("prompt_tokens")),
            completion_tokens=count(usage.get("completion_tokens")),
            reasoning_tokens=count(details.get("reasoning_tokens", usage.get("reasoning_tokens"))),
            cached_tokens=count(as_object(usage.get("prompt_tokens_details")).get("cached_tokens")),
            model=answer.get("model") if isinstance(answer.get("model"), str) else None,
            tool_calls=chat_calls(message) if self._chat else (),
            metadata=_logprobs(as_object(choice.get("logprobs"))) | rest,
        )


def _event_lengths(lengths: object, tokens: int | None, said: str) -> dict[str, Any]:
    """Return the lengths of the events of a stream if each was one token, for `report --token-limits`."""
    if not isinstance(lengths, str) or tokens is None or not 0 <= tokens - len(lengths) <= 1:
        return {}  # the end token adds no text
    numbers = [lengths.count(digit) for digit in DIGITS]
    characters = sum(length * number for length, number in enumerate(numbers))
    return {"event_lengths": lengths} if (sum(numbers), characters) == (len(lengths), len(said)) else {}


def _rest(message: dict[str, Any]) -> dict[str, Any]:
    """Return the rest of the message: tool calls, a refusal, annotations, non-text parts and other fields."""
    content = message.get("content")
    parts = [part for part in content if as_object(part).get("type") != "text"] if isinstance(content, list) else []
    return rest_of(
        {**message, "content_parts": parts}, ("role", "content", "reasoning_content", "reasoning", "thinking")
    )


def _logprobs(given: dict[str, Any]) -> dict[str, Any]:
    """Return the log-probability of each token, if requested: chats have objects, completions a list."""
    listed = given.get("token_logprobs") or given.get("content")
    if not listed or not isinstance(listed, list):
        return {}
    tokens = given.get("tokens") or [one.get("token") if isinstance(one, dict) else None for one in listed]
    kept: dict[str, Any] = {"logprobs": [_logprob(one) for one in listed]}
    if isinstance(tokens, list) and len(tokens) == len(listed) and all(isinstance(one, str) for one in tokens):
        kept["token_lengths"] = [len(one) for one in tokens]  # gives the end of each token, for `report --token-limits`
    return kept


def _logprob(one: object) -> float | None:
    """Return a usable number, else `None`; JSON allows integers that no other format can hold."""
    number = one.get("logprob") if isinstance(one, dict) else one
    return number if isinstance(number, int | float) and abs(number) < 1e9 else None


def _key_variable(bases: Sequence[str]) -> str:
    """Return the variable that holds the key. Hugging Face gets its own token, never OpenAI's key."""
    hosts = [host_of(base) for base in bases]
    ours = all(host.endswith((".huggingface.co", ".huggingface.cloud", ".hf.space")) for host in hosts)
    return "HF_TOKEN" if ours else KEY_VARIABLE


def _limit_field(bases: Sequence[str]) -> str:
    """Return the limit's field name: OpenAI's reasoning models refuse `max_tokens`, most other servers know only that."""
    return "max_completion_tokens" if host_of(bases[0]) == "api.openai.com" else "max_tokens"
