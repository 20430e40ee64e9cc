"""Printing for every command: tables and notes at a terminal, JSON for scripts. Loads nothing heavy."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from markscheme.types import Gold

NAME_WIDTH = 34  # characters of a model's name before it is wrapped

if TYPE_CHECKING:
    from rich.console import Console


def print_json(value: Any) -> None:
    """Print one JSON document on standard output."""
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")


def console() -> Console:
    """Return a rich console on standard output that raises `BrokenPipeError` if the pipe is closed.

    Rich exits with 1, which would make `markscheme list | head` fail.
    """
    from rich.console import Console

    class PipeConsole(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    # Rich would wrap a file at 80 columns.
    return PipeConsole(highlight=False, width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else 140)


def print_table(title: str, rows: Sequence[Mapping[str, Any]], fold: str | None = None) -> None:
    """Print a plain table with the columns of the first row. If space is short, only the column `fold` is wrapped."""
    from rich.table import Table as RichTable

    table = RichTable(box=None, pad_edge=False)
    for column in rows[0]:
        fixed = column != fold if fold else column == "name"
        table.add_column(column, no_wrap=fixed, overflow="ellipsis" if fixed else "fold")
    for row in rows:
        cells = (", ".join(map(str, value)) if isinstance(value, list) else str(value) for value in row.values())
        table.add_row(*(literal(cell) for cell in cells))
    screen = console()
    if title:
        screen.print(literal(title), style="bold", soft_wrap=True)
    screen.print(table)
    screen.print()


def print_wide(title: str, rows: Sequence[Mapping[str, str]], first: int) -> None:
    """Print a table whose first columns identify a row; columns that do not fit follow in further tables."""
    names = list(rows[0])
    width = {name: 2 + max(len(name), *(len(row[name]) for row in rows)) for name in names}
    width["model"] = min(width.get("model", 0), NAME_WIDTH)
    room = console().width - sum(width[name] for name in names[:first])
    parts: list[list[str]] = [[]]
    for name in names[first:]:
        if parts[-1] and sum(width[each] for each in (*parts[-1], name)) > room:
            parts.append([])
        parts[-1].append(name)
    for number, part in enumerate(parts):
        shown = [{name: row[name] for name in (*names[:first], *part)} for row in rows]
        print_table(title if not number else "", shown, fold="model")


def print_notes(screen: Console, notes: Sequence[str]) -> None:
    """Print one line per note."""
    for note in notes:
        screen.print(f"[bold yellow]note[/]: {literal(note)}", soft_wrap=True)


def print_sentence(text: str) -> None:
    """Print the sentence for a paper."""
    if text:
        console().print(f"\n[bold]in a paper[/]: {literal(text)}", soft_wrap=True)


def literal(text: str) -> str:
    """Escape names and paths: rich would read [brackets] in them as markup."""
    from rich.markup import escape

    return escape(text)


def gold_line(gold: Gold) -> str:
    """Return the right answer in one line."""
    return gold if isinstance(gold, str) else f"{', '.join(map(str, gold.nums))} → {gold.target}"
