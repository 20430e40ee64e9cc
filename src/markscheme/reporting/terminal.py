"""Reports for people at a terminal, and the same as JSON for scripts."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from markscheme.reporting.summary import Estimate, Summary


def print_json(value: Any) -> None:
    """One JSON document on standard output, and nothing else there."""
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")


def print_table(title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """A plain table, one row a mapping, columns as in the first."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for column in rows[0]:
        table.add_column(column, no_wrap=column == "name")
    for row in rows:
        cells = (", ".join(map(str, value)) if isinstance(value, list) else str(value) for value in row.values())
        table.add_row(*(_literal(cell) for cell in cells))
    console = Console()
    console.print(table)
    console.print()


def print_summary(summary: Summary) -> None:
    """The headline of a run: accuracy and pass@k with intervals, counts by verdict, where everything lies."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    console.print(
        f"[bold]{_literal(summary.benchmark)}[/] · {_literal(summary.model)} · "
        f"{summary.problems} problems × {summary.samples} samples · protocol {summary.protocol}"
    )
    figures = Table(box=None, pad_edge=False, show_header=False)
    figures.add_row("accuracy", _percent(summary.accuracy))
    for k, estimate in summary.pass_at_k.items():
        figures.add_row(f"pass@{k}", _percent(estimate))
    for verdict, count in summary.verdicts.items():
        figures.add_row(verdict, f"{count}", style="dim")
    console.print(figures)
    if summary.missing:
        console.print(
            f"[bold red]{summary.missing} responses are missing[/]: the figures are over those that came back"
        )
    console.print(f"run folder: {_literal(summary.run)}", soft_wrap=True)


def _percent(estimate: Estimate) -> str:
    if estimate.value is None:
        return "undefined: too few samples came back"
    shown = f"{100 * estimate.value:.1f} %"
    if estimate.low is not None and estimate.high is not None:
        shown += f"   95 % interval {100 * estimate.low:.1f} to {100 * estimate.high:.1f}"
    return shown


def _literal(text: str) -> str:
    """Names and paths as they are: rich would read [brackets] in them as markup."""
    from rich.markup import escape

    return escape(text)
