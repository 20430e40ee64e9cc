"""Several runs as one table, with the macro average where they are different benchmarks.

A row is a run; formats are Markdown, CSV, Parquet, LaTeX and JSON. Shares are 0 to 1 in data formats and percent where
a person reads.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from markscheme.errors import UsageError, needed
from markscheme.reporting.estimates import Estimate, as_estimate
from markscheme.reporting.figures import bounds, figures_of, plus_minus, size, variance_rows
from markscheme.reporting.settings import columns, differing, names_tell_models, run_names, settings_of
from markscheme.reporting.summary import RATES, Summary
from markscheme.runs.usage import Usage
from markscheme.statistics import Interval, Population, macro
from markscheme.statistics.repeats import Repeated

Rows = list[dict[str, Any]]
T = TypeVar("T")


class Column(NamedTuple):
    """A column of CSV, Parquet and data frames beside the figures."""

    name: str
    kind: Any  # `str` or `int`, and `int | None` where whole numbers may be missing
    value: Callable[[Summary], Any]
    shown: bool = False  # also where people read: on the terminal, in Markdown, LaTeX and notebooks


def _used(summary: Summary) -> Usage:
    return summary.usage or Usage()


def _of(part: str, name: str) -> Callable[[Summary], Any]:
    """A number of a part that only some summaries have; of an estimate its value."""

    def value(summary: Summary) -> Any:
        found = getattr(getattr(summary, part), name, None)
        return found.value if isinstance(found, Estimate) else found

    return value


# Columns before the figures, from left to right.
FIRST = (
    *(Column(name, str, attrgetter(name)) for name in ("run", "benchmark", "model", "protocol")),
    *(Column(name, int | None, attrgetter(name)) for name in ("problems", "samples", "responses")),
    Column("missing", int | None, attrgetter("missing"), shown=True),
    *(Column(name, str, attrgetter(name)) for name in ("population", "cluster")),
)
# Columns behind the figures.
LAST = (
    Column("prompt_tokens", int | None, lambda summary: _used(summary).prompt_tokens),
    Column("completion_tokens", int | None, lambda summary: _used(summary).completion_tokens),
    Column("cached_tokens", int | None, lambda summary: _used(summary).cached_tokens),
    *(Column(f"tool_{name}", float, _of("tools", name)) for name in ("calls", "used", "failed", "tokens", "cut_off")),
    *(Column(name, float, _of("doubted", name)) for name in ("right_at_once", "mended", "spoiled")),
    Column("cost", float, lambda summary: _used(summary).cost),
    Column("seconds", float, attrgetter("seconds")),
    Column("first_token", float, lambda summary: first.p50 if (first := _used(summary).first_token) else None),
    Column("tokens_per_second", float, lambda summary: _used(summary).tokens_per_second),
    Column("data_sha256", str, lambda summary: " ".join(summary.data.values())),
    Column("notes", str, lambda summary: "; ".join(summary.warnings)),
)
SIZE = "problems × samples"
MOST_NOTES = 3  # runs that tell a note of one kind each by itself
MOST_IN_FULL = 4  # runs of which each has its table of uncertainties
SHOWN = [column for column in (*FIRST, *LAST) if column.shown]


class Table(msgspec.Struct, frozen=True):
    """What `report --format json` prints: every run, and the mean over benchmarks that weighs each the same."""

    runs: list[Summary]
    macro: dict[str, Estimate]
    repeats: Repeated | None = None  # set where the runs are repeats of one setting
    differing: list[str] = []  # the settings in which the runs differ: each is a column


def make_table(summaries: Sequence[Summary], repeats: Repeated | None = None) -> Table:
    """The table of some runs. The macro average is there for two benchmarks or more, asked of one model."""
    benchmarks = [summary.benchmark for summary in summaries]
    several = len(benchmarks) > 1 and len(set(benchmarks)) == len(benchmarks)
    one_model = len({summary.model for summary in summaries}) == 1
    macro = macro_average(summaries) if several and one_model else {}
    return Table(list(summaries), macro, repeats, differing(summaries))


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

    rows: list[dict[str, str | T]] = []
    for summary in table.runs:
        count = f"{summary.problems} × {summary.samples}{' on average' * bool(summary.until)}"
        first = {**named(summary, table), SIZE: count}
        rows.append(row(first, figures_of(summary), {each.name: _cell(each.value(summary)) for each in SHOWN}))
    if table.macro:
        empty = dict.fromkeys([*named(table.runs[0], table), SIZE], "")
        rows.append(row({**empty, "benchmark": "macro average"}, table.macro, {each.name: "" for each in SHOWN}))
    return rows


def named(summary: Summary, table: Table) -> dict[str, str]:
    """What tells a row from the others: benchmark, model, and the settings that differ."""
    cells = columns(summary, table.differing)
    model = cells.pop("name") if "name" in cells and names_tell_models(table.runs) else summary.model
    return {"benchmark": summary.benchmark, "model": model, **cells}


def specs(table: Table) -> list[str]:
    """Which model each name stands for, where the names are in the place of the specs."""
    if "name" not in table.differing or not names_tell_models(table.runs):
        return []
    return list(dict.fromkeys(f"{summary.settings['name']} is {summary.model}" for summary in table.runs))


def flat_rows(table: Table) -> Rows:
    """One flat record a run, for CSV and Parquet, the macro average last; every row has the same columns."""
    names = _columns(table)
    rows = []
    for summary in table.runs:
        row: dict[str, Any] = {column.name: column.value(summary) for column in FIRST}
        row |= {name: _flat_value(value) for name, value in settings_of(summary).items() if name in table.differing}
        row |= {f"rate_{verdict}": _rate(summary, verdict) for verdict in RATES}
        row |= _flat(figures_of(summary), names)
        rows.append(row | {column.name: column.value(summary) for column in LAST})
    if table.macro:
        average = {"run": "macro average", "model": table.runs[0].model, "population": table.runs[0].population}
        rows.append(dict.fromkeys(rows[0]) | average | _flat(table.macro, names))
    return rows


def flat_kinds(table: Table) -> dict[str, Any]:
    """The type of each column of `flat_rows`: figures are shares, and stand on a number of problems."""
    kinds: dict[str, Any] = {name: int | None if name.endswith("_problems") else float for name in flat_rows(table)[0]}
    for name in table.differing:
        numbers = [value for run in table.runs if (value := settings_of(run)[name]) is not None]
        kinds[name] = float if all(isinstance(value, int | float) for value in numbers) else str
    return kinds | {column.name: column.kind for column in (*FIRST, *LAST)}


def _flat_value(value: Any) -> Any:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else value


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
    for summary, name in zip(table.runs, _names(table), strict=True):
        for field, parts in summary.groups.items():
            rows = [
                {field: part, "problems": str(each.problems), "accuracy": bounds(each)} for part, each in parts.items()
            ]
            lines += ["", f"{name}, accuracy by {field}:", "", *markdown_table(rows)]
        if summary.variance is not None and len(table.runs) <= MOST_IN_FULL:
            lines += ["", f"{name}, what the uncertainty is made of (points):", ""]
            lines += markdown_table(variance_rows(summary.variance))
    lines += ["", f"Percent, with {intervals(table)}.", ""]
    lines += [f"- {line}" for line in below(table)]
    return "\n".join([*lines, *(f"- note: {line}" for line in named_notes(table))]) + "\n"


def markdown_table(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """The lines of a Markdown table, a row a mapping."""
    lines = [list(rows[0]), ["---"] * len(rows[0]), *(list(row.values()) for row in rows)]
    return [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines]


def to_latex(table: Table) -> str:
    """One row a run, in a table with the rules of booktabs; what the rows stand on is in comments."""
    rows = shown_rows(table, plus_minus)
    for row in rows:
        row["model"] = row["model"] or table.runs[0].model
        row[SIZE] = f"${row[SIZE].replace(' on average', '')}$".replace("$$", "")
    lines = [f"% {intervals(table)}", *(f"% {line}" for line in below(table))]
    for summary in table.runs if len(table.runs) <= MOST_IN_FULL else ():
        for each in variance_rows(summary.variance) if summary.variance else ():
            lines.append(f"% uncertainty: {', '.join(f'{name} {value}' for name, value in each.items())}")
    lines += latex_table(rows, len(named(table.runs[0], table)))
    return "\n".join([*lines, *(f"% note: {line}" for line in named_notes(table))]) + "\n"


def latex_table(rows: Sequence[Mapping[str, str]], texts: int) -> list[str]:
    """A whole `tabular`; the first columns are plain text, the others hold mathematics."""
    names = list(rows[0])
    lines = [r"% needs \usepackage{booktabs}", rf"\begin{{tabular}}{{{'l' * texts}{'r' * (len(names) - texts)}}}"]
    lines += [
        r"\toprule",
        " & ".join(escape_latex(name) for name in names).replace("×", r"$\times$") + r" \\",
        r"\midrule",
    ]
    for row in rows:
        cells = list(row.values())
        cells[:texts] = map(escape_latex, cells[:texts])
        lines.append(" & ".join(cells).replace("×", r"\times") + r" \\")
    return [*lines, r"\bottomrule", r"\end{tabular}"]


def to_csv(table: Table) -> str:
    """Comma-separated, shares from 0 to 1, empty where undefined."""
    return csv_text(flat_rows(table))


def csv_text(rows: Rows) -> str:
    """Rows with the same columns as comma-separated text."""
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


def below(table: Table) -> list[str]:
    """What stands below a table: what the rows stand on, which models the names are, and what all runs took together."""
    lines = [*dict.fromkeys(provenance(table.runs)), "; ".join(specs(table)), totals(table)]
    return [line for line in lines if line]


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
    """What a reader must know, of every run; notes that differ only in their numbers are told once, with an example."""
    over = [] if table.repeats is None else [over_runs_line(table.repeats)]
    if len(table.runs) == 1:
        return [*over, *dict.fromkeys(table.runs[0].warnings)]
    alike: dict[str, list[tuple[str, str]]] = {}
    for each, name in zip(table.runs, _names(table), strict=True):
        for note in dict.fromkeys(each.warnings):
            alike.setdefault(re.sub(r"\d[\d.,]*| such as .*", "", note), []).append((name, note))
    told = []
    for group in alike.values():
        (name, note), count = group[0], len(group)
        if len({text for _, text in group}) == 1:
            told.append(f"{name if count == 1 else f'{count} runs'}: {note}")
        elif count <= MOST_NOTES:
            told += [f"{name}: {note}" for name, note in group]
        else:
            told.append(f"{count} runs, among them {name}: {note}")
    return [*over, *told]


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


def _names(table: Table) -> list[str]:
    return run_names(table.runs, [summary.run for summary in table.runs], full=True)


def totals(table: Table) -> str:
    """What several runs took together: `24 runs, 1,234,567 tokens, $12.30`."""
    used = [summary.usage for summary in table.runs if summary.usage is not None]
    if len(table.runs) < 2 or not used:
        return ""
    parts = [f"{len(table.runs)} runs", f"{sum(run.responses for run in table.runs):,} responses"]
    if tokens := sum((each.prompt_tokens or 0) + (each.completion_tokens or 0) for each in used):
        parts.append(f"{tokens:,} tokens")
    if any(each.cost is not None for each in used):
        unknown = sum(run.usage is None or run.usage.cost is None for run in table.runs)
        parts.append(
            f"${sum(each.cost or 0 for each in used):,.2f}{f' ({unknown} without a price)' if unknown else ''}"
        )
    return ", ".join(parts)


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
    """A text in which no character means anything to LaTeX."""
    return "".join(f"\\{character}" if character in "&%$#_{}" else character for character in text)
