"""Printing for every command: tables and notes at a terminal, JSON for scripts. Loads nothing heavy."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any
from unicodedata import combining, east_asian_width

from markscheme.pages.forms import json_text
from markscheme.redaction import printable
from markscheme.types import Gold

NAME_WIDTH = 34  # characters of a model's name before it is wrapped
LEAST_WIDTH = 10  # columns that a wrapped column always has
_STYLES = {"bold": "1", "dim": "2", "warning": "1;33"}


def print_json(value: Any) -> None:
    """Print one JSON document on standard output."""
    sys.stdout.write(json_text(value))


def width() -> int:
    """Return the columns of the terminal; of a file or pipe 140, unless COLUMNS is set."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() or "COLUMNS" in os.environ else 140


def say(*parts: str | tuple[str, str], style: str = "") -> None:
    """Print a line on standard output. A part may have a style of its own: `("note", "bold")`."""
    styled = ((part, style) if isinstance(part, str) else part for part in parts)
    print("".join(_styled(printable(text), name) for text, name in styled))


def _styled(text: str, style: str) -> str:
    plain = not style or not sys.stdout.isatty() or os.environ.get("TERM") == "dumb"
    return text if plain else f"\x1b[{_STYLES[style]}m{text}\x1b[0m"


def print_table(title: str, rows: Sequence[Mapping[str, Any]], fold: str | None = None) -> None:
    """Print a plain table with the columns of the first row. If space is short, the column `fold` or the widest is wrapped."""
    if title:
        say(title, style="bold")
    cells = [
        [", ".join(map(str, cell)) if isinstance(cell, list) else str(cell) for cell in row.values()] for row in rows
    ]
    names = list(rows[0])
    print_cells([names, *cells], ["bold", *[""] * len(rows)], names.index(fold) if fold in names else None)
    print()


def print_cells(rows: Sequence[Sequence[str]], styles: Sequence[str], fold: int | None = None, right: int = -1) -> None:
    """Print rows in columns, each row in its style. If space is short, the column `fold` is wrapped, or the widest ones."""
    rows = [[printable(cell).replace("\n", " ") for cell in row] for row in rows]
    widths = [max(map(_cells, column)) for column in zip(*rows, strict=True)]
    narrowed = [fold] if fold is not None else range(1, len(widths))
    for _ in range(sum(widths) + 2 * (len(widths) - 1) - width()):
        widest = max(narrowed, key=widths.__getitem__)
        widths[widest] = max(widths[widest] - 1, LEAST_WIDTH)
    for row, style in zip(rows, styles, strict=True):
        folded = (_folded(cell, columns) for cell, columns in zip(row, widths, strict=True))
        for line in zip_longest(*folded, fillvalue=""):
            padded = (_padded(cell, widths[at], at == right) for at, cell in enumerate(line))
            print(_styled("  ".join(padded).rstrip(), style))


def _cells(text: str) -> int:
    """Return the columns that a text takes: East Asian characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(one) else 1 + (east_asian_width(one) in "WF") for one in text)


def _padded(text: str, columns: int, right: bool) -> str:
    blanks = " " * (columns - _cells(text))
    return blanks + text if right else text + blanks


def _folded(text: str, columns: int) -> list[str]:
    """Cut a text into pieces, after a space if there is one in the second half of a piece."""
    pieces = []
    while _cells(text) > columns:
        cut = next(size for size in range(len(text), 0, -1) if _cells(text[:size]) <= columns)
        cut = text.rfind(" ", cut // 2, cut + 1) + 1 or cut
        pieces.append(text[:cut].rstrip())
        text = text[cut:]
    return [*pieces, text]


def print_wide(title: str, rows: Sequence[Mapping[str, str]], first: int) -> None:
    """Print a table whose first columns identify a row; columns that do not fit follow in further tables."""
    names = list(rows[0])
    wide = {name: 2 + max(len(name), *(len(row[name]) for row in rows)) for name in names}
    wide["model"] = min(wide.get("model", 0), NAME_WIDTH)
    room = width() - sum(wide[name] for name in names[:first])
    parts: list[list[str]] = [[]]
    for name in names[first:]:
        if parts[-1] and sum(wide[each] for each in (*parts[-1], name)) > room:
            parts.append([])
        parts[-1].append(name)
    for number, part in enumerate(parts):
        shown = [{name: row[name] for name in (*names[:first], *part)} for row in rows]
        print_table(title if not number else "", shown, fold="model")


def print_notes(notes: Sequence[str]) -> None:
    """Print one line per note."""
    for note in notes:
        say(("note", "warning"), f": {note}")


def print_sentence(text: str) -> None:
    """Print the sentence for a paper."""
    if text:
        say("\n", ("in a paper", "bold"), f": {text}")


def gold_line(gold: Gold) -> str:
    """Return the right answer in one line."""
    return gold if isinstance(gold, str) else f"{', '.join(map(str, gold.nums))} → {gold.target}"
