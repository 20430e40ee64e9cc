"""Several runs as one table, with the macro average where they are different benchmarks.

A row is a run; formats are Markdown, CSV, Parquet, LaTeX and JSON. Shares are 0 to 1 in data formats and percent where
a person reads.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from markscheme.errors import UsageError, needed
from markscheme.reporting.estimates import Estimate, as_estimate
from markscheme.reporting.figures import bounds, figures_of, plus_minus, size, variance_rows
from markscheme.reporting.summary import RATES, Summary
from markscheme.runs.usage import Usage
from markscheme.statistics import Interval, Population, macro
from markscheme.statistics.repeats import Repeated

Rows = list[dict[str, Any]]
T = TypeVar("T")


class Column(NamedTuple):
    """A column of CSV, Parquet and data frames beside the figures."""

    name: str
    kind: Any
    """`str` or `int`, and `int | None` where whole numbers may be missing."""
    value: Callable[[Summary], Any]
    shown: bool = False
    """Also where people read: on the terminal, in Markdown, LaTeX and notebooks."""


def _used(summary: Summary) -> Usage:
    return summary.usage or Usage()


def _of(part: str, name: str) -> Callable[[Summary], Any]:
    """A number of a part that only some summaries have; of an estimate its value."""

    def value(summary: Summary) -> Any:
        found = getattr(getattr(summary, part), name, None)
        return found.value if isinstance(found, Estimate) else found

    return value


FIRST = (
    *(Column(name, str, attrgetter(name)) for name in ("run", "benchmark", "model", "protocol")),
    *(Column(name, int | None, attrgetter(name)) for name in ("problems", "samples", "responses")),
    Column("missing", int | None, attrgetter("missing"), shown=True),
    *(Column(name, str, attrgetter(name)) for name in ("population", "cluster")),
)
"""Columns before the figures, from left to right."""
LAST = (
    Column("completion_tokens", int | None, lambda summary: summary.usage.completion_tokens if summary.usage else None),
    Column("cached_tokens", int | None, lambda summary: _used(summary).cached_tokens),
    *(Column(f"tool_{name}", float, _of("tools", name)) for name in ("calls", "used", "failed", "tokens", "cut_off")),
    *(Column(name, float, _of("doubted", name)) for name in ("right_at_once", "mended", "spoiled")),
    Column("first_token", float, lambda summary: first.p50 if (first := _used(summary).first_token) else None),
    Column("tokens_per_second", float, lambda summary: _used(summary).tokens_per_second),
    Column("data_sha256", str, lambda summary: " ".join(summary.data.values())),
    Column("notes", str, lambda summary: "; ".join(summary.warnings)),
)
"""Columns behind the figures."""
SHOWN = [column for column in (*FIRST, *LAST) if column.shown]


class Table(msgspec.Struct, frozen=True):
    """What `report --format json` prints: every run, and the mean over benchmarks that weighs each the same."""

    runs: list[Summary]
    macro: dict[str, Estimate]
    repeats: Repeated | None = None
    """Set where the runs are repeats of one setting."""


def make_table(summaries: Sequence[Summary], repeats: Repeated | None = None) -> Table:
    """The table of some runs. The macro average is there for two benchmarks or more, asked of one model."""
    benchmarks = [summary.benchmark for summary in summaries]
    several = len(benchmarks) > 1 and len(set(benchmarks)) == len(benchmarks)
    one_model = len({summary.model for summary in summaries}) == 1
    return Table(list(summaries), macro_average(summaries) if several and one_model else {}, repeats)


def macro_average(summaries: Sequence[Summary]) -> dict[str, Estimate]:
    """The plain mean over benchmarks of each figure that all of them have, with its interval; undefined if one is."""
    parts = [figures_of(summary) for summary in summaries]
    shared = [name for name in parts[0] if all(name in each for each in parts)]
    return {name: as_estimate(macro([_interval(each[name]) for each in parts])) for name in shared}


def _interval(figure: Estimate) -> Interval:
    """An undefined figure stands on no problems, and so does every average with it."""
    known = figure.value is not None and figure.low is not None and figure.high is not None
    return Interval(
        estimate=figure.value if figure.value is not None else math.nan,
        low=figure.low or 0.0,
        high=figure.high if figure.high is not None else 1.0,
        level=figure.level,
        method="report",
        problems=max(1, figure.problems) if known else 0,
    )


def shown_rows(table: Table, show: Callable[[Estimate], T]) -> list[dict[str, str | T]]:
    """A row a run for people to read, each figure as `show` has it; the macro average last."""
    names = _columns(table)

    def row(first: Mapping[str, str], figures: Mapping[str, Estimate], last: Mapping[str, str]) -> dict[str, str | T]:
        cells: dict[str, str | T] = {name: show(figures[name]) if name in figures else "" for name in names}
        return {**first, **cells, **last}

    rows = []
    for summary in table.runs:
        count = f"{summary.problems} × {summary.samples}{' on average' * bool(summary.until)}"
        first = {"benchmark": summary.benchmark, "model": summary.model, "problems × samples": count}
        rows.append(row(first, figures_of(summary), {each.name: _cell(each.value(summary)) for each in SHOWN}))
    if table.macro:
        rows.append(
            row(
                {"benchmark": "macro average", "model": "", "problems × samples": ""},
                table.macro,
                {each.name: "" for each in SHOWN},
            )
        )
    return rows


def flat_rows(table: Table) -> Rows:
    """One flat record a run, for CSV and Parquet, the macro average last; every row has the same columns."""
    names = _columns(table)
    rows = []
    for summary in table.runs:
        row: dict[str, Any] = {column.name: column.value(summary) for column in FIRST}
        row |= {f"rate_{verdict}": _rate(summary, verdict) for verdict in RATES}
        row |= _flat(figures_of(summary), names)
        rows.append(row | {column.name: column.value(summary) for column in LAST})
    if table.macro:
        average = {"run": "macro average", "model": table.runs[0].model, "population": table.runs[0].population}
        rows.append(dict.fromkeys(rows[0]) | average | _flat(table.macro, names))
    return rows


def flat_kinds(table: Table) -> dict[str, Any]:
    """The type of each column of `flat_rows`: figures are shares, and stand on a number of problems."""
    kinds = {name: int | None if name.endswith("_problems") else float for name in flat_rows(table)[0]}
    return kinds | {column.name: column.kind for column in (*FIRST, *LAST)}


def _flat(figures: Mapping[str, Estimate], names: Sequence[str]) -> dict[str, Any]:
    """Each figure with its interval, the problems it stands on, and what missing responses could make of it."""
    row: dict[str, Any] = {}
    for name in names:
        figure = figures.get(name, Estimate(None))
        row[name] = figure.value
        row |= {f"{name}_{part}": getattr(figure, part) for part in ("low", "high")}
        row[f"{name}_problems"] = figure.problems if figure.value is not None else None
        row |= {f"{name}_{part}": getattr(figure, part) for part in ("if_wrong", "if_right", "lowest", "highest")}
    return row


def to_markdown(table: Table) -> str:
    """A Markdown table in percent with intervals, the provenance below it."""
    lines = markdown_table(shown_rows(table, bounds))
    for summary in table.runs:
        named = f"{summary.benchmark} · {summary.model}"
        for field, parts in summary.groups.items():
            rows = [
                {field: name, "problems": str(each.problems), "accuracy": bounds(each)} for name, each in parts.items()
            ]
            lines += ["", f"{named}, accuracy by {field}:", "", *markdown_table(rows)]
        if summary.variance is not None:
            lines += ["", f"{named}, what the uncertainty is made of (points):", ""]
            lines += markdown_table(variance_rows(summary.variance))
    lines += ["", f"Percent, with {intervals(table)}.", ""]
    lines += [f"- {line}" for line in dict.fromkeys(provenance(table.runs))]
    return "\n".join([*lines, *(f"- note: {line}" for line in named_notes(table))]) + "\n"


def markdown_table(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """The lines of a Markdown table, a row a mapping."""
    lines = [list(rows[0]), ["---"] * len(rows[0]), *(list(row.values()) for row in rows)]
    return [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines]


def to_latex(table: Table) -> str:
    """One row a run, as papers need it: model, benchmark, n × k, mean and interval; where it comes from stands above."""
    rows = shown_rows(table, plus_minus)
    figures = list(rows[0])[3:]
    lines = [f"% columns: model, benchmark, problems × samples, {', '.join(figures)}; {intervals(table)}"]
    for number, row in enumerate(rows):
        first, *last = escape_latex(row["benchmark"]), *(row[name] for name in figures)
        model = escape_latex(row["model"] or table.runs[0].model)
        of = row["problems × samples"].replace("×", r"\times").replace(" on average", "")
        if number < len(table.runs):
            summary = table.runs[number]
            lines.append(f"% {provenance([summary])[0]}")
            for each in variance_rows(summary.variance) if summary.variance else ():
                lines.append(f"% uncertainty: {', '.join(f'{name} {value}' for name, value in each.items())}")
        lines.append(" & ".join([model, first, of and f"${of}$", *last]) + r" \\")
    return "\n".join([*lines, *(f"% note: {line}" for line in named_notes(table))]) + "\n"


def to_csv(table: Table) -> str:
    """Comma-separated, shares from 0 to 1, empty where undefined."""
    rows = flat_rows(table)
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def to_json(table: Table) -> str:
    """Everything, as it stands in each run's `report.json`."""
    return msgspec.json.format(msgspec.json.encode(table), indent=2).decode() + "\n"


