"""Reports for people at a terminal, and the same as JSON for scripts."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from markscheme.reporting.figures import bar, bounds, percent
from markscheme.reporting.summary import Estimate

if TYPE_CHECKING:
    from rich.console import Console

    from markscheme.reporting.summary import Summary
    from markscheme.reporting.table import Table


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

    return Calm(highlight=False)


def print_table(title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """A plain table, one row a mapping, columns as in the first."""
    from rich.table import Table as RichTable

    table = RichTable(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for column in rows[0]:
        table.add_column(column, no_wrap=column == "name")
    for row in rows:
        cells = (", ".join(map(str, value)) if isinstance(value, list) else str(value) for value in row.values())
        table.add_row(*(_literal(cell) for cell in cells))
    screen = console()
    screen.print(table)
    screen.print()


def print_summary(summary: Summary) -> None:
    """The headline of a run: accuracy and pass@k with intervals, counts by verdict, where everything lies."""
    from rich.table import Table as RichTable

    screen = console()
    screen.print(
        f"[bold]{_literal(summary.benchmark)}[/] · {_literal(summary.model)} · "
        f"{summary.problems} problems × {summary.samples} samples · protocol {summary.protocol}"
    )
    figures = RichTable(box=None, pad_edge=False, show_header=False)
    scores = {"accuracy": summary.accuracy, **{f"pass@{k}": each for k, each in summary.pass_at_k.items()}}
    for name, estimate in scores.items():
        # One score alone is read faster than a bar.
        figures.add_row(name, percent(estimate), bar(estimate) if len(scores) > 1 else "")
    for verdict, count in summary.verdicts.items():
        figures.add_row(verdict, f"{count:,}", style="dim")
    screen.print(figures)
    for field, groups in summary.groups.items():
        print_table(
            f"accuracy by {field}",
            [{field: name, "accuracy": percent(each), "problems": each.problems} for name, each in groups.items()],
        )
    for warning in summary.warnings:
        screen.print(f"[bold yellow]note[/]: {_literal(warning)}")
    if summary.missing:
        screen.print(f"[bold red]{summary.missing} responses are missing[/]: the figures are over those that came back")
    screen.print(f"run folder: {_literal(summary.run)}", soft_wrap=True)


def print_comparison_table(table: Table) -> None:
    """Several runs side by side, and their macro average."""
    names = list(dict.fromkeys(f"pass@{k}" for summary in table.runs for k in summary.pass_at_k))
    rows = []
    for summary in table.runs:
        row = {
            "benchmark": summary.benchmark,
            "model": summary.model,
            "n × k": f"{summary.problems} × {summary.samples}",
            "accuracy": bounds(summary.accuracy),
        }
        row |= {name: bounds(summary.pass_at_k.get(name[5:], Estimate(None))) for name in names}
        rows.append(row | {"truncated": bounds(summary.truncation), "missing": str(summary.missing)})
    if table.macro:
        blank = dict.fromkeys(rows[0], "")
        averages = {name: f"{100 * value:.1f}" for name, value in table.macro.items() if value is not None}
        rows.append(blank | {"benchmark": "macro average"} | averages)
    print_table("percent, with 95 % intervals over problems", rows)


def _literal(text: str) -> str:
    """Names and paths as they are: rich would read [brackets] in them as markup."""
    from rich.markup import escape

    return escape(text)
