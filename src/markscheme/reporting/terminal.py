"""Reports for people at a terminal, and the same as JSON for scripts."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from markscheme.reporting.figures import bar, bounds, conditions, notes, percent, size, variance_rows
from markscheme.reporting.summary import Estimate

if TYPE_CHECKING:
    from rich.console import Console

    from markscheme.reporting.summary import Summary, Until
    from markscheme.reporting.table import Table


MOST_ACROSS = 4
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

    screen = console()
    screen.print(
        f"[bold]{_literal(summary.benchmark)}[/] · {_literal(summary.model)} · "
        f"{size(summary)} · protocol {summary.protocol}"
    )
    if asked := conditions(summary):
        screen.print(asked, style="dim")
    figures = RichTable(box=None, pad_edge=False, show_header=False)
    scores = {"accuracy": summary.accuracy, **{f"pass@{k}": each for k, each in summary.pass_at_k.items()}}
    scores |= summary.metrics
    # One score alone is read faster than a bar, and on a narrow screen the words go first.
    bars = len(scores) > 1 and not (screen.width < 100 and any(each.undefined for each in scores.values()))
    for name, estimate in scores.items():
        figures.add_row(_literal(name), percent(estimate), bar(estimate) if bars else "")
    for verdict, rate in summary.rates.items():
        figures.add_row(verdict, _verdict_share(summary, verdict, rate), style="dim")
    screen.print(figures)
    if summary.population == "these problems":
        screen.print("the intervals are for exactly these problems, and say nothing about others", style="dim")
    else:
        screen.print("the intervals are for problems like these, of which these were drawn", style="dim")
    if summary.until is not None:
        _print_until(screen, summary.until)
    for field, groups in summary.groups.items():
        print_table(
            f"accuracy by {field}",
            [{field: name, "accuracy": percent(each), "problems": each.problems} for name, each in groups.items()],
        )
    if summary.variance is not None:
        print_table("what the uncertainty is made of, in points", variance_rows(summary.variance))
    for note in notes(summary):
        screen.print(f"[bold yellow]note[/]: {_literal(note)}", soft_wrap=True)
    for kind, failure in summary.failures.items() if summary.missing else ():
        screen.print(f"  {failure.count:,} × {_literal(kind)}, such as: {_literal(failure.example)}", soft_wrap=True)
    screen.print(f"run folder: {_literal(summary.run)}", soft_wrap=True)


def _print_until(screen: Console, until: Until) -> None:
    each = f"{until.fewest}" if until.fewest == until.most else f"{until.fewest} to {until.most}"
    rounds = f"{until.rounds} round{'s' * (until.rounds != 1)}, {each} samples per problem"
    known, score = "yes" if until.reached else "no", until.score
    half = 50 * ((score.high or 0) - (score.low or 0))
    screen.print(f"until ± {until.points:g}: {known}, {rounds}; stopped because {until.stopped}")
    screen.print(f"on exactly these problems: {percent(score)} (± {half:.1f})")


def print_comparison_table(table: Table) -> None:
    """Several runs side by side, and their macro average."""
    from markscheme.reporting.table import figures_of, intervals

    # pass@1 is accuracy by another name; on a screen one of them is enough.
    names = [n for n in dict.fromkeys(name for run in table.runs for name in figures_of(run)) if n != "pass@1"]
    if len(names) > MOST_ACROSS:
        _print_blocks(table)
        return
    rows = []
    for summary in table.runs:
        row = {
            "benchmark": summary.benchmark,
            "model": summary.model,
            "n × k": f"{summary.problems} × {summary.samples}",
        }
        figures = figures_of(summary)
        row |= {name: bounds(figures[name]) if name in figures else "" for name in names}
        rows.append(row | {"truncated": bounds(summary.truncation), "missing": str(summary.missing)})
    if table.macro:
        blank = dict.fromkeys(rows[0], "")
        averages = {name: bounds(each) for name, each in table.macro.items() if name in names}
        rows.append(blank | {"benchmark": "macro average"} | averages)
    print_table(f"percent, with {intervals(table)}", rows, fold="model")
    _print_foot(table)


def _print_foot(table: Table) -> None:
    from markscheme.reporting.table import named_notes, provenance

    screen = console()
    for line in dict.fromkeys(provenance(table.runs)):
        screen.print(_literal(line), style="dim", soft_wrap=True)
    for note in named_notes(table):
        screen.print(f"[bold yellow]note[/]: {_literal(note)}", soft_wrap=True)


def _print_blocks(table: Table) -> None:
    """The same where there are too many figures for one line: a few lines a run."""
    from markscheme.reporting.table import figures_of, intervals

    screen = console()
    screen.print(f"[bold]percent, with {intervals(table)}[/]")
    blocks = [(f"{run.benchmark} · {run.model}", figures_of(run), run) for run in table.runs]
    for title, figures, run in blocks:
        screen.print(_literal(title), style="bold", soft_wrap=True)
        shown = figures | {"truncated": run.truncation}
        screen.print("  " + "   ".join(f"{_literal(name)} {_literal(bounds(each))}" for name, each in shown.items()))
        screen.print(f"  {size(run)}, {run.missing} missing", style="dim")
    if table.macro:
        screen.print("macro average", style="bold")
        screen.print(
            "  " + "   ".join(f"{_literal(name)} {_literal(bounds(each))}" for name, each in table.macro.items())
        )
    _print_foot(table)


def _verdict_share(summary: Summary, verdict: str, rate: Estimate) -> str:
    """`22.0 %   6 of 38 responses`; and that it is a mean over problems where that is another number."""
    count = summary.verdicts[verdict]
    whole = sum(number for name, number in summary.verdicts.items() if name != "error" or verdict == "error")
    share = f"{100 * rate.value:.1f} %" if rate.value is not None else "–"
    apart = rate.value is not None and abs(rate.value - count / max(1, whole)) >= 0.0005
    return f"{share}   {count:,} of {whole:,} responses{', averaged over problems' * apart}"


def _literal(text: str) -> str:
    """Names and paths as they are: rich would read [brackets] in them as markup."""
    from rich.markup import escape

    return escape(text)
