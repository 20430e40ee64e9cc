"""Reports of runs, as they are printed at a terminal."""

from __future__ import annotations

from markscheme.reporting.estimates import Estimate
from markscheme.reporting.figures import (
    bar,
    bounds,
    conditions,
    figures_of,
    percent,
    size,
    value_and_interval,
    variance_rows,
)
from markscheme.reporting.summary import Summary
from markscheme.reporting.table import Table, interval_of, intervals, named_notes, provenance, shown_rows
from markscheme.reporting.terminal import console, literal, print_notes, print_table

MOST_ACROSS = 6
"""Figures that fit beside a run's name on a screen."""


def print_summary(summary: Summary) -> None:
    """The headline of a run: accuracy and pass@k with intervals, counts by verdict, where everything lies."""
    from rich.table import Column
    from rich.table import Table as RichTable

    screen = console()
    screen.print(
        f"[bold]{literal(summary.benchmark)}[/] · {literal(summary.model)} · "
        f"{size(summary)} · protocol {summary.protocol}"
    )
    if asked := conditions(summary):
        screen.print(asked, style="dim")
    figures = RichTable("", Column(justify="right"), "", "", box=None, pad_edge=False, show_header=False)
    scores = {name: each for name, each in figures_of(summary).items() if name != "truncation"}
    # One score alone is read faster than a bar, and on a narrow screen the words go first.
    bars = len(scores) > 1 and not (screen.width < 100 and any(each.undefined for each in scores.values()))
    for name, estimate in scores.items():
        value, interval, *rest = [*value_and_interval(estimate), ""]
        figures.add_row(literal(name), value, interval, "  ".join([bar(estimate), *rest] if bars else rest))
    for verdict, rate in summary.rates.items():
        value, interval, *rest = [*value_and_interval(rate), ""] if rate.value is not None else ["–", ""]
        count = _verdict_count(summary, verdict, rate)
        figures.add_row(verdict, value, interval, "  ".join([count, *rest]), style="dim")
    screen.print(figures)
    screen.print(f"the intervals: {interval_of(summary.population)}", style="dim")
    for field, groups in summary.groups.items():
        print_table(
            f"accuracy by {field}",
            [{field: name, "accuracy": percent(each), "problems": each.problems} for name, each in groups.items()],
        )
    if summary.variance is not None:
        print_table("what the uncertainty is made of, in points", variance_rows(summary.variance))
    print_notes(screen, summary.warnings)
    screen.print(f"run folder: {literal(summary.run)}", soft_wrap=True)


def print_comparison_table(table: Table) -> None:
    """Several runs side by side, and their macro average; beside a run's name no more figures than fit."""
    # pass@1 is accuracy by another name; on a screen one of them is enough.
    rows = [{name: cell for name, cell in row.items() if name != "pass@1"} for row in shown_rows(table, bounds)]
    names = list(rows[0])
    for start in range(3, len(names), MOST_ACROSS):
        shown = names[:3] + names[start : start + MOST_ACROSS]
        title = f"percent, with {intervals(table)}" if start == 3 else ""
        print_table(title, [{name: row[name] for name in shown} for row in rows], fold="model")
    screen = console()
    for line in dict.fromkeys(provenance(table.runs)):
        screen.print(literal(line), style="dim", soft_wrap=True)
    print_notes(screen, named_notes(table))


def _verdict_count(summary: Summary, verdict: str, rate: Estimate) -> str:
    """`6 of 38 responses`; and that the share is a mean over problems where that is another number."""
    count = summary.verdicts[verdict]
    whole = sum(number for name, number in summary.verdicts.items() if name != "error" or verdict == "error")
    apart = rate.value is not None and abs(rate.value - count / max(1, whole)) >= 0.0005
    return f"{count:,} of {whole:,} responses{', averaged over problems' * apart}"
