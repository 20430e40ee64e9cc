"""Read in the statement of a problem what it says of its answer: the choices, and the decimal places that it asks for."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from markscheme.marking.reading.number_words import number_from_words
from markscheme.marking.reading.words import either, listed, places

_LETTERS: Final = "ABCDEFGHIJ"
_MARK: Final = re.compile(
    r"(?:\\(?:textbf|text|mathrm|mathbf|bf|rm)\s?\{?\s?)?[(（\[]?\s?(?P<letter>[A-J])\s?(?:[)）\]]|[.:、．：](?!\w))\s?\}?[).]?(?:\\[ ,;]|~|\\q?quad|\$)*"
)
_LONGEST: Final = 20_000  # longest statement that is searched
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


def choice_texts(choices: tuple[str, ...], statement: str) -> dict[str, str]:
    """Return the text of each choice by letter; empty if the problem has no choices."""
    if not choices:
        return _stated_choices(statement[-_LONGEST:]) if statement else {}
    texts = {}
    for letter, text in zip(_LETTERS, choices, strict=False):
        mark = _MARK.match(text)  # AQuA writes its options as `B)12`
        texts[letter] = (text[mark.end() :] if mark is not None and mark["letter"] == letter else text).strip()
    return texts


@lru_cache(maxsize=4096)
def _stated_choices(statement: str) -> dict[str, str]:
    """Return the choices in the statement: the last run of marks A, B, C … in order, at least two of them."""
    run: list[re.Match[str]] = []
    best: list[re.Match[str]] = []
    for mark in _MARK.finditer(statement):
        if mark["letter"] == "A":
            run = [mark]
        elif run and mark["letter"] == _LETTERS[len(run) :][:1]:
            run.append(mark)
        if len(run) > 1:
            best = run
    ends = [*(mark.start() for mark in best[1:]), len(statement)]
    return {
        mark["letter"]: _without_layout(statement[mark.end() : finish].split("\n\n", 1)[0])
        for mark, finish in zip(best, ends if best else (), strict=True)
    }


def _without_layout(text: str) -> str:
    r"""Return a choice without its separator: `12 \qquad`, `$12$,`, `& 12 \\` in aligned rows."""
    if "\\begin{" not in text:
        text = text.partition("\\end{")[0]
    for _ in range(4):
        text = text.rstrip(" \n\t$,;.&~\\").removesuffix("\\qquad").removesuffix("\\quad")
    return text.lstrip(" \n\t$&").rstrip()


@lru_cache(maxsize=4096)
def places_asked(statement: str) -> int | None:
    """Return the decimal places to which a problem asks to round: "to the nearest hundredth"; `None` if it asks for none."""
    found = {_nearest(match) for match in _NEAREST.finditer(statement)}
    found |= {_count(match["count"].lower()) for match in _DECIMALS.finditer(statement)}
    return found.pop() if len(found) == 1 else None


def _nearest(match: re.Match[str]) -> int | None:
    if match["more"] and not match["more"].split()[-1].lower().startswith(listed("rounded_units")):
        return None  # a tenth of a percent or of a mile: only the problem defines the unit
    if match["step"]:
        return len(match["step"].partition(".")[2])
    return _PLACES.get(" ".join(match["name"].lower().split()))


def _count(said: str) -> int | None:
    count = int(said) if said.isdecimal() else number_from_words(said)
    return count if isinstance(count, int) and count <= 6 else None
