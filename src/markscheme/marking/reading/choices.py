r"""The choices of a problem: given with it, or read from its statement. Letter, text and value are the same answer."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_LETTERS: Final = "ABCDEFGHIJ"
_MARK: Final = re.compile(
    r"(?:\\(?:textbf|text|mathrm|mathbf|bf|rm)\s?\{?\s?)?[(（\[]?\s?(?P<letter>[A-J])\s?(?:[)）\]]|[.:、．：](?!\w))\s?\}?[).]?(?:\\[ ,;]|~|\\q?quad|\$)*"
)


def choice_texts(choices: tuple[str, ...], statement: str) -> dict[str, str]:
    """The text of each choice by its letter; empty where the problem has none."""
    if choices:
        return {letter: _bare(letter, text) for letter, text in zip(_LETTERS, choices, strict=False)}
    return _stated_choices(statement) if statement else {}


def _bare(letter: str, text: str) -> str:
    """`B) 12` and `(B) 12`, as AQuA writes its options, without the letter."""
    mark = _MARK.match(text)
    return text[mark.end() :].strip() if mark is not None and mark["letter"] == letter else text.strip()


@lru_cache(maxsize=4096)
def _stated_choices(statement: str) -> dict[str, str]:
    """Choices that stand in the statement: the last run of marks A, B, C … in order, at least two of them."""
    statement = statement[-20_000:]
    run: list[re.Match[str]] = []
    best: list[re.Match[str]] = []
    for mark in _MARK.finditer(statement):
        letter = mark["letter"]
        if letter == "A":
            run = [mark]
        elif run and letter == _LETTERS[len(run) :][:1]:  # nothing follows the tenth
            run.append(mark)
        if len(run) > 1:
            best = run
    if len(best) < 2:
        return {}
    ends = [mark.start() for mark in best[1:]] + [len(statement)]
    texts = {}
    for mark, finish in zip(best, ends, strict=True):
        text = statement[mark.end() : finish].split("\n\n", 1)[0]
        texts[mark["letter"]] = _without_layout(text)
    return texts


def _without_layout(text: str) -> str:
    """A choice without what sets it apart from the next one: `12 \\qquad`, `$12$,`, `& 12 \\\\` in aligned rows."""
    if "\\begin{" not in text:
        text = text.partition("\\end{")[0]
    for _ in range(4):
        text = text.rstrip(" \n\t$,;.&~\\").removesuffix("\\qquad").removesuffix("\\quad")
    return text.lstrip(" \n\t$&").rstrip()
