"""Redaction: everything that is written into a run folder or shown passes through here, without known secrets.

Known secrets are the values of environment variables with telling names (`OPENAI_API_KEY`, `HF_TOKEN` …) and those in a run's
options (`models/secrets.py`). Responses pass too, so values that may be ordinary words or numbers are not redacted here: a
response must not be altered because a key is `EMPTY`.
"""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote

import msgspec

HIDDEN = "***"

_WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+")
_SECRET_WORDS = frozenset(
    """secret secrets password passwd pwd passphrase credential credentials auth authorization bearer apikey sig signature
    cookie cookies pat""".split()  # noqa: SIM905 - a list of words
)
# Words before `key` that make it harmless, as in `prompt_cache_key`; any other `…_key` is a secret.
_KEY_OF_DATA = frozenset(
    "cache sort primary foreign partition public group json dict object metric answer response".split()  # noqa: SIM905
)
# Words before `token` that make it a piece of text; any other `…_token` is a secret.
_TOKEN_OF_TEXT = frozenset(
    "stop eos bos pad unk sep cls mask end start begin first last next special image think".split()  # noqa: SIM905
)

# Dummy keys from the documentation of local servers: not secrets, and some are words.
_NO_KEYS = frozenset(
    "not-needed not-required not-used no-key no-key-required sk-no-key-required lm-studio token-abc123".split()  # noqa: SIM905
)

# Keys of well-known providers: hidden in every option.
ISSUED = re.compile(
    r"\b(?:sk-[\w-]{16,}|hf_\w{16,}|gh[opsur]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|xox[abpr]-[\w-]{10,}"
    r"|AKIA[A-Z0-9]{16}|AIza[\w-]{30,}|gsk_\w{16,}|nvapi-[\w-]{16,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*)",
    re.ASCII,
)
_ESCAPE = re.compile("%[0-9A-F]{2}")
_RUN = re.compile(r"[A-Za-z0-9]{20,}")
_PIECE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
# Letters a piece (`Qwen`, `3`, `AWQ`) below which 20 and more letters and digits of every kind are no name: of 4,000
# random keys of 24 characters 95 % lie below it; `Qwen3Coder30BA3BInstruct2507FP8` has 2.8. A digest has no capitals.
RANDOM = 2.6


def is_secret(name: str) -> bool:
    """True if a field of this name holds a secret. Whole words decide: `max_tokens` and `stop_token_ids` do not."""
    words = [word.lower() for word in _WORDS.findall(name)]
    if not words:
        return False
    before, last = words[-2] if len(words) > 1 else None, words[-1]
    if last in ("key", "keys"):
        return before not in _KEY_OF_DATA
    if last == "token":
        return before not in _TOKEN_OF_TEXT
    return not _SECRET_WORDS.isdisjoint(words)


def looks_random(text: str) -> str | None:
    """Return the part of a text that looks like a key."""
    kinds = (str.isupper, str.islower, str.isdigit)
    for run in _RUN.findall(text):
        if all(any(map(kind, run)) for kind in kinds) and len(run) < RANDOM * len(_PIECE.findall(run)):
            return str(run)
    return None


class Scrubber:
    """Removes known secrets from a text, in all forms in which servers may repeat them."""

    def __init__(self, values: Iterable[str | None] = ()) -> None:
        secrets = {value for value in values if value}
        secrets |= {form for secret in secrets if unmistakable(secret) for form in _encodings(secret)}
        # Also as they appear in URLs and in JSON.
        secrets |= {quote(secret, safe="") for secret in secrets}
        secrets |= {msgspec.json.encode(secret).decode()[1:-1] for secret in secrets}
        # Longest first, so that a secret that contains another is removed whole. One or two characters are not secrets.
        self.secrets = sorted((secret for secret in secrets if len(secret) > 2), key=len, reverse=True)

    def __call__(self, text: str) -> str:
        for secret in self.secrets:
            text = text.replace(secret, HIDDEN)
        return text


def _encodings(value: str) -> Iterator[str]:
    """Yield the forms of a secret: hexadecimal, URL-encoded, and base64, also inside a longer text (`user:KEY`)."""
    content = value.encode()
    yield from (content.hex(), quote(value), value.replace("/", r"\/"))
    in_address = quote(value, safe="")
    yield _ESCAPE.sub(lambda match: match[0].lower(), in_address)
    if len(value) >= 20:  # in lower case a shorter one may be a word
        yield in_address.lower()
    # Base64 turns three bytes into four characters, so there are three alignments; both ends depend on neighbours.
    for before in range(3):
        start, end = (before * 8 + 5) // 6, (before + len(content)) * 8 // 6
        code = b64encode(bytes(before) + content).decode()[start:end]
        yield from (code, code.replace("+", "-").replace("/", "_"))


def variable(name: str) -> str:
    """Return the value of an environment variable, decoded as far as possible."""
    return os.fsencode(os.environ.get(name, "")).decode("utf-8", "ignore").strip()


def environment_secrets() -> Iterator[str]:
    """Yield the values of environment variables with telling names, except paths (`PWD`, `SSH_AUTH_SOCK`)."""
    named = (variable(name) for name in os.environ if is_secret(name))
    return (value for value in named if unmistakable(value) and not value.startswith("/"))


def unmistakable(value: str) -> bool:
    """True if a secret cannot be mistaken for a number or a word."""
    if len(value) < 8 or not any(map(str.isalpha, value)) or value in _NO_KEYS:
        return False
    return len(value) >= 20 or not value.isalpha() or not (value.islower() or value.isupper() or value.istitle())


_known: frozenset[str] = frozenset()
_scrub = Scrubber()
_forms: tuple[bytes, ...] = ()


def remember(values: Iterable[str]) -> None:
    """Redact these values, and those of the environment, from here on."""
    global _known, _forms, _scrub
    known = _known | {value for value in values if unmistakable(value)} | set(environment_secrets())
    if known != _known:
        _known, _scrub = known, Scrubber(known)
        _forms = tuple(form.encode() for form in _scrub.secrets)


def redacted(lines: bytes) -> bytes:
    """Return JSON lines without known secrets. Takes microseconds if there are none."""
    if not any(form in lines for form in _forms):
        return lines
    return b"".join(map(_redacted_line, lines.splitlines(keepends=True)))


def _redacted_line(line: bytes) -> bytes:
    """Redact the decoded strings: a key that ends in a backslash would tear an escape in two."""
    try:
        return msgspec.json.encode(_redacted_value(msgspec.json.decode(line))) + line[len(line.rstrip()) :]
    except (msgspec.MsgspecError, UnicodeError, RecursionError):  # a damaged line
        return _scrub(line.decode("utf-8", "replace")).encode()


def _redacted_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {_scrub(name): _redacted_value(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_redacted_value(one) for one in value]
    return _scrub(value) if isinstance(value, str) else value


def redacted_text(text: str) -> str:
    """Return a message without known secrets."""
    remember(())  # the environment may have changed
    return _scrub(text.encode("utf-8", "replace").decode())


def printable(text: str) -> str:
    """Return a text of unknown origin for a terminal, with control characters replaced except line breaks and tabs."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in "\n\t" else "\N{REPLACEMENT CHARACTER}" for one in text)
