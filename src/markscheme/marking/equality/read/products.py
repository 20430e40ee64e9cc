r"""Letters that look like a word or a unit, read as variables: `mL^2`, `e^{2it}`, `def`."""

from __future__ import annotations

import re
from typing import Final

from markscheme.marking.equality.read.vocabulary import CONNECTIVES, OF_SEVERAL, plain, words

_RUN: Final = re.compile(
    r"\\(?:text[a-z]*|mathrm|operatorname|[mh]box|unit|si)\s?\{[^{}]*\}|\\[A-Za-z]+|_\s?(?:[A-Za-z]+|\{[^{}]*\})|[A-Za-z]+"
)
_LONGEST: Final = 3
_SHORT_RUN: Final = re.compile(r"(?<![A-Za-z\\])[A-Za-z]{2,3}(?![A-Za-z])")
_KEPT: Final = frozenset({*CONNECTIVES, *OF_SEVERAL, *words("is are no not yes all any to of per mod base")})


def letters_apart(text: str) -> str:
    """Write short words and units outside `\\text` as products. Return any other text unchanged."""
    return _RUN.sub(_apart, text) if _SHORT_RUN.search(text) else text


def _apart(m: re.Match[str]) -> str:
    run = m[0]
    if len(run) > _LONGEST or not run.isalpha() or run.lower() in _KEPT or plain(run)[0][0] != "x":
        return run
    return " ".join(run)
