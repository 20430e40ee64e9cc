"""Which of a run's options contain a key, so that keys stay out of files, logs and messages.

A key may be in the key variable, in the user, path or query of an address, in a header, in an extra field with a
telling name (also nested in its value, or in text that is not JSON), or in an option for a server that we start. Each
has a hidden form that may be written to disk; a resumed run that finds a hidden form asks for the option again.
Whatever slips through is caught by `redaction.py`, which knows the values.
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
from markscheme.errors import UsageError, option
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
    variable,
)

KEY_VARIABLES = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "SGLANG_API_KEY", "MARKSCHEME_HTTP_KEY", "HF_TOKEN")
NAMED = ("extra_field", "header", "server_arg", "chat_template_kwarg")  # options of the form `NAME=VALUE`
LONG_STEP = 24  # characters from which a path segment is hidden; names such as `chat-completions` are shorter
# The only query parameter that is shown: Azure wants it in every address, and a date is not a secret.
_VERSION = re.compile(r"api-version=\d{4}(?:-\d\d-\d\d)?(?:-preview)?", re.ASCII)
_SIGNS = re.compile(r"[\s,;=\"']+")
_URL = re.compile(r"https?://[^\s'\"]+")
# A name with its value in text that is not JSON: `Authorization: Bearer x`, `{"token": "x",}`.
_PAIR = re.compile(
    r"""(?<![\w-])(?P<name>[A-Za-z][\w-]*)(?P<sign>["']?\s*[:=]\s*["']?|["']\s*,\s*["'])(?P<value>[^"',;{}\[\]\n]+)""",
    re.ASCII,
)


def check_key_variable(config: RunConfig) -> None:
    """Refuse an `--api-key-env` that is not a variable name, without repeating it: it may be the key itself.

    A variable in capitals may be unset, since your own server may need no key.
    """
    name = config.api_key_env
    if name is None:
        return
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        raise UsageError(
            f"{option('api_key_env')} takes the name of an environment variable, such as OPENAI_API_KEY, not a key"
        )
    if name not in os.environ and name != name.upper():
        raise UsageError(f"{option('api_key_env')} names an environment variable that is not set; set it to your key")


def hide_url(url: str) -> str:
    """Hide the user, password, query values and long path segments of an address: each may be a key."""
    try:
        parts = urlsplit(url)
    except ValueError:  # not an address; its user reports that
        return HIDDEN if "@" in url else url
    host = parts.netloc.rpartition("@")[2]
    where = f"{HIDDEN}@{host}" if "@" in parts.netloc else host
    path = "/".join(HIDDEN if _may_be_key(step) else step for step in parts.path.split("/"))
    query = "&".join(_hide_parameter(parameter) for parameter in parts.query.split("&"))
    return urlunsplit((parts.scheme, where, path, query, ""))


def _is_key(text: str) -> bool:
    return bool(ISSUED.search(text)) or looks_random(text) is not None


def _is_credential(text: str) -> bool:
    """Recognise `Bearer KEY` in any header or field, but not `basic understanding`."""
    scheme, _, key = text.strip().partition(" ")
    return scheme.lower() in ("bearer", "basic", "token") and " " not in key and unmistakable(key)


def _hide_parameter(parameter: str) -> str:
    name, equals, _ = parameter.partition("=")
    if equals:
        return parameter if _VERSION.fullmatch(parameter) else f"{name}={HIDDEN}"
    return HIDDEN if name else ""


def _may_be_key(step: str) -> bool:
    return len(step) >= LONG_STEP or _is_key(step)


def hide_spec(spec: str) -> str:
    """Hide what is secret in a spec such as `http/https://user:password@host/generate`, since folders are named after
    it.
    """
    return redacted_text(ISSUED.sub(HIDDEN, _hide_urls(spec)))


def _hide_urls(text: str) -> str:
    return _URL.sub(lambda match: hide_url(match[0]), text)


def hide_config(config: RunConfig) -> RunConfig:
    """Return the options in the form that the manifest stores."""
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
    """Return the options of a stored config whose values were hidden, so that they must be given again."""
    return [
        name
        for name, value in msgspec.structs.asdict(config).items()
        if any(isinstance(one, str) and HIDDEN in one for one in (value if isinstance(value, tuple) else (value,)))
    ]


def _hide_named(option: str, known: Container[str] = ()) -> str:
    """Hide the value of `NAME=VALUE` or `NAME: VALUE`, which may be JSON. Known secrets are hidden however short."""
    name, sign, value = _divided(option)
    if is_secret(name) or value.strip() in known or _is_credential(value):
        return f"{name}{sign}{HIDDEN}" if sign else option
    read = json_or_text(value)
    taken: list[str] = []
    hidden = _hide_inside(value if isinstance(read, str) else read, taken)
    if isinstance(read, str):
        return f"{name}{sign}{hidden}"
    return f"{name}{sign}{msgspec.json.encode(hidden).decode()}" if any(taken) else ISSUED.sub(HIDDEN, option)


def json_or_text(value: str) -> Any:
    """Parse an option's value as JSON if possible, else return the text."""
    try:
        return msgspec.json.decode(value)
    except msgspec.DecodeError:
        return value


def _named(config: RunConfig) -> Iterator[str]:
    for name in NAMED:
        yield from getattr(config, name)


def _divided(option: str) -> tuple[str, str, str]:
    """Split at the first `=` or `:` into name, sign and value; without either, all of it is the name."""
    sign = next((one for one in option if one in "=:"), "=")
    return option.partition(sign)


def _hide_inside(value: Any, taken: list[str], secret: bool = False) -> Any:
    """Return a JSON value without the secrets in it, which are appended to `taken`."""
    if isinstance(value, dict):
        # `{"name": "Authorization", "value": …}`
        named = secret or any(isinstance(value.get(it), str) and is_secret(value[it]) for it in ("name", "key"))
        return {
            name: _hide_inside(one, taken, is_secret(name) or (named and name == "value"))
            for name, one in value.items()
        }
    if isinstance(value, list):
        pair = len(value) == 2 and isinstance(value[0], str) and is_secret(value[0])  # `["Authorization", …]`
        return [_hide_inside(one, taken, (secret or pair) and not (pair and at == 0)) for at, one in enumerate(value)]
    if (secret and value is not None) or (isinstance(value, str) and _is_credential(value)):
        taken.append(str(value))
        return HIDDEN
    return _hide_text(value, taken) if isinstance(value, str) else value


def _hide_text(text: str, taken: list[str]) -> str:
    def hide(match: re.Match[str]) -> str:
        return f"{match['name']}{match['sign']}{HIDDEN}" if is_secret(match["name"]) else match[0]

    hidden = ISSUED.sub(HIDDEN, _PAIR.sub(hide, _hide_urls(text)))
    if hidden != text:
        taken += (match["value"].strip() for match in _PAIR.finditer(text) if is_secret(match["name"]))
        taken += ISSUED.findall(text)
        taken += filter(None, address_secrets(_URL.findall(text)))
    return hidden


def secret_values(config: RunConfig) -> list[str]:
    """Return the option values that must not be shown."""
    values: list[str] = []
    for given in _named(config):
        name, _, value = _divided(given)
        if read := json_or_text(value.strip()):
            _hide_inside({name: read}, values)
    bare = [value.partition(" ")[2] for value in values if value.lower().startswith(("bearer ", "basic "))]
    # A server may repeat just a part: of `session=PART; theme=dark`, or of a list with a trailing comma.
    return values + bare + [part for value in values for part in _SIGNS.split(value) if unmistakable(part)]


def address_secrets(urls: Iterable[str]) -> Iterator[str]:
    """Yield the secrets in addresses, in every form in which they may come back."""
    for url in urls:
        try:
            parts = urlsplit(url)
        except ValueError:
            continue
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        yield from (user, password, parts.username or "", parts.password or "")
        if user or password:
            yield b64encode(f"{user}:{password}".encode()).decode()  # the form in the Authorization header
        yield from (step for step in (*parts.path.split("/"), parts.fragment) if _may_be_key(step))
        hidden = [parameter for parameter in parts.query.split("&") if not _VERSION.fullmatch(parameter)]
        yield from (parameter.partition("=")[2] or parameter for parameter in hidden)
        yield from (value for _, value in parse_qsl("&".join(hidden)))


def known_secrets(config: RunConfig) -> set[str]:
    """Return everything that must not be shown, from the options, the addresses and the environment."""
    variables = [variable(name) for name in (config.api_key_env or "", *KEY_VARIABLES)]
    addresses = [*config.base_url, *_URL.findall(config.model)]
    values = {*variables, *secret_values(config), *address_secrets(addresses), *environment_secrets()}
    return {value for value in values if value}


def guard(config: RunConfig) -> list[str]:
    """Register this run's secrets for redaction; return warnings about values that only look like keys."""
    remember(known_secrets(config))
    suspects = [_divided(given)[0] for given in _named(hide_config(config)) if looks_random(given)]
    return [
        f"the value of {name} looks like a key and is written into the run folder; if it is one, "
        f"give it in a variable that {option('api_key_env')} names, or in a field whose name says so"
        for name in suspects
    ]
