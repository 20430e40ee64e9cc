"""Words and marks of the forms around an answer, from `lexicon/marks.toml`."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from typing import Any, Final

_MARKS: Final[dict[str, Any]] = tomllib.loads(
    (files("markscheme.marking.reading.lexicon") / "marks.toml").read_text("utf-8")
)


def mark(name: str) -> str:
    """A single mark."""
    return str(_MARKS[name])


def words(name: str) -> tuple[str, ...]:
    """A list of words."""
    return tuple(_MARKS[name])


def either(*names: str) -> str:
    """A pattern for any entry of some lists, the longest first; a blank may also be `-` or `_`."""
    entries = sorted({word for name in names for word in words(name)}, key=len, reverse=True)
    return f"(?:{'|'.join(re.escape(entry).replace(chr(92) + ' ', '[ _-]') for entry in entries)})"


def thinking(name: str) -> tuple[tuple[str, ...], ...]:
    """Marks around thinking: the opening and the closing one of each pair."""
    return tuple(map(tuple, _MARKS["thinking"][name]))


def places() -> dict[str, int]:
    """Decimal places by what an answer is rounded to: a tenth is 1."""
    return dict(_MARKS["places"])
