"""One figure of many runs: models and settings down, benchmarks and their mean across."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from markscheme.errors import UsageError
from markscheme.reporting.estimates import Estimate
from markscheme.reporting.figures import figures_of
from markscheme.reporting.sheets import Document, Rows, Sheet, Show, flat
from markscheme.reporting.summary import Summary
from markscheme.reporting.table import Table, below, intervals, macro_average, named, named_notes

MEAN = "macro average"  # the last column: the unweighted mean over the benchmarks
Cells = tuple[tuple[str, str], ...]
Mark = Callable[[Summary], str]


def pivot(table: Table, metric: str, mark: Mark = lambda _: "", more: str = "") -> Document:
    """Return the table of one figure; `mark` adds a text to the figure of a run, and `more` explains it."""
    runs = _runs_by_row(table)

    def rows(show: Show) -> list[dict[str, str]]:
        return [
            dict(cells)
            | {
                name: "" if name not in mine and name != MEAN else _cell(show, figure, mark, mine.get(name))
                for name, figure in _figures(table, mine, metric).items()
            }
            for cells, mine in runs.items()
        ]

    mean = ", averaged over these benchmarks" * (len(_benchmarks(table)) > 1)
    title = f"{metric}, %, with {intervals(table)}{mean}{more}"
    flat_ = _flat_rows(table, metric)
    return Document([Sheet(title, rows, len(next(iter(runs))), below(table), named_notes(table))], lambda: flat_, flat_)


def _cell(show: Show, figure: Estimate, mark: Mark, run: Summary | None) -> str:
    if run is not None:
        return show(figure) + mark(run)
    return show(figure) if figure.value is not None else ""


def _runs_by_row(table: Table) -> dict[Cells, dict[str, Summary]]:
    rows: dict[Cells, dict[str, Summary]] = {}
    for summary in table.runs:
        cells = named(summary, table)
        benchmark = cells.pop("benchmark")
        row = rows.setdefault(tuple(cells.items()), {})
        if benchmark in row:
            raise UsageError(
                f"{row[benchmark].run} and {summary.run} have the same benchmark, model and settings: each cell of this "
                "table is one run, so name only one of them"
            )
        row[benchmark] = summary
    return rows


def _benchmarks(table: Table) -> list[str]:
    return list(dict.fromkeys(summary.benchmark for summary in table.runs))


def _figures(table: Table, runs: Mapping[str, Summary], metric: str) -> dict[str, Estimate]:
    """Return the figure of each benchmark, and with two or more their mean; undefined if a row lacks one."""
    names = _benchmarks(table)
    figures = {name: _figure(runs[name], metric) if name in runs else Estimate(None) for name in names}
    if len(names) > 1:
        whole = len(runs) == len(names)
        figures[MEAN] = macro_average(list(runs.values()))[metric] if whole else Estimate(None)
    return figures


def _figure(summary: Summary, metric: str) -> Estimate:
    figures = figures_of(summary)
    if metric not in figures:
        raise UsageError(f"{summary.run} has no figure {metric!r}; it has {', '.join(figures)}")
    return figures[metric]


def _flat_rows(table: Table, metric: str) -> Rows:
    rows = []
    for cells, runs in _runs_by_row(table).items():
        row: dict[str, Any] = {"metric": metric, **{name.replace(" ", "_"): value for name, value in cells}}
        for name, figure in _figures(table, runs, metric).items():
            row |= flat(name, figure)
        rows.append(row)
    return rows
