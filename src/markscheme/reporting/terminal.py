"""What every command prints with: tables and notes for people at a terminal, JSON for scripts. Loads nothing heavy."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from markscheme.types import Gold

NAME_WIDTH = 34  # columns of a screen that a model's name may take before it is broken

if TYPE_CHECKING:
    from rich.console import Console


def print_json(value: Any) -> None:
    """One JSON document on standard output, and nothing else there."""
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")


def console() -> Console:
    """A rich console on standard output that lets a closed pipe through, for the command line to take calmly.

    Rich's own way is to exit with 1, which makes `markscheme list | head` fail.
    """
    from rich.console import Console

    class Calm(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    # Nobody reads a file at 80 columns; on a terminal, and where COLUMNS is set, that decides.
    return Calm(highlight=False, width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else 140)


def print_table(title: str, rows: Sequence[Mapping[str, Any]], fold: str | None = None) -> None:
    """A plain table, one row a mapping, columns as in the first. Where space is short, only the column `fold` is broken."""
    from rich.table import Table as RichTable

    table = RichTable(box=None, pad_edge=False)
    for column in rows[0]:
        table.add_column(
            column,
            no_wrap=column != fold if fold else column == "name",
            overflow="fold" if column == fold else "ellipsis",
        )
    for row in rows:
        cells = (", ".join(map(str, value)) if isinstance(value, list) else str(value) for value in row.values())
        table.add_row(*(literal(cell) for cell in cells))
    screen = console()
    if title:
        screen.print(literal(title), style="bold", soft_wrap=True)
    screen.print(table)
    screen.print()


def print_wide(title: str, rows: Sequence[Mapping[str, str]], first: int) -> None:
    """A table whose first columns name a row; where the others do not fit beside them, they follow in further tables."""
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
    """What a reader must know, a line each."""
    for note in notes:
        screen.print(f"[bold yellow]note[/]: {literal(note)}", soft_wrap=True)


def print_sentence(text: str) -> None:
    """What may be written about the figures above, apart from them."""
    if text:
        console().print(f"\n[bold]in a paper[/]: {literal(text)}", soft_wrap=True)


def literal(text: str) -> str:
    """Names and paths as they are: rich would read [brackets] in them as markup."""
    from rich.markup import escape

    return escape(text)


def gold_line(gold: Gold) -> str:
    """The right answer in one line."""
    return gold if isinstance(gold, str) else f"{', '.join(map(str, gold.nums))} → {gold.target}"
