r"""The last `\boxed{…}` of a text: braces balanced, unclosed boxes, `\boxed 73` and `\fbox{73}` too.

Scans backwards and looks at each character at most once, so a million unclosed boxes cost no more than their length.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_BRACE = re.compile(r"[\\{}]")
_BARE = re.compile(r"\s*(-?\d[\d,]*(?:\.\d+)?|\\[dt]?frac\s*\d\s*\d|\\?[A-Za-z]+|[^\s\\{}$])")


class Box(NamedTuple):
    """The content of a box and where it stands in the text."""

    content: str
    start: int
    end: int
    outer: int  # where the command begins


def last_box(text: str, start: int, end: int) -> Box | None:
    """The last box with something in it, in `text[start:end]`."""
    stop = end
    while True:
        at = max(text.rfind("\\boxed", start, stop), text.rfind("\\fbox", start, stop))
        if at < 0:
            return None
        box = _box_at(text, at, stop)
        if box is not None and box.content.strip():
            return box
        stop = at


def _box_at(text: str, at: int, end: int) -> Box | None:
    inside = at + (6 if text.startswith("\\boxed", at) else 5)
    while inside < end and text[inside] in " \t\n":
        inside += 1
    if inside < end and text[inside] == "{":
        inside += 1
        close = _closing(text, inside, end)
        return Box(text[inside:close], inside, close, at)
    bare = _BARE.match(text, inside, end)
    return Box(bare[1], bare.start(1), bare.end(1), at) if bare else None


def _closing(text: str, at: int, end: int) -> int:
    """Where the brace opened before `at` closes; an unclosed box ends with its line."""
    depth, begin = 1, at
    while True:
        brace = _BRACE.search(text, at, end)
        if brace is None:
            newline = text.find("\n", begin, end)
            return newline if newline >= 0 else end
        at = brace.end()
        sign = brace[0]
        if sign == "\\":
            at += 1  # an escaped brace is a set brace, not a group
        elif sign == "{":
            depth += 1
        else:
            depth -= 1
            if depth == 0:
                return at - 1
