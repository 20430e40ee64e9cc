"""Find the choices of a problem, given with it or read from its statement. Letter, text and value are the same answer."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_LETTERS: Final = "ABCDEFGHIJ"
_MARK: Final = re.compile(
    r"(?:\\(?:textbf|text|mathrm|mathbf|bf|rm)\s?\{?\s?)?[(（\[]?\s?(?P<letter>[A-J])\s?(?:[)）\]]|[.:、．：](?!\w))\s?\}?[).]?(?:\\[ ,;]|~|\\q?quad|\$)*"
)
_LONGEST: Final = 20_000  # longest statement that is searched


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
