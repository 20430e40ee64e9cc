"""How far a problem asks its answer to be rounded: "to the nearest hundredth", "to two decimal places".

Only what is said outright counts; a problem that says nothing asks for the exact value.
"""

from __future__ import annotations

import re
from functools import lru_cache

_PLACES = {
    "whole number": 0, "integer": 0, "whole": 0, "unit": 0, "one": 0, "degree": 0, "dollar": 0, "percent": None,
    "tenth": 1, "hundredth": 2, "thousandth": 3, "ten-thousandth": 4, "ten thousandth": 4, "cent": None, "penny": None,
}  # fmt: skip
_COUNTS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_NEAREST = re.compile(
    r"nearest\s+(?:\$?(?P<step>0?\.0{0,5}1)\$?|(?P<name>ten[- ]thousandth|[a-z]+thousandth|whole\s+number|[a-z]+))(?P<more>\s+of\s+an?\s+\w+)?",
    re.IGNORECASE,
)
_DECIMALS = re.compile(
    r"\b(?:to|correct\s+to|using|with)\s+(?:exactly\s+|at\s+least\s+)?\$?(?P<count>one|two|three|four|five|six|[1-6])\$?"
    r"\s+(?:decimal\s+(?:place|digit)|(?:place|digit)s?\s+after\s+the\s+decimal)",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def places_asked(statement: str) -> int | None:
    """The decimal places that a problem asks for; `None` where it asks for no rounding, or for one not understood."""
    found = {_nearest(match) for match in _NEAREST.finditer(statement)}
    found |= {_count(match["count"]) for match in _DECIMALS.finditer(statement)}
    return found.pop() if len(found) == 1 else None


def _nearest(match: re.Match[str]) -> int | None:
    if match["more"] and not match["more"].split()[-1].lower().startswith(("unit", "inch", "degree")):
        return None  # a tenth of a percent, of a mile: of which number, only the problem knows
    if match["step"]:
        return len(match["step"].partition(".")[2])
    return _PLACES.get(" ".join(match["name"].lower().split()))


def _count(text: str) -> int:
    return int(text) if text.isdecimal() else _COUNTS[text.lower()]
