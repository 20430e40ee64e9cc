"""The public comparison of two answers. Decides or says that it cannot; never guesses, raises or hangs."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

import msgspec

Method = Literal["string", "exact", "numeric", "symbolic", "none"]
"""What settled it: the same text, exact arithmetic, a numerical difference, computer algebra, or nothing."""


class Comparison(msgspec.Struct, frozen=True):
    """What came of comparing an answer with a gold. `equal` is `None` when neither could be shown."""

    equal: bool | None
    why: str
    flags: tuple[str, ...] = ()
    method: Method = "none"


def compare(answer: str, gold: str, *, time_limit: float = 3.0) -> Comparison:  # noqa: ARG001
    """Compare an extracted answer with the gold answer; `time_limit` bounds the symbolic work in seconds."""
    if answer.strip() == gold.strip():
        return Comparison(True, "the same text", method="string")
    left, right = _number(answer), _number(gold)
    if left is None or right is None:
        return Comparison(None, "cannot be read")
    return Comparison(left == right, "the same number" if left == right else "another number", method="exact")


def equal(a: str, b: str) -> bool:
    """Whether two answers are the same mathematics. Symmetric and deterministic; undecided is `False`."""
    return compare(a, b).equal is True


def canonical_key(answer: str) -> str | None:
    """A hashable key; equal keys mean equal answers. `None` where the fast paths have no canonical form."""
    value = _number(answer)
    return None if value is None else f"={value}"


def _number(text: str) -> Fraction | None:
    text = text.strip()
    if not text.lstrip("+-").replace("/", "", 1).replace(".", "", 1).isdecimal() or len(text) > 1000:
        return None
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        return None
