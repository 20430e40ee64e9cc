"""Keys stay out of files, logs and messages.

What can hold one: the key variable, the user and query parts of a URL, an extra field with a telling name, also deep
inside its value, an option for a server of ours. Each has a hidden form that may be written down; a resumed run that
finds a hidden form asks for the option again.
"""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit, urlunsplit

import msgspec

from markscheme.config import RunConfig
from markscheme.errors import UsageError

HIDDEN = "***"

_URL = re.compile(r"https?://[^\s'\"]+")
_WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+")
_SECRET_WORDS = frozenset(
    [
        "secret",
        "password",
        "passwd",
        "pwd",
        "passphrase",
        "credential",
        "credentials",
        "auth",
        "authorization",
        "bearer",
        "apikey",
        "sig",
        "signature",
    ]
)
_KEY_OF = frozenset(
    ["api", "access", "secret", "private", "account", "service", "subscription", "auth", "license", "signing"]
)
"""What stands before `key` in the name of a key; `prompt_cache_key` is none."""
_TOKEN_OF_TEXT = frozenset(
    [
        "stop",
        "eos",
        "bos",
        "pad",
        "unk",
        "sep",
        "cls",
        "mask",
        "end",
        "start",
        "begin",
        "first",
        "last",
        "next",
        "special",
        "image",
        "think",
    ]
)
"""What stands before `token` where it means a piece of text; any other `…_token` opens a door."""


def is_secret(name: str) -> bool:
    """Whether a field of this name holds something secret. Whole words decide: `max_tokens` and `stop_token_ids` do not."""
    words = [word.lower() for word in _WORDS.findall(name)]
    if not words:
        return False
    before, last = words[-2] if len(words) > 1 else None, words[-1]
    if last == "key":
        return before is None or before in _KEY_OF
    if last == "token":
        return before not in _TOKEN_OF_TEXT
    return not _SECRET_WORDS.isdisjoint(words)


def check_key_variable(config: RunConfig) -> None:
    """Refuse an `--api-key-env` that is no variable, without repeating it: it may be the key itself.

    A variable in capitals may be unset, since a server of one's own needs no key.
    """
    name = config.api_key_env
    if name is None:
        return
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        raise UsageError("--api-key-env takes the name of an environment variable, such as OPENAI_API_KEY, not a key")
    if name not in os.environ and name != name.upper():
        raise UsageError("--api-key-env names an environment variable that is not set; set it to your key")


def hide_url(url: str) -> str:
    """The address without user, password and whatever is secret in its query."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    where = f"{HIDDEN}@{host}" if "@" in parts.netloc else host
    query = "&".join(_hide_parameter(parameter) for parameter in parts.query.split("&"))
    return urlunsplit((parts.scheme, where, parts.path, query, ""))


def _hide_parameter(parameter: str) -> str:
    name, equals, _ = parameter.partition("=")
    return f"{name}={HIDDEN}" if equals and _secret_parameter(unquote(name)) else parameter


def _secret_parameter(name: str) -> bool:
    return name.lower() == "code" or is_secret(name)  # Azure's functions call their key `code`


def hide_spec(spec: str) -> str:
    """A model spec such as `http/https://user:password@host/generate` without what must not be shown."""
    return _URL.sub(lambda found: hide_url(found[0]), spec)


def hide_config(config: RunConfig) -> RunConfig:
    """The form of the options that goes into the manifest."""
    return msgspec.structs.replace(
        config,
        model=hide_spec(config.model),
        base_url=tuple(hide_url(url) for url in config.base_url),
        extra_field=tuple(_hide_field(field) for field in config.extra_field),
        server_arg=tuple(_hide_argument(argument) for argument in config.server_arg),
    )


def hidden_options(config: RunConfig) -> list[str]:
    """Options of a stored config whose values were hidden, so that they must be given again."""
    fields = {
        "model": (config.model,),
        "base_url": config.base_url,
        "extra_field": config.extra_field,
        "server_arg": config.server_arg,
    }
    return [name for name, values in fields.items() if any(HIDDEN in value for value in values)]


def _hide_field(field: str) -> str:
    name, _, value = field.partition("=")
    if is_secret(name):
        return f"{name}={HIDDEN}"
    try:
        read = msgspec.json.decode(value)
    except msgspec.DecodeError:
        return field
    return f"{name}={msgspec.json.encode(_hide_inside(read)).decode()}" if any(_inside(read)) else field


def _hide_inside(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: HIDDEN if is_secret(name) else _hide_inside(one) for name, one in value.items()}
    return [_hide_inside(one) for one in value] if isinstance(value, list) else value


def _inside(value: Any, secret: bool = False) -> Iterator[str]:
    """The secrets in a JSON value."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield from _inside(one, secret or is_secret(name))
    elif isinstance(value, list):
        for one in value:
            yield from _inside(one, secret)
    elif secret and value is not None:
        yield str(value)


def secret_values(config: RunConfig) -> list[str]:
    """The values of extra fields and of options for a server that must not be shown."""
    found: list[str] = []
    for field in config.extra_field:
        name, _, value = field.partition("=")
        try:
            found += _inside(msgspec.json.decode(value), is_secret(name))
        except msgspec.DecodeError:
            found += [value] if is_secret(name) else []
    arguments = (argument.partition("=") for argument in config.server_arg)
    return found + [value for name, _, value in arguments if value and is_secret(name)]


def _hide_argument(argument: str) -> str:
    name, equals, _ = argument.partition("=")
    return f"{name}={HIDDEN}" if equals and is_secret(name) else argument


class Scrubber:
    """Takes known secrets out of a text: servers like to repeat the key they refuse."""

    def __init__(self, urls: Iterable[str] = (), values: Iterable[str | None] = ()) -> None:
        secrets = {value for value in values if value}
        for url in urls:
            parts = urlsplit(url)
            user, password = unquote(parts.username or ""), unquote(parts.password or "")
            secrets |= {user, password, parts.username or "", parts.password or ""}
            if user or password:
                secrets.add(b64encode(f"{user}:{password}".encode()).decode())  # as the Authorization header has it
            secrets |= {value for name, value in parse_qsl(parts.query) if _secret_parameter(name)}
        # As they stand in an address and in a JSON document, too.
        secrets |= {quote(secret, safe="") for secret in secrets}
        secrets |= {msgspec.json.encode(secret).decode()[1:-1] for secret in secrets}
        # Longest first, so that a secret which contains another goes whole; one or two letters are not secrets.
        self.secrets = sorted((secret for secret in secrets if len(secret) > 2), key=len, reverse=True)

    def __call__(self, text: str) -> str:
        for secret in self.secrets:
            text = text.replace(secret, HIDDEN)
        return text
