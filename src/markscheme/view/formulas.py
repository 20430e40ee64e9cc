"""Finds the formulas in a text, in time linear in the text.

They are `$$…$$`, `\\[…\\]`, `\\(…\\)`, `\\begin{align}…`, a bare `\\boxed{…}`, and `$…$` if it cannot be money: no space
after the first dollar or before the second, no digit after it, and no empty line or other dollar in between.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from markscheme.view.mathml import LONGEST


class Formula(NamedTuple):
    """`text[start:end]` with its delimiters; `text[inner_start:inner_end]` is the LaTeX."""

    start: int
    end: int
    inner_start: int
    inner_end: int
    display: bool


_ENVIRONMENTS = "(?:fl)?align(?:at|ed)?|equation|gather(?:ed)?|multline|eqnarray|split|d?cases|[bpvBV]?matrix|array"
_TOKEN = re.compile(
    r"(?P<code>```|`)|(?P<escape>\\\\|\\\$|\\[{}])|(?P<open>\\[\[(])|(?P<close>\\[\])])|(?P<two>\$\$)|(?P<one>\$)"
    rf"|\\begin\{{(?P<env>(?:{_ENVIRONMENTS})\*?)\}}|(?P<box>\\boxed\s?\{{)|(?P<brace>[{{}}])|(?P<gap>\n[ \t]*\n)"
)
_CLOSERS = {"\\[": "\\]", "\\(": "\\)", "$$": "$$"}


def formulas(text: str) -> Iterator[Formula]:
    """Yield the formulas in order; they do not overlap."""
    places, braces = _places(text)
    at = 0
    for token in _TOKEN.finditer(text):
        if token.start() < at:
            continue
        kind, word = token.lastgroup, token.group()
        end: int | None = None
        inner = (token.end(), 0)
        if kind == "code":
            closing = _next(places[word], token.end())
            at = closing + len(word) if closing is not None else at
        elif word in _CLOSERS:
            closing = _next(places[_CLOSERS[word]], token.end())
            inner, end = (token.end(), closing or 0), closing and closing + 2
        elif kind == "one" and not text[token.end() : token.end() + 1].isspace():
            closing = _next(places["$"], token.end() + 1)
            barrier = _next(places["barrier"], token.end())
            if closing is not None and (barrier is None or closing <= barrier):
                inner, end = (token.end(), closing), closing + 1
        elif kind == "env":
            name = token.group("env")
            closing = text.find(f"\\end{{{name}}}", token.end(), token.end() + LONGEST)
            end = closing + len(name) + 6 if closing >= 0 else None
            inner = (token.start(), end or 0)
        elif kind == "box":
            closing = braces.get(token.end() - 1)
            end = closing + 1 if closing is not None else None
            inner = (token.start(), end or 0)
        if end is not None and end - token.start() <= LONGEST and inner[1] > inner[0]:
            yield Formula(token.start(), end, *inner, display=kind in ("two", "env") or word == "\\[")
            at = end


def _places(text: str) -> tuple[dict[str, list[int]], dict[int, int]]:
    """Return the places of each closing delimiter, and the closing brace of each opening one."""
    places: dict[str, list[int]] = {"\\]": [], "\\)": [], "$$": [], "$": [], "barrier": [], "```": [], "`": []}
    braces: dict[int, int] = {}
    stack: list[int] = []
    for token in _TOKEN.finditer(text):
        kind, word, start = token.lastgroup, token.group(), token.start()
        if kind in ("close", "two", "code"):
            places[word].append(start)
        elif kind == "one":
            places["barrier"].append(start)
            after = text[start + 1 : start + 2]
            if start and not text[start - 1].isspace() and not after.isdecimal():
                places["$"].append(start)
        elif kind == "gap":
            places["barrier"].append(start)
        elif kind == "box":
            stack.append(token.end() - 1)
        elif word == "{":
            stack.append(start)
        elif word == "}" and stack:
            braces[stack.pop()] = start
    return places, braces


def _next(places: list[int], start: int) -> int | None:
    index = bisect_left(places, start)
    return places[index] if index < len(places) else None
