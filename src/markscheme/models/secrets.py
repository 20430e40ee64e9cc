"""Keys stay out of files, logs and messages: which parts of a run's options hold one.

What can hold one: the key variable, the user, path and query of an address, a header, an extra field with a telling name
(also deep inside its value, or in a text that is no JSON), an option for a server of ours. Each has a hidden form that may
be written down; a resumed run that finds a hidden form asks for the option again. What slips through here is stopped by
the gate (`redaction.py`), which knows the values.
"""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

import msgspec

from markscheme.config import RunConfig
from markscheme.errors import UsageError
from markscheme.redaction import (
    HIDDEN,
    ISSUED,
    Scrubber,
    environment_secrets,
    is_secret,
    looks_random,
    redacted_text,
    remember,
    unmistakable,
)

KEY_VARIABLES = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "SGLANG_API_KEY", "MARKSCHEME_HTTP_KEY", "HF_TOKEN")
NAMED = ("extra_field", "header", "server_arg", "chat_template_kwarg")
"""Options of the form `NAME=VALUE`."""
_URL = re.compile(r"https?://[^\s'\"]+")
_PAIR = re.compile(
    r"""(?<![\w-])(?P<name>[A-Za-z][\w-]*)(?P<sign>["']?\s*[:=]\s*["']?|["']\s*,\s*["'])(?P<value>[^"',;{}\[\]\n]+)""",
    re.ASCII,
)
"""A name with its value in a text that is no JSON: `Authorization: Bearer x`, `{"token": "x",}`."""


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
    """The address without user, password and whatever is secret in its path and its query."""
    try:
        parts = urlsplit(url)
    except ValueError:  # no address at all, as whoever uses it will say
        return HIDDEN if "@" in url else url
    host = parts.netloc.rpartition("@")[2]
    where = f"{HIDDEN}@{host}" if "@" in parts.netloc else host
    path = "/".join(HIDDEN if _is_key(step) else step for step in parts.path.split("/"))
    query = "&".join(_hide_parameter(parameter) for parameter in parts.query.split("&"))
    return urlunsplit((parts.scheme, where, path, query, ""))


def _is_key(text: str) -> bool:
    return bool(ISSUED.search(text)) or looks_random(text) is not None


def _hide_parameter(parameter: str) -> str:
    name, equals, value = parameter.partition("=")
    return f"{name}={HIDDEN}" if equals and (_secret_parameter(unquote(name)) or _is_key(value)) else parameter


def _secret_parameter(name: str) -> bool:
    return name.lower() == "code" or is_secret(name)  # Azure's functions call their key `code`


def hide_spec(spec: str) -> str:
    """A model spec such as `http/https://user:password@host/generate` without what must not be shown: folders bear it."""
    return redacted_text(ISSUED.sub(HIDDEN, _hide_urls(spec)))


def _hide_urls(text: str) -> str:
    return _URL.sub(lambda match: hide_url(match[0]), text)


def hide_config(config: RunConfig) -> RunConfig:
    """The form of the options that goes into the manifest."""
    known = known_secrets(config)
    scrub = Scrubber(value for value in known if unmistakable(value))
    hidden: dict[str, Callable[[str], str]] = {
        "model": hide_spec,
        "base_url": hide_url,
        **dict.fromkeys(NAMED, lambda option: _hide_named(option, known)),
    }
    changed: dict[str, Any] = {}
    for name, value in msgspec.structs.asdict(config).items():
        hide = hidden.get(name, str)
        if isinstance(value, str):
            changed[name] = scrub(hide(value))
        elif isinstance(value, tuple) and name != "pass_k":
            changed[name] = tuple(scrub(hide(one)) for one in value)
    return msgspec.structs.replace(config, **changed)


def hidden_options(config: RunConfig) -> list[str]:
    """Options of a stored config whose values were hidden, so that they must be given again."""
    return [
        name
        for name, value in msgspec.structs.asdict(config).items()
        if any(isinstance(one, str) and HIDDEN in one for one in (value if isinstance(value, tuple) else (value,)))
    ]


def _hide_named(option: str, known: Container[str] = ()) -> str:
    """`NAME=VALUE` or `NAME: VALUE`, whose value may be JSON; one that is a known secret goes, however short."""
    name, sign, value = _divided(option)
    if is_secret(name) or value.strip() in known:
        return f"{name}{sign}{HIDDEN}" if sign else option
    try:
        read = msgspec.json.decode(value)
    except msgspec.DecodeError:
        read = value
    if isinstance(read, dict | list) and any(_inside(read)):
        return f"{name}{sign}{msgspec.json.encode(_hide_inside(read)).decode()}"
    return f"{name}{sign}{_hide_text(value)}" if isinstance(read, str) else ISSUED.sub(HIDDEN, option)


