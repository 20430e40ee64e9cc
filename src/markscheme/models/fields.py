"""The small change of request and answer bodies that the HTTP backends share."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import msgspec

from markscheme.errors import UsageError
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
    """A server's finish reason as one of ours; `None` where it said nothing."""
    return _FINISH.get(reason, "other") if isinstance(reason, str) else None


def as_object(value: object) -> dict[str, Any]:
    """A JSON object, where there is one."""
    return value if isinstance(value, dict) else {}


def count(value: object) -> int | None:
    """A token count, where there is one; a server that tells of a billion tells nonsense, and no sum would hold it."""
    return value if type(value) is int and 0 <= value < 10**9 else None


def as_text(content: object) -> str:
    """The text of a message: a string, a list of text parts, or nothing."""
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if isinstance(content, list):
        return "".join(as_text(part.get("text")) for part in content if isinstance(part, dict))
    raise TypeError(f"{type(content).__name__} is not text")


# Bytes of JSON that are kept of what a model said beside its text and reasoning, such as tool calls.
LARGEST_REST = 2**18


def rest_of(said: Mapping[str, Any], known: Sequence[str] = ()) -> dict[str, Any]:
    """What else a model said, for the metadata of its response: every field that is not known and not empty.

    Bounded: a field that does not fit is the beginning of its JSON, as text.
    """
    kept: dict[str, Any] = {}
    room = LARGEST_REST
    for name, value in said.items():
        if name in known or value in (None, "", [], {}) or room <= 0:
            continue
        try:
            size = len(msgspec.json.encode([[[[value]]]]))  # nested no deeper than the line of a response can be
        except (RecursionError, ValueError):
            size = LARGEST_REST + 1
            value = repr(value)
        kept[name[:200]] = value if size <= room else f"{as_json(value)[:room]} …"
        room -= size
    return kept


def as_json(value: Any) -> str:
    """A value as JSON, and a text as it is."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def reasoning_of(message: Mapping[str, Any]) -> str:
    """What a model thought, from the first of the places where servers put it."""
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
    """The messages as one text, for servers that take no chat."""
    return "\n\n".join(message.content for message in prompt.messages)


def extra_fields(options: Sequence[str], flag: str = "--extra-field") -> dict[str, Any]:
    """`--extra-field key=value`: JSON where it can be read as JSON, else the text itself."""
    fields: dict[str, Any] = {}
    for option in options:
        name, equals, value = option.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"{flag} {option!r} is not KEY=VALUE")
        fields[name.strip()] = json_or_text(value)
    return fields


def header_fields(options: Sequence[str]) -> dict[str, str]:
    """`--header 'NAME: VALUE'`, or with `=` between."""
    fields: dict[str, str] = {}
    for option in options:
        sign = next((one for one in option if one in ":="), ":")
        name, between, value = (part.strip() for part in option.partition(sign))
        if not between or not re.fullmatch(r"[\w!#$%&'*+.^`|~-]+", name, re.ASCII):
            raise UsageError("--header is not 'NAME: VALUE'")  # not repeated: it may hold a key
        if not value.isprintable() or not value.isascii():
            raise UsageError(f"--header {name} holds a line break or a letter that no header has")
        fields[name] = value
    return fields


def api_key(
    variable: str, urls: Sequence[str], *, required: bool, header: str, form: str = "{}", known: str | None = None
) -> dict[str, str]:
    """The header that carries the key: one that is known already, else that of the environment, if it has one.

    A URL with a password in it needs no other key.
    """
    key = (known or os.environ.get(variable, "")).strip()
    if not (key.isascii() and key.isprintable()):
        where = "the key of the server" if known else variable
        raise UsageError(f"{where} is no key: it holds a line break or a letter that no key has")
    if any("@" in url.partition("//")[2].partition("/")[0] for url in urls):
        return {}
    if key:
        return {header: form.format(key)}
    if required:
        raise UsageError(
            f"{variable} is not set; set it to your key, or give the address of your server with --base-url"
        )
    return {}


def host_of(url: str) -> str:
    """The host of an address; empty where it is none, which is said elsewhere."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def with_path(base: str, path: str) -> str:
    """The address of an endpoint below a base address; one that is already given whole stays."""
    try:
        parts = urlsplit(base)
    except ValueError:  # no address, as whoever connects to it will say
        return base
    stem = parts.path.rstrip("/")
    if not stem.endswith("/" + path):
        stem = f"{stem}/{path}"
    return urlunsplit(parts._replace(path=stem))


def share_tokens(completions: Sequence[Completion], usage: object) -> list[Completion]:
    """Divide one usage report among the samples of one request, so that sums over samples stay true.

    The prompt was computed once, so its tokens count with the first sample. What the samples cost each is not
    reported: the completion tokens are divided by length of text, and the samples say so.
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
    """Whole numbers in proportion to the weights that add up to the total."""
    if total is None:
        return [None] * len(weights)
    whole = sum(weights) or len(weights)
    parts = weights if sum(weights) else [1] * len(weights)
    ends = (total * seen // whole for seen in accumulate(parts))
    return [end - start for start, end in pairwise((0, *ends))]
