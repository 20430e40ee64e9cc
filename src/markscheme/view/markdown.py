"""Finds the Markdown that helps to read a model's text: headings, bold, code, tables. Linear in the text.

The marks stay in the page as source for the raw view, and links stay text. What could be arithmetic (`2**3`, a single
`*`) is not changed.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

Span = tuple[int, int]


class Edit(NamedTuple):
    """`text[start:end]` becomes hidden source with these tags around it."""

    start: int
    end: int
    before: str
    after: str


_HEADING = re.compile(r"#{1,6} +(?=\S)")
_RULE = re.compile(r"[ \t]*+\|?(?>(?:[ \t]*+:?-++:?[ \t]*+\|)+)[ \t]*+(?::?-++:?)?[ \t]*+")
_BOLD = re.compile(r"(?<![\w)\]}*\\])\*\*(?=[^\s*])[^*\n]+(?<=\S)\*\*(?![\w(\[{*])")
_CODE = re.compile(r"`[^`\n]+`")
_PIPE = re.compile(r"(?<!\\)\|")
_CELL, _ROW = '<span class="td">', '<span class="tr">'


def edits(text: str, formulas: Sequence[Span]) -> list[Edit]:
    """Return the marks in order. None overlaps a formula, and every opened tag is closed."""
    return sorted(_edits(text, _Taken(formulas)))


class _Taken:
    """Tells whether a place is inside one of some spans."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self._spans, self._starts = spans, [start for start, _ in spans]

    def at(self, place: int) -> bool:
        span = bisect_right(self._starts, place) - 1
        return span >= 0 and place < self._spans[span][1]


def _edits(text: str, taken: _Taken) -> Iterator[Edit]:
    lines = _lines(text)
    fences = [n for n, (a, b) in enumerate(lines) if text[a:b].strip() == "```"]
    n = 0
    while n < len(lines):
        start, end = lines[n]
        after = n + 1
        if text[start:end].lstrip().startswith("```") and not taken.at(start):
            place = bisect_right(fences, n)
            if place < len(fences):
                after = fences[place] + 1
                close = lines[after - 1]
                yield Edit(start, end + 1, "", '<code class="fence">')
                yield Edit(max(end + 1, close[0] - 1), min(close[1] + 1, len(text)), "</code>", "")
        elif _is_table(text, lines, n, taken):
            while after < len(lines) and text.startswith("|", lines[after][0]):
                after += 1
            yield from _table(text, lines[n:after], taken)
        else:
            heading = _HEADING.match(text, start, end)
            if heading and not taken.at(start) and not taken.at(end):
                yield Edit(start, heading.end(), '<b class="h">', "")
                yield Edit(end, end, "", "</b>")
            yield from _inline(text, start, end, taken)
        n = after


def _lines(text: str) -> list[Span]:
    lines, start = [], 0
    for line in text.split("\n"):
        lines.append((start, start + len(line)))
        start += len(line) + 1
    return lines


def _inline(text: str, start: int, end: int, taken: _Taken) -> Iterator[Edit]:
    code = []
    for match in _CODE.finditer(text, start, end):
        a, b = match.span()
        if not (taken.at(a) or taken.at(b - 1)):
            code.append((a, b))
            yield Edit(a, a + 1, "", "<code>")
            yield Edit(b - 1, b, "</code>", "")
    inside_code = _Taken(code)
    for match in _BOLD.finditer(text, start, end):
        a, b = match.span()
        if not any(places.at(place) for places in (taken, inside_code) for place in (a, b - 1)):
            yield Edit(a, a + 2, "<b>", "")
            yield Edit(b - 2, b, "", "</b>")


def _is_table(text: str, lines: list[Span], n: int, taken: _Taken) -> bool:
    """True for a line of cells followed by a line of dashes."""
    if n + 1 >= len(lines) or not text.startswith("|", lines[n][0]) or taken.at(lines[n][0]):
        return False
    return _RULE.fullmatch(text, *lines[n + 1]) is not None


def _table(text: str, rows: list[Span], taken: _Taken) -> Iterator[Edit]:
    last = len(rows) - 1
    for n, (start, end) in enumerate(rows):
        opening = '<span class="table">' if n == 0 else ""
        closing = "</span>" if n == last else ""
        line_end = min(end + 1, len(text))  # a block needs no line end after it
        if n == 1:
            yield Edit(start, line_end, "", closing)
            continue
        pipes = [pipe.start() for pipe in _PIPE.finditer(text, start, end) if not taken.at(pipe.start())]
        closed = len(pipes) > 1 and not text[pipes[-1] + 1 : end].strip()
        inner = pipes[1:-1] if closed else pipes[1:]
        yield Edit(start, start + 1, opening + _ROW, _CELL)
        for a, b in zip(
            [start + 1, *(pipe + 1 for pipe in inner)], [*inner, pipes[-1] if closed else end], strict=True
        ):
            yield from _inline(text, a, b, taken)
        for pipe in inner:
            yield Edit(pipe, pipe + 1, "</span>", _CELL)
        yield Edit(pipes[-1] if closed else end, line_end, "</span>", "</span>" + closing)