def write_parquet(table: Table, file: Path) -> None:
    """The rows of the CSV as Parquet (needs pyarrow)."""
    content = needed("pyarrow", "data").Table.from_pylist(flat_rows(table))
    try:
        needed("pyarrow.parquet", "data").write_table(content, file)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror or error}") from None


TEXT_FORMATS: dict[str, Callable[[Table], str]] = {
    "markdown": to_markdown,
    "json": to_json,
    "csv": to_csv,
    "latex": to_latex,
}


def provenance(summaries: Sequence[Summary]) -> list[str]:
    """What every figure must say: problems × samples, protocol and data."""
    return [
        f"{summary.benchmark}: {size(summary)}, protocol {summary.protocol}, "
        f"data {', '.join(digest[:12] for digest in summary.data.values()) or 'unknown'}"
        for summary in summaries
    ]


def _cell(value: Any) -> str:
    return "" if value is None else str(value)


def _columns(table: Table) -> list[str]:
    return list(dict.fromkeys(name for summary in table.runs for name in figures_of(summary)))


def _rate(summary: Summary, verdict: str) -> float | None:
    """The share of a verdict: 0 where none occurred among responses, undefined where there are no responses."""
    if verdict in summary.rates:
        return summary.rates[verdict].value
    return 0.0 if summary.responses else None


