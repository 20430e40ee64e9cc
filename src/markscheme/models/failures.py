"""What an HTTP error means, and whether a retry can help."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec

from markscheme.models.base import RequestFailed
from markscheme.redaction import printable

MESSAGE_LIMIT = 600  # characters of a server's message that are shown and kept; some servers send a whole HTML page
# Bytes of a body that are searched for the message. Far more than is shown, since secrets are removed before the cut.
READ_LIMIT = 2**16

_CONTEXT = re.compile(
    r"context[_ -]?(?:length|window|size)|maximum (?:context|model|input) length|max_model_len|prompt is too long"
    r"|(?:input|prompt|request)\b[^.]{0,40}\btoo (?:long|large)|inputs?` tokens|longer than the model|too many (?:input )?tokens",
    re.IGNORECASE,
)
_FILTERED = re.compile(r"content[_ -]?(?:filter|policy|management)|responsible ?ai", re.IGNORECASE)
_NO_MONEY = re.compile(r"insufficient_quota|exceeded your current quota|credit balance|billing", re.IGNORECASE)

_RETRYABLE = {408: "timeout", 409: "server_error", 425: "server_error", 429: "rate_limit", 504: "timeout"}
_OVERLOADED = (503, 529)


def failed_status(status: int, body: bytes, headers: Mapping[str, str], key_variable: str | None) -> RequestFailed:
    """Return the failure for a status other than 200."""
    message = server_message(body)
    sentence = f"the server answered {status}" + (f": {message}" if message else "")
    if status in (401, 403):
        hint = f"set {key_variable} to a valid key" if key_variable else "this address needs another key"
        return RequestFailed("auth", f"{hint}: {sentence}", retryable=False, fatal=True)
    if status == 402 or (status == 429 and _NO_MONEY.search(message)):
        return RequestFailed("quota", sentence, retryable=False, fatal=True)
    if status in _RETRYABLE or status >= 500:
        kind = _RETRYABLE.get(status) or ("overloaded" if status in _OVERLOADED else "server_error")
        return RequestFailed(kind, sentence, retryable=True, retry_after=retry_after(headers))
    if status == 413 or _CONTEXT.search(message):
        return RequestFailed("context_length", sentence, retryable=False)
    if _FILTERED.search(message):
        return RequestFailed("content_filter", sentence, retryable=False)
    if status == 404:
        advice = f"check the address and the model's name: {sentence}"
        return RequestFailed("not_found", advice, retryable=False, fatal=True)
    if 300 <= status < 400:
        where = headers.get("Location")
        advice = f"to {where}; give that as the address" if where else "without saying where to; check the address"
        return RequestFailed("not_found", f"the server redirects {advice}", retryable=False, fatal=True)
    return RequestFailed("bad_request", sentence, retryable=False)


def failed_body(answer: Any, key_variable: str | None) -> RequestFailed:
    """Return the failure for a 200 whose body is an error object or has the wrong shape."""
    if isinstance(answer, dict) and answer.get("error"):
        error = answer["error"]
        code = error.get("code") if isinstance(error, dict) else None
        body = msgspec.json.encode(answer)
        if isinstance(code, int) and 400 <= code < 600:
            return failed_status(code, body, {}, key_variable)
        return RequestFailed(
            "server_error", f"the server answered with an error: {server_message(body)}", retryable=True
        )
    return malformed(f"the answer does not have the documented form: {repr(answer)[:READ_LIMIT]}")


def malformed(message: str) -> RequestFailed:
    """Return the failure for an answer that arrived but cannot be read."""
    return RequestFailed("malformed", message, retryable=True)


def server_message(body: bytes) -> str:
    """Return the server's own message, from the usual places in an error body."""
    try:
        answer = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return text_of(body)
    for name in ("error", "message", "detail", "msg"):
        detail = answer.get(name) if isinstance(answer, dict) else None
        if isinstance(detail, dict):
            # Keep the code next to the message: `insufficient_quota` says more than the prose.
            words = [detail.get("message"), detail.get("code") or detail.get("type")]
            return " ".join(f"({word})" if index else str(word) for index, word in enumerate(words) if word)
        if detail:
            return detail if isinstance(detail, str) else msgspec.json.encode(detail).decode()
    return text_of(body)


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return the seconds in a `Retry-After` header, which holds seconds or a date; `None` if it is missing or
    unreadable.
    """
    value = headers.get("Retry-After", "").strip()
    if not value:
        return None
    if value.replace(".", "", 1).isdecimal():
        return float(value)
    try:
        when = parsedate_to_datetime(value)
        if when.tzinfo is None:
            when = when.replace(tzinfo=UTC)
        return max(0.0, (when - (now or datetime.now(UTC))).total_seconds())
    except (ValueError, TypeError, IndexError, OverflowError):  # malformed headers
        return None


def text_of(body: bytes) -> str:
    """Return the start of a body that is not JSON."""
    return body[:READ_LIMIT].decode("utf-8", "replace")


def shorten(text: str) -> str:
    """Put a message on one line and cut it to its limit."""
    text = printable(" ".join(text.split()))
    return text if len(text) <= MESSAGE_LIMIT else text[:MESSAGE_LIMIT] + " …"
