"""Find the rounding that a problem asks for: "to the nearest hundredth", "to two decimal places".

Only explicit requests count; otherwise the exact value is expected.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from markscheme.marking.reading.marks import either, places, words
from markscheme.marking.reading.number_words import number_from_words

_PLACES: Final = places()
_NAMES: Final = "|".join(sorted(_PLACES, key=len, reverse=True)).replace(" ", r"\s+")
_NEAREST: Final = re.compile(
    rf"{either('nearest')}\s+(?:\$?(?P<step>0?\.0{{0,5}}1)\$?|(?P<name>{_NAMES}|[a-z]+))"
    r"(?P<more>\s+\w+\s+an?\s+\w+)?",
    re.IGNORECASE,
)
_DECIMALS: Final = re.compile(
    rf"\b{either('rounding')}\s+(?:{either('limits')}\s+)?\$?(?P<count>[a-z]{{3,5}}|[1-6])\$?\s+{either('decimal_places')}",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def places_asked(statement: str) -> int | None:
    """Return the decimal places that a problem asks for; `None` without a rounding or with one that is not understood."""
    found = {_nearest(match) for match in _NEAREST.finditer(statement)}
    found |= {_count(match["count"].lower()) for match in _DECIMALS.finditer(statement)}
    return found.pop() if len(found) == 1 else None


def _nearest(match: re.Match[str]) -> int | None:
    if match["more"] and not match["more"].split()[-1].lower().startswith(words("rounded_units")):
        return None  # a tenth of a percent or of a mile: only the problem defines the unit
    if match["step"]:
        return len(match["step"].partition(".")[2])
    return _PLACES.get(" ".join(match["name"].lower().split()))


def _count(said: str) -> int | None:
    count = int(said) if said.isdecimal() else number_from_words(said)
    return count if isinstance(count, int) and count <= 6 else None
