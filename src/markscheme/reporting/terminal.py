"""Reports for people at a terminal, and the same as JSON for scripts."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from markscheme.reporting.figures import bar, bounds, conditions, figures_of, percent, size, variance_rows
from markscheme.reporting.summary import Estimate

if TYPE_CHECKING:
    from rich.console import Console

    from markscheme.reporting.summary import Summary
    from markscheme.reporting.table import Table


MOST_ACROSS = 6
"""Figures that fit beside a run's name on a screen."""


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

    table = RichTable(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for column in rows[0]:
        table.add_column(
            column,
            no_wrap=column != fold if fold else column == "name",
            overflow="fold" if column == fold else "ellipsis",
        )
    for row in rows:
        cells = (", ".join(map(str, value)) if isinstance(value, list) else str(value) for value in row.values())
        table.add_row(*(_literal(cell) for cell in cells))
    screen = console()
    screen.print(table)
    screen.print()


def print_summary(summary: Summary) -> None:
    """The headline of a run: accuracy and pass@k with intervals, counts by verdict, where everything lies."""
    from rich.table import Table as RichTable

    from markscheme.reporting.table import interval_of

    screen = console()
    screen.print(
        f"[bold]{_literal(summary.benchmark)}[/] · {_literal(summary.model)} · "
        f"{size(summary)} · protocol {summary.protocol}"
    )
    if asked := conditions(summary):
        screen.print(asked, style="dim")
    figures = RichTable(box=None, pad_edge=False, show_header=False)
    scores = {name: each for name, each in figures_of(summary).items() if name != "truncation"}
    # One score alone is read faster than a bar, and on a narrow screen the words go first.
    bars = len(scores) > 1 and not (screen.width < 100 and any(each.undefined for each in scores.values()))
    for name, estimate in scores.items():
        figures.add_row(_literal(name), percent(estimate), bar(estimate) if bars else "")
    for verdict, rate in summary.rates.items():
        figures.add_row(verdict, _verdict_share(summary, verdict, rate), style="dim")
    screen.print(figures)
    screen.print(f"the intervals: {interval_of(summary.population)}", style="dim")
    for field, groups in summary.groups.items():
        print_table(
            f"accuracy by {field}",
            [{field: name, "accuracy": percent(each), "problems": each.problems} for name, each in groups.items()],
        )
    if summary.variance is not None:
        print_table("what the uncertainty is made of, in points", variance_rows(summary.variance))
    _print_notes(screen, summary.warnings)
    screen.print(f"run folder: {_literal(summary.run)}", soft_wrap=True)


def print_comparison_table(table: Table) -> None:
    """Several runs side by side, and their macro average; beside a run's name no more figures than fit."""
    from markscheme.reporting.table import intervals, named_notes, provenance, shown_rows

    # pass@1 is accuracy by another name; on a screen one of them is enough.
    rows = [{name: cell for name, cell in row.items() if name != "pass@1"} for row in shown_rows(table, bounds)]
    names = list(rows[0])
    for start in range(3, len(names), MOST_ACROSS):
        shown = names[:3] + names[start : start + MOST_ACROSS]
        title = f"percent, with {intervals(table)}" if start == 3 else ""
        print_table(title, [{name: row[name] for name in shown} for row in rows], fold="model")
    screen = console()
    for line in dict.fromkeys(provenance(table.runs)):
        screen.print(_literal(line), style="dim", soft_wrap=True)
    _print_notes(screen, named_notes(table))


def _print_notes(screen: Console, notes: Sequence[str]) -> None:
    for note in notes:
        screen.print(f"[bold yellow]note[/]: {_literal(note)}", soft_wrap=True)


def _verdict_share(summary: Summary, verdict: str, rate: Estimate) -> str:
    """`22.0 %   6 of 38 responses`; and that it is a mean over problems where that is another number."""
    count = summary.verdicts[verdict]
    whole = sum(number for name, number in summary.verdicts.items() if name != "error" or verdict == "error")
    share = percent(rate) if rate.value is not None else "–"
    apart = rate.value is not None and abs(rate.value - count / max(1, whole)) >= 0.0005
    return f"{share}   {count:,} of {whole:,} responses{', averaged over problems' * apart}"


def _literal(text: str) -> str:
    """Names and paths as they are: rich would read [brackets] in them as markup."""
    from rich.markup import escape

    return escape(text)
