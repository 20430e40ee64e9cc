"""The batch APIs of OpenAI (and compatible servers) and of Anthropic.

URLs are built from our own address, never taken from an answer: a server must not redirect the key.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Collection, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

from markscheme.models.base import Batches, BatchLine, BatchResult, BatchState, Completion, Request, RequestFailed
from markscheme.models.failures import failed_body, failed_status, malformed
from markscheme.models.fields import as_object, count
from markscheme.models.transport import Transport

if TYPE_CHECKING:
    from markscheme.models.served import Served


class _ServedBatches(Batches):
    """The batch API of a model behind HTTP, using the model's request bodies, reader and connections."""

    def __init__(self, model: Served, transport: Transport, address: str) -> None:
        self._model, self._transport, self._address = model, transport, address.rstrip("/")

    def body(self, request: Request) -> dict[str, Any]:
        return self._model.body(request)

    def read(self, answer: Any, request: Request) -> Completion:
        try:
            return self._model.read(answer, request)[0]
        except (KeyError, IndexError, TypeError, ValueError, AttributeError):
            raise failed_body(answer, None) from None

    async def _get(self, *path: str) -> dict[str, Any]:
        return as_object(await self._transport.call("GET", self._url(*path)))

    def _url(self, *path: str) -> str:
        return "/".join([self._address, *(quote(part, safe="") for part in path)])


class OpenAIBatches(_ServedBatches):
    """Upload a file of requests, create a batch from it, and download files of answers and errors."""

    most_requests, most_bytes = 50_000, 190_000_000

    def __init__(self, model: Served, transport: Transport, address: str, endpoint: str) -> None:
        super().__init__(model, transport, address)
        self._endpoint = endpoint

    async def submit(self, lines: Sequence[BatchLine], name: str) -> str:
        """Upload the file, then create the batch."""
        rows = [{"custom_id": own, "method": "POST", "url": self._endpoint, "body": body} for own, body in lines]
        content = b"".join(msgspec.json.encode(row) + b"\n" for row in rows)
        file = await self._transport.upload(self._url("files"), {"purpose": "batch"}, f"{name}.jsonl", content)
        asked = {
            "input_file_id": _made(file),
            "endpoint": self._endpoint,
            "completion_window": "24h",
            "metadata": {"markscheme": name},
        }
        made = await self._transport.call("POST", self._url("batches"), msgspec.json.encode(asked))
        return _made(made)

    async def find(self, name: str, size: int, known: Collection[str]) -> str | None:  # noqa: ARG002 - the name says enough
        listed = _objects(await self._transport.call("GET", self._url("batches") + "?limit=100"))
        ours = (each for each in listed if as_object(each.get("metadata")).get("markscheme") == name)
        return next((_made(each) for each in ours), None)

    async def state(self, batch: str) -> BatchState:
        """Return the state of a batch. An expired or cancelled one still has its earlier answers."""
        about = await self._get("batches", batch)
        status = _text(about.get("status"))
        done = count(as_object(about.get("request_counts")).get("completed")) or 0
        refused = ""
        if status == "failed":
            errors = _objects(about.get("errors"))[:3]
            refused = "; ".join(_text(each.get("message")) for each in errors) or "it failed"
        return BatchState(status in ("completed", "failed", "expired", "cancelled"), done, refused)

    async def results(self, batch: str) -> AsyncIterator[BatchResult]:
        about = await self._get("batches", batch)
        for field in ("output_file_id", "error_file_id"):
            if isinstance(file := about.get(field), str) and file:
                async for line in self._transport.lines(self._url("files", file, "content")):
                    yield self._result(as_object(line))

    def _result(self, line: dict[str, Any]) -> BatchResult:
        own, answer = _text(line.get("custom_id")), as_object(line.get("response"))
        status = answer.get("status_code")
        if status == 200:
            return own, answer.get("body")
        if isinstance(status, int) and status:
            return own, failed_status(status, msgspec.json.encode(answer.get("body")), {}, None)
        return own, _lost(as_object(line.get("error")))


class AnthropicBatches(_ServedBatches):
    """Submit everything in one request and read every result from another."""

    most_requests, most_bytes = 100_000, 250_000_000

    async def submit(self, lines: Sequence[BatchLine], name: str) -> str:  # noqa: ARG002 - this API keeps no names
        body = msgspec.json.encode({"requests": [{"custom_id": own, "params": body} for own, body in lines]})
        return _made(await self._transport.call("POST", self._address, body))

    async def find(self, name: str, size: int, known: Collection[str]) -> str | None:  # noqa: ARG002
        """Return the newest batch of that size. Results in it that are not ours are skipped when it is read."""
        for each in _objects(await self._transport.call("GET", self._address + "?limit=100")):
            counts = as_object(each.get("request_counts"))
            if _made(each) not in known and sum(count(number) or 0 for number in counts.values()) == size:
                return _made(each)
        return None

    async def state(self, batch: str) -> BatchState:
        about = await self._get(batch)
        counts = as_object(about.get("request_counts"))
        return BatchState(about.get("processing_status") == "ended", count(counts.get("succeeded")) or 0)

    async def results(self, batch: str) -> AsyncIterator[BatchResult]:
        async for line in self._transport.lines(self._url(batch, "results")):
            row = as_object(line)
            own, result = _text(row.get("custom_id")), as_object(row.get("result"))
            if result.get("type") == "succeeded":
                yield own, result.get("message")
            else:
                error = as_object(as_object(result.get("error")).get("error"))
                yield own, _lost({"code": error.get("type") or result.get("type"), "message": error.get("message")})


def _made(about: object) -> str:
    """Return the id of a file or batch that the provider created."""
    if name := _text(as_object(about).get("id")):
        return name
    raise malformed("the provider created a file or batch without an id")


def _objects(answer: object) -> list[dict[str, Any]]:
    """Return the objects of a list in its usual wrapper."""
    data = as_object(answer).get("data")
    return [each for each in data if isinstance(each, dict)] if isinstance(data, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _lost(error: dict[str, Any]) -> RequestFailed:
    """Return the failure of a request that a batch did not answer."""
    code, message = _text(error.get("code")), _text(error.get("message"))
    if "expired" in code:
        return RequestFailed("expired", "the batch ended before this request was answered", retryable=True)
    if "cancel" in code:
        return RequestFailed("cancelled", "the batch was cancelled before this request was answered", retryable=True)
    if "invalid" in code:
        return RequestFailed("bad_request", f"the batch refused this request: {message or code}", retryable=False)
    return malformed(f"the batch has no answer to this request: {message or code or json.dumps(error)[:200]}")
