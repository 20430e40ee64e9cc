"""Helpers for request and answer bodies, shared by the HTTP backends."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import msgspec

from markscheme.errors import UsageError, option
from markscheme.models.base import Completion
from markscheme.models.secrets import json_or_text
from markscheme.types import FinishReason, Prompt

_FINISH: dict[str, FinishReason] = {
    "stop": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "content_filter": "content_filter",
    "refusal": "content_filter",
}


def finish_reason(reason: object) -> FinishReason | None:
    """Map a server's finish reason to ours; `None` if it gave none."""
    return _FINISH.get(reason, "other") if isinstance(reason, str) else None


def as_object(value: object) -> dict[str, Any]:
    """Return the value if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def count(value: object) -> int | None:
    """Return a token count, or `None` if it is missing or absurd: a count of billions would overflow sums."""
    return value if type(value) is int and 0 <= value < 10**9 else None


def as_text(content: object) -> str:
    """Return the text of a message: a string, a list of text parts, or nothing."""
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if isinstance(content, list):
        return "".join(as_text(part.get("text")) for part in content if isinstance(part, dict))
    raise TypeError(f"{type(content).__name__} is not text")


# Most bytes of JSON kept of what a model said besides its text and reasoning, such as tool calls.
LARGEST_REST = 2**18


def rest_of(said: Mapping[str, Any], known: Sequence[str] = ()) -> dict[str, Any]:
    """Return what else a model said, for the response's metadata: every field that is neither in `known` nor empty.

    The size is bounded: a field that does not fit is cut to the start of its JSON, as text.
    """
    kept: dict[str, Any] = {}
    room = LARGEST_REST
    for name, value in said.items():
        if name in known or value in (None, "", [], {}) or room <= 0:
            continue
        try:
            size = len(msgspec.json.encode([[[[value]]]]))  # no deeper than the line of a response may be nested
        except (RecursionError, ValueError):
            size = LARGEST_REST + 1
            value = repr(value)
        kept[name[:200]] = value if size <= room else f"{as_json(value)[:room]} …"
        room -= size
    return kept


def as_json(value: Any) -> str:
    """Return a string as it is, and any other value as JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def reasoning_of(message: Mapping[str, Any]) -> str:
    """Return the model's reasoning, from the first place that has any; servers use several."""
    parts = message.get("content")
    thought = [part.get("thinking") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    details = message.get("reasoning_details")
    listed = [part for part in details if isinstance(part, dict)] if isinstance(details, list) else []
    places: list[object] = [message.get(name) for name in ("reasoning_content", "reasoning", "thinking")]
    places += [*thought, [{"text": part.get("text") or part.get("summary")} for part in listed]]
    for place in places:
        if isinstance(place, str | list) and (text := as_text(place)):
            return text
    return ""


def plain_prompt(prompt: Prompt) -> str:
    """Join the messages into one text, for servers without a chat API."""
    return "\n\n".join(message.content for message in prompt.messages)


def extra_fields(options: Sequence[str], flag: str = "--extra-field") -> dict[str, Any]:
    """Parse `--extra-field KEY=VALUE`: the value is JSON if it parses as JSON, else text."""
    fields: dict[str, Any] = {}
    for given in options:
        name, equals, value = given.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"{flag} {given!r} is not KEY=VALUE")
        fields[name.strip()] = json_or_text(value)
    return fields


def header_fields(options: Sequence[str]) -> dict[str, str]:
    """Parse `--header 'NAME: VALUE'`, or with `=` as the separator."""
    fields: dict[str, str] = {}
    for given in options:
        sign = next((one for one in given if one in ":="), ":")
        name, between, value = (part.strip() for part in given.partition(sign))
        if not between or not re.fullmatch(r"[\w!#$%&'*+.^`|~-]+", name, re.ASCII):
            raise UsageError(f"{option('header')} is not 'NAME: VALUE'")  # do not repeat it: it may contain a key
        if not value.isprintable() or not value.isascii():
            raise UsageError(
                f"{option('header')} {name} contains a line break or a character that is not allowed in headers"
            )
        fields[name] = value
    return fields


def api_key(
    variable: str, urls: Sequence[str], *, required: bool, header: str, form: str = "{}", known: str | None = None
) -> dict[str, str]:
    """Return the header with the key: the one given, else the one in the environment, if any.

    A URL that contains a password needs no other key.
    """
    key = (known or os.environ.get(variable, "")).strip()
    if not (key.isascii() and key.isprintable()):
        where = "the key of the server" if known else variable
        raise UsageError(f"{where} is not a key: it contains a line break or a character that keys do not have")
    if any("@" in url.partition("//")[2].partition("/")[0] for url in urls):
        return {}
    if key:
        return {header: form.format(key)}
    if required:
        raise UsageError(
            f"{variable} is not set; set it to your key, or give the address of your server with {option('base_url')}"
        )
    return {}


def host_of(url: str) -> str:
    """Return the host of an address; empty if the address is invalid, which is reported elsewhere."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def with_path(base: str, path: str) -> str:
    """Append an endpoint's path to a base address, unless the address already ends with it."""
    try:
        parts = urlsplit(base)
    except ValueError:  # not an address; connecting to it reports that
        return base
    stem = parts.path.rstrip("/")
    if not stem.endswith("/" + path):
        stem = f"{stem}/{path}"
    return urlunsplit(parts._replace(path=stem))


def share_tokens(completions: Sequence[Completion], usage: object) -> list[Completion]:
    """Divide one usage report among the samples of one request, so that sums over samples stay correct.

    The prompt was computed once, so its tokens count with the first sample. The cost of each sample is not reported, so
    completion tokens are divided by length of text, and the metadata says so.
    """
    if not isinstance(usage, dict):
        return list(completions)
    lengths = [len(one.text) + len(one.reasoning or "") for one in completions]
    totals = (completions[0].completion_tokens, completions[0].reasoning_tokens)
    completion, reasoning = (_divided(total, lengths) for total in totals)
    return [
        msgspec.structs.replace(
            one,
            prompt_tokens=one.prompt_tokens if index == 0 or one.prompt_tokens is None else 0,
            completion_tokens=completion[index],
            reasoning_tokens=reasoning[index],
            metadata={**one.metadata, "choice": index, "usage_shared_by": len(completions)},
        )
        for index, one in enumerate(completions)
    ]


def _divided(total: int | None, weights: Sequence[int]) -> list[int | None]:
    """Divide a total into whole numbers in proportion to the weights."""
    if total is None:
        return [None] * len(weights)
    whole = sum(weights) or len(weights)
    parts = weights if sum(weights) else [1] * len(weights)
    ends = (total * seen // whole for seen in accumulate(parts))
    return [end - start for start, end in pairwise((0, *ends))]
