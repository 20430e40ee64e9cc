"""Keys stay out of files, logs and messages.

What can hold one: the key variable, the user and query parts of a URL, an extra field with a telling name. Each has a
hidden form that may be written down; a resumed run that finds a hidden form asks for the option again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import parse_qsl, urlsplit, urlunsplit

import msgspec

from markscheme.config import RunConfig

HIDDEN = "***"

_TELLING = re.compile(r"key|token(?!s)|secret|passw|credential|authorization", re.IGNORECASE)
_URL = re.compile(r"https?://[^\s'\"]+")


def hide_url(url: str) -> str:
    """The address without user, password and the values of its query."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    where = f"{HIDDEN}@{host}" if "@" in parts.netloc else host
    query = "&".join(f"{name}={HIDDEN}" for name, _ in parse_qsl(parts.query, keep_blank_values=True))
    return urlunsplit((parts.scheme, where, parts.path, query, ""))


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
    )


def hidden_options(config: RunConfig) -> list[str]:
    """Options of a stored config whose values were hidden, so that they must be given again."""
    fields = {"model": (config.model,), "base_url": config.base_url, "extra_field": config.extra_field}
    return [name for name, values in fields.items() if any(HIDDEN in value for value in values)]


def secret_values(config: RunConfig) -> list[str]:
    """The values of the extra fields that must not be shown."""
    fields = (field.partition("=") for field in config.extra_field)
    return [value.strip('"') for name, _, value in fields if _TELLING.search(name)]


def _hide_field(field: str) -> str:
    name, _, _ = field.partition("=")
    return f"{name}={HIDDEN}" if _TELLING.search(name) else field


class Scrubber:
    """Takes known secrets out of a text: servers like to repeat the key they refuse."""

    def __init__(self, urls: Iterable[str] = (), values: Iterable[str | None] = ()) -> None:
        secrets = {value for value in values if value}
        for url in urls:
            parts = urlsplit(url)
            secrets |= {part for part in (parts.password, parts.username) if part}
            secrets |= {value for _, value in parse_qsl(parts.query)}
        # Longest first, so that a secret which contains another goes whole; one or two letters are not secrets.
        self._secrets = sorted((secret for secret in secrets if len(secret) > 2), key=len, reverse=True)

    def __call__(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        return text
