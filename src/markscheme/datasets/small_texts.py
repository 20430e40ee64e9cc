"""Small text files written by people: prompts, prices, benchmarks, experiments, templates."""

from __future__ import annotations

import errno
import os
import re
import stat
import tomllib
from itertools import islice
from pathlib import Path
from typing import Any

from markscheme.errors import MarkschemeError, UsageError, os_reason

# Bytes. A larger one is some other file named by mistake, or a device without end such as /dev/zero.
LARGEST = 16 << 20


def read_small_text(file: Path) -> str:
    """Return the text of a UTF-8 file, with or without a byte-order mark. `OSError` if it is too large."""
    content = read_plain(file, LARGEST, "and a text of this kind is small")
    return content.decode("utf-8-sig")


def read_plain(file: Path, most: int, but: str) -> bytes:
    """Return the bytes of a plain file. `OSError` for a pipe, a device, or more than `most` bytes; `but` says why."""
    with os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as opened:
        about = os.fstat(opened.fileno())
        if not stat.S_ISREG(about.st_mode):
            reason = (
                os.strerror(errno.EISDIR)
                if stat.S_ISDIR(about.st_mode)
                else "it is a pipe or a device; write it to a file first"
            )
            raise OSError(errno.EINVAL, reason)
        # `read` allocates all that it is asked for, and files in /proc have size 0, so read in steps.
        step = min(max(about.st_size, 1 << 16), most) + 1
        content = b"".join(islice(iter(lambda: opened.read(step), b""), most // step + 1))
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it holds more than {most >> 20} MB, {but}")
    return content


def read_toml(file: Path, failure: type[MarkschemeError] = UsageError) -> dict[str, Any]:
    """Parse a TOML file; raises `failure` with a sentence if it cannot be read."""
    try:
        return tomllib.loads(read_small_text(file))
    except (OSError, UnicodeDecodeError) as problem:
        raise failure(f"{file} cannot be read: {os_reason(problem)}") from None
    except (ValueError, RecursionError) as problem:  # a number of 5,000 digits is a plain ValueError
        where = re.search(r"line (\d+)", str(problem))
        raise failure(f"{file}{f', line {where[1]}' if where else ''}: not valid TOML ({problem})") from None


def line_of(text: str, where: str) -> int:
    """Return the line of a dotted key of a TOML file, or of the nearest table above it; `*` matches any name."""
    wanted, table, best = where.split("."), list[str](), (0, 1)
    for number, line in enumerate(text.splitlines(), start=1):
        if header := re.match(r"\s*\[+([^\]]+)\]", line):
            table = [each.strip().strip('"') for each in header[1].split(".")]
            key = table
        elif assigned := re.match(r"\s*([\w.\"-]+)\s*=", line):
            key = [*table, *(each.strip('"') for each in assigned[1].split("."))]
        else:
            continue
        common = min(len(key), len(wanted))
        if all(part in ("*", name) for part, name in zip(wanted, key, strict=False)) and common > best[0]:
            best = (common, number)
    return best[1]
