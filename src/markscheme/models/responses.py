"""`openai/NAME` with `--api responses`: OpenAI's Responses API, and servers that copy it.

Reasoning arrives as separate items, encrypted and, on request, with summaries. In a conversation all items of a turn
are sent back unchanged. A background request has an id, by which a later process can fetch it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from markscheme.config import RunConfig
from markscheme.errors import UsageError, option
from markscheme.models.addresses import OFFICIAL
from markscheme.models.base import Batches, Completion, Request, RequestFailed
from markscheme.models.batches import OpenAIBatches
from markscheme.models.failures import failed_body
from markscheme.models.fields import as_object, as_text, count, finish_reason, rest_of, with_path
from markscheme.models.served import Served, present, same_names
from markscheme.models.streams import Fold, broken_off
from markscheme.models.turns import MOST_CALLS
from markscheme.types import Message, Sampling, ToolCall, Turn

KEY_VARIABLE = "OPENAI_API_KEY"
WORKING = ("queued", "in_progress")
LOOK_AGAIN = (1.0, 2.0, 5.0, 10.0)  # seconds between polls of a background request; the last value repeats


class ResponseFold(Fold):
    """Fold the stream of a response. Its last event holds everything but encrypted reasoning, which comes with each
    item.
    """

    unneeded = re.compile(rb'^(?:event:.*|data: ?\{"type": ?"response\.[a-z_.]+\.delta".*)\n', re.MULTILINE)

    def __init__(self) -> None:
        super().__init__()
        self._items: dict[int, dict[str, Any]] = {}
        self._response: dict[str, Any] = {}

    def add(self, event: dict[str, Any]) -> None:
        kind = event.get("type")
        if kind == "response.output_item.done":
            self._items[event["output_index"]] = event["item"]
        elif kind in ("response.completed", "response.incomplete", "response.failed"):
            self._response, self.ended = event["response"], True
        elif kind == "error":
            raise failed_body({"error": event}, None)

    def answer(self) -> dict[str, Any]:
        if not self._response:
            raise broken_off()
        items = [item for _, item in sorted(self._items.items())]
        listed = self._response.get("output") or []
        return {**self._response, "output": items if len(items) >= len(listed) else listed}


class Responses(Served):
    """Ask `/responses`, one sample per request. The API takes no seed, no stop and no top_k."""

    converses = True
    fold = ResponseFold

    def __init__(
        self, name: str, config: RunConfig, *, key: str | None = None, key_variable: str = KEY_VARIABLE
    ) -> None:
        for unknown in ("top_k", "stop"):
            if getattr(config, unknown) not in (None, ()):
                raise UsageError(f"the Responses API has no {option(unknown)}; leave it out")
        if (config.samples_per_request or 1) > 1:
            raise UsageError(
                f"the Responses API gives one sample per request; leave {option('samples_per_request')} out"
            )
        if config.tools and config.tool_format != "native":
            raise UsageError(
                f"{option('tool_format')} {config.tool_format} needs a stop, which the Responses API does not have"
            )
        self._model, self._background = name, config.background
        self._urls = [with_path(base, "responses") for base in config.base_url or (OFFICIAL["openai"],)]
        self._tickets: dict[tuple[str, int, int], str] = {}
        super().__init__(
            f"openai/{name}",
            self._urls,
            config,
            key_variable,
            key=key,
            key_required=not config.base_url,
            sampling_names=same_names("temperature", "top_p", max_tokens="max_output_tokens"),
        )
        if self._background:
            if len(self._urls) > 1:
                raise UsageError(
                    f"{option('background')} fetches each answer from the server that it asked; give one {option('base_url')}"
                )
            self.streams = False

    def options(self, config: RunConfig) -> dict[str, Any]:
        """Put effort and summary into `reasoning`."""
        super().options(
            msgspec.structs.replace(config, reasoning_effort=None, reasoning_summary=None, background=False)
        )
        reasoning = present({"effort": config.reasoning_effort, "summary": config.reasoning_summary})
        return {"reasoning": reasoning} if reasoning else {}

    def as_sent(self, sampling: Sampling) -> Sampling:
        return super().as_sent(msgspec.structs.replace(sampling, top_k=None, stop=()))

    def batches(self) -> Batches:
        return OpenAIBatches(self, self._transport, self._urls[0].removesuffix("/responses"), "/v1/responses")

    def body(self, request: Request) -> dict[str, Any]:
        tools = [{"type": "function", **msgspec.to_builtins(tool), "strict": False} for tool in request.tools]
        # Store nothing at the provider except background requests: reasoning comes back to us, encrypted.
        kept = {"background": True, "store": True} if self._background else {"store": False}
        return present(
            {
                "model": self._model,
                "input": [item for one in request.messages for item in _items(one)],
                "tools": tools or None,
                "include": ["reasoning.encrypted_content"],
                **kept,
                **self.sampling_fields(request.sampling),
                **self.extra,
            }
        )

    def read(self, answer: Any, _: Request) -> list[Completion]:
        return [_completion(answer)]

    async def generate(self, request: Request) -> Sequence[Completion]:
        if not self._background:
            return await super().generate(request)
        place = (request.key, request.samples[0], len(request.turns))
        ticket, answer = self._tickets.get(place, request.ticket), None
        if not ticket:
            begun = await self._transport.ask(self._encoder.encode(self.body(request)), as_object)
            # if this takes too long, the next attempt fetches it
            ticket = self._tickets[place] = as_text(begun.get("id"))
            if self.keep_ticket is not None and ticket:
                self.keep_ticket(request, ticket)
            answer = begun if begun.get("status") not in WORKING else None
        answer = answer or await self._fetched(ticket)
        self._tickets[place] = ""  # if it failed, the next attempt starts a new request
        if answer is None:
            raise RequestFailed("server_error", "the provider no longer knows the background request", retryable=True)
        completions = self._transport.read(answer, lambda whole: self.read(whole, request))
        del self._tickets[place]
        return completions

    async def _fetched(self, ticket: str) -> dict[str, Any] | None:
        """Poll for the answer to a background request; `None` if the provider does not know it."""
        looks = iter(LOOK_AGAIN)
        delay = 0.0
        while True:
            await asyncio.sleep(delay)
            delay = next(looks, delay)
            try:
                answer = as_object(await self._transport.call("GET", f"{self._urls[0]}/{quote(ticket, safe='')}"))
            except RequestFailed as failure:
                if failure.kind == "not_found":
                    return None
                raise
            if answer.get("status") not in WORKING:
                return answer


def _items(one: Message | Turn) -> list[dict[str, Any]]:
    """Return a message or turn as input items; the model's own items unchanged."""
    if isinstance(one, Message):
        return [{"role": one.role, "content": one.content}]
    if one.role == "tool" and one.call_id:
        return [{"type": "function_call_output", "call_id": one.call_id, "output": one.text}]
    if one.role == "assistant" and one.raw:
        return list(one.raw)
    return [{"role": "assistant" if one.role == "assistant" else "user", "content": one.text}]