def named_notes(table: Table) -> list[str]:
    """What a reader must know, of every run; with its name where there are several."""
    several = len(table.runs) > 1
    notes = [(f"{each.benchmark} · {each.model}: " * several, note) for each in table.runs for note in each.warnings]
    over = [] if table.repeats is None else [over_runs_line(table.repeats)]
    return list(dict.fromkeys([*over, *(name + note for name, note in notes)]))


def over_runs_line(made: Repeated) -> str:
    """The score of a setting over its runs, in one line."""
    parts = [("problems", made.from_problems), ("runs", made.from_runs), ("luck in samples", made.from_sampling)]
    if made.population == "these problems":
        del parts[0]
    errors = ", ".join(f"{name} {100 * error:.1f}" for name, error in parts)
    return (
        f"{len(made.runs)} runs of one setting: {made.metric} {100 * made.score.estimate:.1f} [{100 * made.score.low:.1f}, "
        f"{100 * made.score.high:.1f}] for {about(made.population)} and further runs; one run's score varies by "
        f"{100 * made.between_runs:.1f} beyond luck (standard deviation); standard errors of the mean from {errors}"
    )


def intervals(table: Table) -> str:
    """What the brackets are."""
    macro = f"; the macro average is about these {len(table.runs)} benchmarks and no others" if table.macro else ""
    return interval_of(table.runs[0].population) + macro


def interval_of(population: Population) -> str:
    """What an interval is about, as every format says it."""
    return f"95 % intervals for {about(population)}"


def about(population: Population) -> str:
    """The problems that a figure says something about."""
    words = {"these problems": "exactly these problems", "problems drawn": "problems like these"}
    return words.get(population, population)


def escape_latex(text: str) -> str:
    return "".join(f"\\{character}" if character in "&%$#_{}" else character for character in text)
