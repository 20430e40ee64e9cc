"""The gate: no secret that is known passes it. Whatever is written into a run folder or shown goes through it.

Known are the values of environment variables with telling names (`OPENAI_API_KEY`, `HF_TOKEN` …) and what a run's
options hold (`models/secrets.py`). Responses pass the gate too, so a value that may well be an ordinary word or number is
left to the options' own hiding: a fact must not be altered because somebody's key is `EMPTY`.
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
# What stands before `key` where it only names a thing: `prompt_cache_key`; any other `…_key` opens a door.
_KEY_OF_DATA = frozenset(
    "cache sort primary foreign partition public group json dict object metric answer response".split()  # noqa: SIM905
)
# What stands before `token` where it means a piece of text; any other `…_token` opens a door.
_TOKEN_OF_TEXT = frozenset(
    "stop eos bos pad unk sep cls mask end start begin first last next special image think".split()  # noqa: SIM905
)

# What the documentation of local servers gives as a key where none is asked for: no secret, and some are words.
_NO_KEYS = frozenset(
    "not-needed not-required not-used no-key no-key-required sk-no-key-required lm-studio token-abc123".split()  # noqa: SIM905
)

# Keys as the best-known providers issue them: hidden wherever an option holds one, whatever its name.
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
    """Whether a field of this name holds something secret. Whole words decide: `max_tokens` and `stop_token_ids` do not."""
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
    """The part of a text that looks like a key of which nobody has told us."""
    kinds = (str.isupper, str.islower, str.isdigit)
    for run in _RUN.findall(text):
        if all(any(map(kind, run)) for kind in kinds) and len(run) < RANDOM * len(_PIECE.findall(run)):
            return str(run)
    return None


class Scrubber:
    """Takes known secrets out of a text: servers like to repeat the key they refuse."""

    def __init__(self, values: Iterable[str | None] = ()) -> None:
        secrets = {value for value in values if value}
        secrets |= {form for secret in secrets if unmistakable(secret) for form in _encodings(secret)}
        # As they stand in an address and in a JSON document, too.
        secrets |= {quote(secret, safe="") for secret in secrets}
        secrets |= {msgspec.json.encode(secret).decode()[1:-1] for secret in secrets}
        # Longest first, so that a secret which contains another goes whole; one or two letters are not secrets.
        self.secrets = sorted((secret for secret in secrets if len(secret) > 2), key=len, reverse=True)

    def __call__(self, text: str) -> str:
        for secret in self.secrets:
            text = text.replace(secret, HIDDEN)
        return text


def _encodings(value: str) -> Iterator[str]:
    """As programs pass it on: in hexadecimal, in an address, and in base64, also inside something longer (`user:KEY`)."""
    content = value.encode()
    yield from (content.hex(), quote(value), value.replace("/", r"\/"))
    in_address = quote(value, safe="")
    yield _ESCAPE.sub(lambda match: match[0].lower(), in_address)
    if len(value) >= 20:  # in small letters a shorter one may be a word
        yield in_address.lower()
    # Three letters at a time become four, so there are three ways; both ends depend on neighbours.
    for before in range(3):
        start, end = (before * 8 + 5) // 6, (before + len(content)) * 8 // 6
        code = b64encode(bytes(before) + content).decode()[start:end]
        yield from (code, code.replace("+", "-").replace("/", "_"))


def variable(name: str) -> str:
    """What an environment variable holds, as far as it is text."""
    return os.fsencode(os.environ.get(name, "")).decode("utf-8", "ignore").strip()


def environment_secrets() -> Iterator[str]:
    """The values of environment variables with telling names. `PWD` and `SSH_AUTH_SOCK` hold paths, which are none."""
    named = (variable(name) for name in os.environ if is_secret(name))
    return (value for value in named if unmistakable(value) and not value.startswith("/"))


def unmistakable(value: str) -> bool:
    """Whether a secret cannot be anything else: no number, no word of a language."""
    if len(value) < 8 or not any(map(str.isalpha, value)) or value in _NO_KEYS:
        return False
    return len(value) >= 20 or not value.isalpha() or not (value.islower() or value.isupper() or value.istitle())


_known: frozenset[str] = frozenset()
_scrub = Scrubber()
_forms: tuple[bytes, ...] = ()


def remember(values: Iterable[str]) -> None:
    """From now on these pass the gate no more, and neither do the environment's."""
    global _known, _forms, _scrub
    known = _known | {value for value in values if unmistakable(value)} | set(environment_secrets())
    if known != _known:
        _known, _scrub = known, Scrubber(known)
        _forms = tuple(form.encode() for form in _scrub.secrets)


def redacted(lines: bytes) -> bytes:
    """JSON lines without any secret that is known. Takes microseconds where there is none in them."""
    if not any(form in lines for form in _forms):
        return lines
    return b"".join(map(_redacted_line, lines.splitlines(keepends=True)))


def _redacted_line(line: bytes) -> bytes:
    """By its texts: a key that ends in a backslash, or begins like what follows one, would tear an escape in two."""
    try:
        return msgspec.json.encode(_redacted_value(msgspec.json.decode(line))) + line[len(line.rstrip()) :]
    except (msgspec.MsgspecError, UnicodeError, RecursionError):  # damaged as it is
        return _scrub(line.decode("utf-8", "replace")).encode()


def _redacted_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {_scrub(name): _redacted_value(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_redacted_value(one) for one in value]
    return _scrub(value) if isinstance(value, str) else value


def redacted_text(text: str) -> str:
    """The same for a message."""
    remember(())  # the environment may hold more by now
    return _scrub(text.encode("utf-8", "replace").decode())


def printable(text: str) -> str:
    """A text of unknown origin for the terminal: control characters, which could move the cursor or hide what stands
    there, become visible; line breaks and tabs stay."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in "\n\t" else "\N{REPLACEMENT CHARACTER}" for one in text)
