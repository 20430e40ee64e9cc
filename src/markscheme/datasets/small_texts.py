"""Small text files that a person wrote: prompts, prices, benchmarks, experiments, templates."""

from __future__ import annotations

import errno
from pathlib import Path

LARGEST = 16 << 20
"""Bytes. A larger one is some other file named by mistake, or a device without end such as /dev/zero."""


def read_small_text(file: Path) -> str:
    """The text of such a file, in UTF-8; one that is too large is an `OSError` like any that cannot be read."""
    with file.open("rb") as opened:
        content = opened.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise OSError(errno.EFBIG, f"it holds more than {LARGEST >> 20} MB, and a text of this kind is small")
    return content.decode("utf-8")
