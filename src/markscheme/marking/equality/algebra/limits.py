"""How much work exact arithmetic may do, counted in operations and not by a clock, so that verdicts are repeatable."""

from __future__ import annotations

import threading
from typing import Final

MAX_BITS: Final = 1 << 16  # of one coefficient: 2004! has 19,000 bits
MAX_TERMS: Final = 1500  # of one sum
_effort = threading.local()
MAX_EFFORT: Final = 300_000
"""Term products and characters of names that one answer or one comparison may cost: about 0.3 s."""


def fresh_effort() -> None:
    """Start counting the work of this thread anew."""
    _effort.spent = 0


def spend(amount: int) -> None:
    """Count work, and stop when it gets too much."""
    spent = getattr(_effort, "spent", 0) + amount
    _effort.spent = spent
    if spent > MAX_EFFORT:
        raise TooBig


class TooBig(ArithmeticError):  # noqa: N818 - a reason to stop, caught where the comparison is decided
    """The exact value would not fit the bounds."""


class Undefined(ArithmeticError):  # noqa: N818
    """The expression has no value, such as 1/0."""
