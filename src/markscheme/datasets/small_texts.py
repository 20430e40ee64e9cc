"""Small text files that a person wrote: prompts, prices, benchmarks, experiments, templates."""

from __future__ import annotations

import errno
import re
import tomllib
from pathlib import Path
from typing import Any

from markscheme.errors import MarkschemeError, UsageError

LARGEST = 16 << 20
"""Bytes. A larger one is some other file named by mistake, or a device without end such as /dev/zero."""


def read_small_text(file: Path) -> str:
    """The text of such a file, in UTF-8 with or without a byte-order mark; one that is too large is an `OSError`, too."""
    with file.open("rb") as opened:
        content = opened.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise OSError(errno.EFBIG, f"it holds more than {LARGEST >> 20} MB, and a text of this kind is small")
    return content.decode("utf-8-sig")


def read_toml(file: Path, failure: type[MarkschemeError] = UsageError) -> dict[str, Any]:
    """What such a file says in TOML, or a sentence that tells why it cannot be read."""
    try:
        return tomllib.loads(read_small_text(file))
    except (OSError, UnicodeDecodeError) as problem:
        raise failure(f"{file} cannot be read: {getattr(problem, 'strerror', None) or problem}") from None
    except (ValueError, RecursionError) as problem:  # a number of 5,000 digits is no `TOMLDecodeError`
        where = re.search(r"line (\d+)", str(problem))
        raise failure(f"{file}{f', line {where[1]}' if where else ''}: not valid TOML ({problem})") from None
