"""Several runs as one table, in Markdown, CSV, Parquet, LaTeX and JSON; the macro average last.

Shares are 0 to 1 in data formats and percent for people.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from markscheme.errors import UsageError, counted, needed, os_reason
from markscheme.reporting.estimates import Estimate, as_estimate
from markscheme.reporting.figures import about, figures_of, size, variance_rows
from markscheme.reporting.settings import columns, differing, names_tell_models, run_names, settings_of
from markscheme.reporting.sheets import Document, Rows, Sheet, Show, flat
from markscheme.reporting.summary import RATES, Summary
from markscheme.runs.usage import Latency
from markscheme.statistics import Interval, Population, VarianceTable, macro
from markscheme.statistics.repeats import Repeated

T = TypeVar("T")

SIZE = "problems × samples"
MOST_NOTES = 3  # runs that each print their own note of one kind
MOST_IN_FULL = 4  # runs that each print a table of uncertainty


class Column(NamedTuple):
    """A column of CSV, Parquet and data frames besides the figures."""

    name: str
    kind: Any  # `str` or `int`, and `int | None` where whole numbers may be missing
    value: Callable[[Summary], Any]
    shown: bool = False  # also in tables for people


def _part(part: str, name: str) -> Callable[[Summary], Any]:
    """Read a number from a part that only some summaries have: of an estimate its value, of latencies the median."""

    def value(summary: Summary) -> Any:
        found = getattr(getattr(summary, part), name, None)
        return found.value if isinstance(found, Estimate) else found.p50 if isinstance(found, Latency) else found

    return value


# Columns before the figures.
FIRST = (
    *(Column(name, str, attrgetter(name)) for name in ("run", "benchmark", "model", "protocol")),
    *(Column(name, int | None, attrgetter(name)) for name in ("problems", "samples", "responses")),
    Column("missing", int | None, attrgetter("missing"), shown=True),
    *(Column(name, str, attrgetter(name)) for name in ("population", "cluster")),
)
# Columns after the figures.
LAST = (
    *(
        Column(f"{name}_tokens", int | None, _part("usage", f"{name}_tokens"))
        for name in ("prompt", "completion", "cached")
    ),
    *(Column(f"tool_{name}", float, _part("tools", name)) for name in ("calls", "used", "failed", "tokens", "cut_off")),
    *(Column(name, float, _part("doubted", name)) for name in ("right_at_once", "mended", "spoiled")),
    Column("cost", float, _part("usage", "cost")),
    Column("seconds", float, attrgetter("seconds")),
    Column("first_token", float, _part("usage", "first_token")),
    Column("tokens_per_second", float, _part("usage", "tokens_per_second")),
    Column("data_sha256", str, lambda summary: " ".join(summary.data.values())),
    Column("notes", str, lambda summary: "; ".join(summary.warnings)),
)
SHOWN = [column for column in (*FIRST, *LAST) if column.shown]


class Table(msgspec.Struct, frozen=True):
    """The output of `report --format json`: every run, and the unweighted mean over benchmarks."""

    runs: list[Summary]
    macro: dict[str, Estimate]
    repeats: Repeated | None = None  # set if the runs are repeats of one setting
    differing: list[str] = []  # settings in which the runs differ; each is a column


def make_table(summaries: Sequence[Summary], repeats: Repeated | None = None) -> Table:
    """Return the table of some runs, with a macro average if one model was asked two or more benchmarks."""
    benchmarks = [summary.benchmark for summary in summaries]
    several = len(benchmarks) > 1 and len(set(benchmarks)) == len(benchmarks)
    one_model = len({summary.model for summary in summaries}) == 1
    return Table(
        list(summaries),
        macro_average(summaries) if several and one_model else {},
        repeats,
        differing(summaries),
    )


def macro_average(summaries: Sequence[Summary]) -> dict[str, Estimate]:
    """Return the unweighted mean over benchmarks of each figure that all have; undefined if one of them is."""
    parts = [figures_of(summary) for summary in summaries]
    shared = [name for name in parts[0] if all(name in each for each in parts)]
    return {name: as_estimate(macro([_interval(each[name]) for each in parts])) for name in shared}


def _interval(figure: Estimate) -> Interval:
    known = None not in (figure.value, figure.low, figure.high)
    return Interval(
        estimate=figure.value if figure.value is not None else math.nan,
        low=figure.low or 0.0,
        high=figure.high if figure.high is not None else 1.0,
        level=figure.level,
        method="report",
        problems=max(1, figure.problems) if known else 0,  # an average with an undefined part is undefined
    )


def shown_rows(table: Table, show: Callable[[Estimate], T]) -> list[dict[str, str | T]]:
    """Return one row per run for people, each figure rendered by `show`; the macro average last."""
    names = _columns(table)

    def row(first: Mapping[str, str], figures: Mapping[str, Estimate], last: Mapping[str, str]) -> dict[str, str | T]:
        cells: dict[str, str | T] = {name: show(figures[name]) if name in figures else "" for name in names}
        return {**first, **cells, **last}

    rows = []
    for summary in table.runs:
        count = f"{summary.problems} × {summary.samples}{' on average' * bool(summary.until)}"
        last = {each.name: "" if (value := each.value(summary)) is None else str(value) for each in SHOWN}
        rows.append(row({**named(summary, table), SIZE: count}, figures_of(summary), last))
    if table.macro:
        first = dict.fromkeys([*named(table.runs[0], table), SIZE], "") | {"benchmark": "macro average"}
        first["model"] = named(table.runs[0], table)["model"]
        rows.append(row(first, table.macro, {each.name: "" for each in SHOWN}))
    return rows


def named(summary: Summary, table: Table) -> dict[str, str]:
    """Return the cells that identify a row: benchmark, model, and the settings that differ."""
    cells = columns(summary, table.differing)
    model = cells.pop("name") if "name" in cells and names_tell_models(table.runs) else summary.model
    return {"benchmark": summary.benchmark, "model": model, **cells}


def specs(table: Table) -> list[str]:
    """Return the model of each name, if names replace the specs."""
    if "name" not in table.differing or not names_tell_models(table.runs):
        return []
    return list(dict.fromkeys(f"{summary.settings['name']} is {summary.model}" for summary in table.runs))


def flat_rows(table: Table) -> Rows:
    """Return one flat record per run, for CSV and Parquet, the macro average last; all with the same columns."""
    names = _columns(table)
    rows = []
    for summary in table.runs:
        row: dict[str, Any] = {column.name: column.value(summary) for column in FIRST}
        row |= {name: _flat_value(value) for name, value in settings_of(summary).items() if name in table.differing}
        row |= {f"rate_{verdict}": _rate(summary, verdict) for verdict in RATES}
        row |= _flat_figures(figures_of(summary), names)
        rows.append(row | {column.name: column.value(summary) for column in LAST})
    if table.macro:
        average = {"run": "macro average", "model": table.runs[0].model, "population": table.runs[0].population}
        rows.append(dict.fromkeys(rows[0]) | average | _flat_figures(table.macro, names))
    return rows


def flat_kinds(table: Table) -> dict[str, Any]:
    """Return the type of each column of `flat_rows`."""
    kinds: dict[str, Any] = {name: int | None if name.endswith("_problems") else float for name in flat_rows(table)[0]}
    for name in table.differing:
        numbers = [value for run in table.runs if (value := settings_of(run)[name]) is not None]
        kinds[name] = float if all(isinstance(value, int | float) for value in numbers) else str
    return kinds | {column.name: column.kind for column in (*FIRST, *LAST)}


def _flat_value(value: Any) -> Any:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else value


def _flat_figures(figures: Mapping[str, Estimate], names: Sequence[str]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for name in names:
        figure = figures.get(name, Estimate(None))
        row |= flat(name, figure)
        row[f"{name}_problems"] = figure.problems if figure.value is not None else None
        row |= {f"{name}_{part}": getattr(figure, part) for part in ("if_wrong", "if_right", "lowest", "highest")}
    return row


def document(table: Table) -> Document:
    """Return the table with its notes; then, for each of a few runs, accuracy by group and the sources of uncertainty.

    Shares are 0 to 1 in CSV and JSON, and empty or `null` where undefined.
    """
    labels, notes = len(named(table.runs[0], table)), [f"Percent, with {intervals(table)}.", *below(table)]
    made = [Sheet("", lambda show: shown_rows(table, show), labels, notes, named_notes(table))]
    for summary, name in zip(table.runs, _names(table), strict=True):
        for field, parts in summary.groups.items() if len(table.runs) <= MOST_IN_FULL else ():
            made.append(Sheet(f"{name}, accuracy by {field}", group_rows(field, parts), extra=True))
        if summary.variance is not None and len(table.runs) <= MOST_IN_FULL:
            made.append(Sheet(f"{name}, sources of uncertainty in points", _variance(summary.variance), extra=True))
    return Document(made, lambda: flat_rows(table), table)


def _variance(variance: VarianceTable) -> Callable[[Show], list[dict[str, str]]]:
    return lambda _: variance_rows(variance)


def group_rows(field: str, parts: Mapping[str, Estimate]) -> Callable[[Show], list[dict[str, str]]]:
    """Return the rows of accuracy by a field such as subject or level."""
    return lambda show: [
        {field: part, "problems": str(each.problems), "accuracy": show(each)} for part, each in parts.items()
    ]


def write_parquet(table: Table, file: Path) -> None:
    """Write the rows of the CSV as Parquet (needs pyarrow)."""
    content = needed("pyarrow", "data").Table.from_pylist(flat_rows(table))
    try:
        needed("pyarrow.parquet", "data").write_table(content, file)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {os_reason(error)}") from None


def provenance(summaries: Sequence[Summary]) -> list[str]:
    """Return a line per run: problems × samples, protocol and data."""
    return [
        f"{summary.benchmark}: {size(summary)}, protocol {summary.protocol}, "
        f"data {', '.join(digest[:12] for digest in summary.data.values()) or 'unknown'}"
        for summary in summaries
    ]


def below(table: Table) -> list[str]:
    """Return the lines below a table: provenance, which models the names are, and total usage."""
    lines = [*dict.fromkeys(provenance(table.runs)), "; ".join(specs(table)), totals(table)]
    return [line for line in lines if line]


def _columns(table: Table) -> list[str]:
    return list(dict.fromkeys(name for summary in table.runs for name in figures_of(summary)))


def _rate(summary: Summary, verdict: str) -> float | None:
    if verdict in summary.rates:
        return summary.rates[verdict].value
    return 0.0 if summary.responses else None


def named_notes(table: Table) -> list[str]:
    """Return the notes of every run; notes that differ only in numbers are printed once, with an example."""
    over = [] if table.repeats is None else [over_runs_line(table.repeats)]
    if len(table.runs) == 1:
        return [*over, *dict.fromkeys(table.runs[0].warnings)]
    alike: dict[str, list[tuple[str, str]]] = {}
    for each, name in zip(table.runs, _names(table), strict=True):
        for note in dict.fromkeys(each.warnings):
            alike.setdefault(re.sub(r"\d[\d.,]*| such as .*", "", note), []).append((name, note))
    lines = []
    for group in alike.values():
        (name, note), count = group[0], len(group)
        if len({text for _, text in group}) == 1:
            lines.append(f"{name if count == 1 else counted(count, 'run')}: {note}")
        elif count <= MOST_NOTES:
            lines += [f"{name}: {note}" for name, note in group]
        else:
            lines.append(f"{count} runs, among them {name}: {note}")
    return [*over, *lines]


def over_runs_line(made: Repeated) -> str:
    """Return the score of a setting over its runs, in one line."""
    parts = [("problems", made.from_problems), ("runs", made.from_runs), ("sampling", made.from_sampling)]
    if made.population == "these problems":
        del parts[0]
    errors = ", ".join(f"{name} {100 * error:.1f}" for name, error in parts)
    return (
        f"{len(made.runs)} runs of one setting: {made.metric} {100 * made.score.estimate:.1f} "
        f"[{100 * made.score.low:.1f}, {100 * made.score.high:.1f}] for {about(made.population)} and further runs; "
        f"runs vary by a standard deviation of {100 * made.between_runs:.1f} beyond sampling noise; "
        f"standard errors of the mean from {errors}"
    )


def _names(table: Table) -> list[str]:
    return run_names(table.runs, [summary.run for summary in table.runs], full=True)


def totals(table: Table) -> str:
    """Return what several runs used together: `24 runs, 1,234,567 tokens, $12.30`."""
    used = [summary.usage for summary in table.runs if summary.usage is not None]
    if len(table.runs) < 2 or not used:
        return ""
    parts = [f"{len(table.runs)} runs", f"{sum(run.responses for run in table.runs):,} responses"]
    if tokens := sum((each.prompt_tokens or 0) + (each.completion_tokens or 0) for each in used):
        parts.append(f"{tokens:,} tokens")
    if any(each.cost is not None for each in used):
        unknown = sum(run.usage is None or run.usage.cost is None for run in table.runs)
        cost = sum(each.cost or 0 for each in used)
        parts.append(f"${cost:,.2f}{f' ({unknown} without a price)' if unknown else ''}")
    return ", ".join(parts)


def intervals(table: Table) -> str:
    """Return what the intervals are about."""
    macro = f"; the macro average is about these {len(table.runs)} benchmarks and no others" if table.macro else ""
    return interval_of(table.runs[0].population) + macro


def interval_of(population: Population) -> str:
    """Return `95 % intervals for …`, the same in every format."""
    return f"95 % intervals for {about(population)}"
