"""Another writing of the same answer: what a calculation comes to, a number without its unit, a factorial."""

from __future__ import annotations

import re
from typing import Final

_NOTE: Final = re.compile(r"<<[^<>\n]{0,200}>>")
_EQUALS: Final = re.compile(r"(?<![<>!\\=])=(?!=)|\\approx|≈")
_UNKNOWN: Final = re.compile(r"(?<![\\a-zA-Z])[a-zA-Z](?:_\{?\w\}?)?(?![a-zA-Z])")
_TIMES: Final = re.compile(r"\d\s?x\s?\d")
_COMPUTED: Final = re.compile(r"\d[^=]{0,80}?(?:[-+*/×÷·x^(]|\\times|\\cdot|\\div|\\frac)|\\frac|\\log|\\binom")
_MEASURED: Final = re.compile(
    r"([-−]?(?:\\?[$€£¥₹])?[-−]?\d[\d,]*+(?:\.\d+)?(?:/\d+)?)\s?((?:[^\W\d_π]+|/[^\W\d_]{2,})(?:[\s/][^\W\d_]+){0,3})\.?"
)


def other_writing(content: str, form: str, exclaimed: bool = False) -> str | None:
    """The same answer in another writing: what a calculation comes to, a number without its unit, `100!`."""
    if content.isdecimal():
        return content + "!" if exclaimed else None
    if len(content) > 400:
        return None
    result = _result(content)
    if form == "boxed":
        return result
    measured = _MEASURED.fullmatch(result or content)
    return measured[1] if measured is not None and not _is_known_unit(measured[2]) else result


def _is_known_unit(unit: str) -> bool:
    """Whether equality knows a unit, and so tells 3 hours from 3 minutes."""
    from markscheme.marking.equality.units import read_unit

    measure = read_unit(unit.strip(" ./"))
    return measure is not None and not measure.word


def _result(content: str) -> str | None:
    """What a calculation comes to: of `21 + 49 = 70` the 70. `2x = 10` is an equation, and does not say 10."""
    if "=" not in content and "≈" not in content and "approx" not in content:
        return None
    content = _NOTE.sub("", content)
    sides = _EQUALS.split(content)
    if len(sides) < 2 or "," in sides[-1]:
        return None
    unknowns = set(_UNKNOWN.findall(sides[-2]))
    if _TIMES.search(sides[-2]):
        unknowns -= {"x"}
    computed = not unknowns and _COMPUTED.search(sides[-2])
    if computed or (len(unknowns) > 1 and "^" not in content) or (len(sides) > 2 and not unknowns):
        return sides[-1].strip(" $.").rstrip("\\ ")
    return None
