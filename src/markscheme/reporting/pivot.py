"""Models and settings down, benchmarks and their mean across: one figure of many runs as one table, in every format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from markscheme.errors import UsageError
from markscheme.reporting.estimates import Estimate
from markscheme.reporting.figures import bounds, figures_of, plus_minus
from markscheme.reporting.summary import Summary
from markscheme.reporting.table import (
    Table,
    below,
    csv_text,
    intervals,
    latex_table,
    macro_average,
    markdown_table,
    named,
)

MEAN = "macro average"  # the last column: the plain mean over the benchmarks, each weighing the same


def pivoted(table: Table) -> dict[tuple[tuple[str, str], ...], dict[str, Summary]]:
    """The runs of each row by benchmark; a row is what tells its runs from those of the other rows."""
    rows: dict[tuple[tuple[str, str], ...], dict[str, Summary]] = {}
    for summary in table.runs:
        cells = named(summary, table)
        benchmark = cells.pop("benchmark")
        row = rows.setdefault(tuple(cells.items()), {})
        if benchmark in row:
            raise UsageError(
                f"{row[benchmark].run} and {summary.run} are of the same benchmark, model and settings: name one of them, "
                "since a cell of this table is one run"
            )
        row[benchmark] = summary
    return rows


def pivot_rows(
    table: Table, metric: str, show: Callable[[Estimate], str], mark: Callable[[Summary], str] = lambda _: ""
) -> list[dict[str, str]]:
    """The rows as people read them, each figure as `show` has it with what `mark` adds for its run."""
    rows = []
    for cells, runs in pivoted(table).items():
        row = dict(cells)
        for benchmark in _benchmarks(table):
            row[benchmark] = show(_figure(runs[benchmark], metric)) + mark(runs[benchmark]) if benchmark in runs else ""
        if (mean := _mean(table, runs, metric)) is not None:
            row[MEAN] = show(mean) if mean.value is not None else ""
        rows.append(row)
    return rows


def _benchmarks(table: Table) -> list[str]:
    return list(dict.fromkeys(summary.benchmark for summary in table.runs))


def _figure(summary: Summary, metric: str) -> Estimate:
    figures = figures_of(summary)
    if metric not in figures:
        raise UsageError(f"{summary.run} has no {metric}; it has {', '.join(figures)}")
    return figures[metric]


def _mean(table: Table, runs: Mapping[str, Summary], metric: str) -> Estimate | None:
    """None where there is one benchmark only; undefined where a row lacks one of them."""
    names = _benchmarks(table)
    if len(names) < 2:
        return None
    return macro_average(list(runs.values()))[metric] if len(runs) == len(names) else Estimate(None)


def title(table: Table, metric: str) -> str:
    """What the figures are."""
    mean = ", averaged over these benchmarks" * (len(_benchmarks(table)) > 1)
    return f"{metric}, %, with {intervals(table)}{mean}"


def pivot_text(table: Table, metric: str, form: str) -> str:
    """The table as Markdown, LaTeX, CSV or JSON."""
    if form == "markdown":
        lines = [*markdown_table(pivot_rows(table, metric, bounds)), "", f"{title(table, metric).capitalize()}.", ""]
        return "\n".join([*lines, *(f"- {line}" for line in below(table))]) + "\n"
    if form == "latex":
        texts = len(next(iter(pivoted(table))))
        lines = [f"% {line}" for line in (title(table, metric), *below(table))]
        return "\n".join([*lines, *latex_table(pivot_rows(table, metric, plus_minus), texts)]) + "\n"
    rows = _flat(table, metric)
    if form == "csv":
        return csv_text(rows)
    return msgspec.json.format(msgspec.json.encode(rows), indent=2).decode() + "\n"


def _flat(table: Table, metric: str) -> list[dict[str, Any]]:
    rows = []
    for cells, runs in pivoted(table).items():
        row: dict[str, Any] = {"metric": metric, **{name.replace(" ", "_"): value for name, value in cells}}
        figures = {name: _figure(runs[name], metric) if name in runs else Estimate(None) for name in _benchmarks(table)}
        if (mean := _mean(table, runs, metric)) is not None:
            figures[MEAN] = mean
        for name, figure in figures.items():
            row |= {name: figure.value, f"{name}_low": figure.low, f"{name}_high": figure.high}
        rows.append(row)
    return rows