def _named(config: RunConfig) -> Iterator[str]:
    for name in NAMED:
        yield from getattr(config, name)


def _divided(option: str) -> tuple[str, str, str]:
    """Name, sign and value, at the first `=` or `:`; without one, all of it is the name."""
    sign = next((one for one in option if one in "=:"), "=")
    return option.partition(sign)


def _hide_text(text: str) -> str:
    def hide(match: re.Match[str]) -> str:
        return f"{match['name']}{match['sign']}{HIDDEN}" if is_secret(match["name"]) else match[0]

    return ISSUED.sub(HIDDEN, _PAIR.sub(hide, _hide_urls(text)))


def _hide_inside(value: Any, secret: bool = False) -> Any:
    if isinstance(value, dict):
        named = secret or _names_secret(value)
        return {name: _hide_inside(one, is_secret(name) or (named and name == "value")) for name, one in value.items()}
    if isinstance(value, list):
        secret = secret or _pair(value)
        return [_hide_inside(one, secret and (place > 0 or not _pair(value))) for place, one in enumerate(value)]
    if secret and value is not None:
        return HIDDEN
    return _hide_text(value) if isinstance(value, str) else value


def _names_secret(value: dict[str, Any]) -> bool:
    """`{"name": "Authorization", "value": …}`."""
    return any(isinstance(value.get(field), str) and is_secret(value[field]) for field in ("name", "key"))


def _pair(value: list[Any]) -> bool:
    """`["Authorization", …]`."""
    return len(value) == 2 and isinstance(value[0], str) and is_secret(value[0])


def _inside(value: Any) -> Iterator[str]:
    """The secrets in a JSON value: what stands where its hidden form has something else."""
    yield from _differences(value, _hide_inside(value))


def _differences(value: Any, hidden: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, one in value.items():
            yield from _differences(one, hidden[name])
    elif isinstance(value, list):
        for one, other in zip(value, hidden, strict=True):
            yield from _differences(one, other)
    elif hidden == HIDDEN:
        yield str(value)
    elif value != hidden:
        yield from _in_text(value)


def _in_text(text: str) -> Iterator[str]:
    yield from (match["value"].strip() for match in _PAIR.finditer(text) if is_secret(match["name"]))
    yield from ISSUED.findall(text)
    yield from filter(None, address_secrets(_URL.findall(text)))


def secret_values(config: RunConfig) -> list[str]:
    """The values of options that must not be shown."""
    values: list[str] = []
    for option in _named(config):
        name, _, value = _divided(option)
        try:
            read = msgspec.json.decode(value)
        except msgspec.DecodeError:
            read = value.strip()
        if read:
            values += _inside({name: read})
    bare = [value.partition(" ")[2] for value in values if value.lower().startswith(("bearer ", "basic "))]
    return values + bare


def address_secrets(urls: Iterable[str]) -> Iterator[str]:
    """What an address holds that must not be shown, in every form in which it may come back."""
    for url in urls:
        try:
            parts = urlsplit(url)
        except ValueError:
            continue
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        yield from (user, password, parts.username or "", parts.password or "")
        if user or password:
            yield b64encode(f"{user}:{password}".encode()).decode()  # as the Authorization header has it
        yield from (step for step in parts.path.split("/") if _is_key(step))
        yield from (value for name, value in parse_qsl(parts.query) if _secret_parameter(name) or _is_key(value))


def known_secrets(config: RunConfig) -> set[str]:
    """Everything that must not be shown: the options', the addresses' and the environment's."""
    variables = [os.environ.get(name, "").strip() for name in (config.api_key_env or "", *KEY_VARIABLES)]
    addresses = [*config.base_url, *_URL.findall(config.model)]
    values = {*variables, *secret_values(config), *address_secrets(addresses), *environment_secrets()}
    return {value for value in values if value}


def guard(config: RunConfig) -> list[str]:
    """Close the gate for what this run's options hold; returns warnings about what only looks like a key."""
    remember(known_secrets(config))
    suspects = [_divided(option)[0] for option in _named(hide_config(config)) if looks_random(option)]
    return [
        f"the value of {name} looks like a key and is written into the run folder; if it is one, "
        "give it in a variable that --api-key-env names, or in a field whose name says so"
        for name in suspects
    ]
