"""Reports of runs, as they are printed at a terminal."""

from __future__ import annotations

from collections.abc import Callable

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
from markscheme.reporting.pivot import pivot_rows, title
from markscheme.reporting.summary import Summary
from markscheme.reporting.table import Table, below, interval_of, intervals, named, named_notes, shown_rows
from markscheme.reporting.terminal import console, literal, print_notes, print_table, print_wide


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
    hidden = {"pass@1"} | ({"missing"} if not any(run.missing for run in table.runs) else set())
    rows = [{name: cell for name, cell in row.items() if name not in hidden} for row in shown_rows(table, bounds)]
    print_wide(f"percent, with {intervals(table)}", rows, len(named(table.runs[0], table)) + 1)
    print_below(table)
    print_notes(console(), named_notes(table))


def print_pivot(table: Table, metric: str, mark: Callable[[Summary], str] = lambda _: "", more: str = "") -> None:
    """Models and settings down, benchmarks across."""
    print_wide(
        title(table, metric) + more, pivot_rows(table, metric, bounds, mark), len(named(table.runs[0], table)) - 1
    )
    print_below(table)


def print_below(table: Table) -> None:
    """What the rows stand on, and what they took."""
    screen = console()
    for line in below(table):
        screen.print(literal(line), style="dim", soft_wrap=True)


def _verdict_count(summary: Summary, verdict: str, rate: Estimate) -> str:
    """`6 of 38 responses`; and that the share is a mean over problems where that is another number."""
    count = summary.verdicts[verdict]
    whole = sum(number for name, number in summary.verdicts.items() if name != "error" or verdict == "error")
    apart = rate.value is not None and abs(rate.value - count / max(1, whole)) >= 0.0005
    return f"{count:,} of {whole:,} responses{', averaged over problems' * apart}"