_FAILED = {"server_error": True, "rate_limit_exceeded": True, "vector_store_timeout": True}
_INCOMPLETE = {"max_output_tokens": "length", "content_filter": "content_filter"}


def _completion(answer: dict[str, Any]) -> Completion:
    status = answer.get("status")
    if status in ("failed", "cancelled") or answer.get("error"):
        raise _failure(as_object(answer.get("error")), str(status))
    items = [item for item in answer["output"] if isinstance(item, dict)]
    messages = [item for item in items if item.get("type") == "message"]
    final = [item for item in messages if item.get("phase") == "final_answer"] or messages
    parts = [part for item in final for part in item["content"]]
    others: dict[str, Any] = {
        "refusal": "".join(as_text(part.get("refusal")) for part in parts if part.get("type") == "refusal"),
        "annotations": [note for part in parts for note in part.get("annotations") or ()],
        "commentary": "".join(_text(item) for item in messages if item not in final),
    }
    for item in items:
        if item.get("type") not in ("message", "reasoning"):
            others.setdefault(str(item.get("type")), []).append(item)  # function_call, web_search_call …
    usage = as_object(answer.get("usage"))
    why = as_object(answer.get("incomplete_details")).get("reason")
    return Completion(
        text="".join(map(_text, final)),
        reasoning="\n\n".join(filter(None, map(_reasoning, items))) or None,
        finish_reason=finish_reason(_INCOMPLETE.get(str(why), "other") if status == "incomplete" else "stop"),
        prompt_tokens=count(usage.get("input_tokens")),
        completion_tokens=count(usage.get("output_tokens")),
        reasoning_tokens=count(as_object(usage.get("output_tokens_details")).get("reasoning_tokens")),
        cached_tokens=count(as_object(usage.get("input_tokens_details")).get("cached_tokens")),
        model=answer.get("model") if isinstance(answer.get("model"), str) else None,
        metadata=rest_of(others),
        tool_calls=_calls(items),
        raw=tuple(items),
    )


def _text(message: Mapping[str, Any]) -> str:
    return "".join(as_text(part.get("text")) for part in message["content"] if part.get("type") == "output_text")


def _reasoning(item: Mapping[str, Any]) -> str:
    """Return the text of a reasoning item: the reasoning itself if the server gives it, else its summary."""
    if item.get("type") != "reasoning":
        return ""
    content, summary = item.get("content") or [], item.get("summary") or []
    return as_text(content) or "\n\n".join(as_text(part.get("text")) for part in summary)


def _calls(items: Sequence[Mapping[str, Any]]) -> tuple[ToolCall, ...]:
    called = [item for item in items if item.get("type") == "function_call"][:MOST_CALLS]
    return tuple(
        ToolCall(id=str(item["call_id"]), name=str(item["name"]), arguments=as_text(item["arguments"]))
        for item in called
    )


def _failure(error: Mapping[str, Any], status: str) -> RequestFailed:
    """Return the failure of a response; retry it if the provider was at fault."""
    code, message = str(error.get("code") or status), as_text(error.get("message"))
    sentence = f"the response {status}: {message} ({code})"
    if "policy" in code:
        return RequestFailed("content_filter", sentence, retryable=False)
    kind = "rate_limit" if code == "rate_limit_exceeded" else "server_error"
    if _FAILED.get(code) or status == "cancelled":
        return RequestFailed(kind, sentence, retryable=True)
    return RequestFailed("bad_request", sentence, retryable=False)
