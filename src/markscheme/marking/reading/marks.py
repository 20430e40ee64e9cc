"""Words and marks around an answer, from `lexicon/marks.toml`."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, Final

_MARKS: Final[dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("lexicon").joinpath("marks.toml").read_text("utf-8")
)


def mark(name: str) -> str:
    """Return a single mark."""
    return str(_MARKS[name])


def words(name: str) -> tuple[str, ...]:
    """Return a list of words."""
    return tuple(_MARKS[name])


def either(*names: str) -> str:
    """Return a pattern for any entry of some lists, the longest first; a space also matches `-` or `_`."""
    entries = sorted({word for name in names for word in words(name)}, key=len, reverse=True)
    return f"(?:{'|'.join(re.escape(entry).replace(chr(92) + ' ', '[ _-]') for entry in entries)})"


def thinking(name: str) -> tuple[tuple[str, ...], ...]:
    """Return the pairs of opening and closing marks of thinking."""
    return tuple(map(tuple, _MARKS["thinking"][name]))


def places() -> dict[str, int]:
    """Return the decimal places of each rounding word: a tenth is 1."""
    return dict(_MARKS["places"])
