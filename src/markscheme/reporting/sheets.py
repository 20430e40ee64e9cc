"""Tables as rows of named cells, written as Markdown, LaTeX, CSV or JSON, or printed at a terminal."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from markscheme.reporting.estimates import Estimate
from markscheme.reporting.figures import bounds, plus_minus
from markscheme.reporting.terminal import console, literal, print_wide
from markscheme.statistics import Interval

Show = Callable[[Estimate], str]


class Sheet(NamedTuple):
    """A table whose figures every format renders in its own way."""

    title: str
    rows: Callable[[Show], Sequence[Mapping[str, str]]]
    labels: int = 1  # leading columns of plain text, which identify a row
    notes: Sequence[str] = ()
    extra: bool = False  # a comment in LaTeX, where one table is wanted


def sheets_text(sheets: Sequence[Sheet], form: str) -> str:
    """Return the tables as Markdown or LaTeX, notes last."""
    lines: list[str] = []
    if form == "latex":
        for sheet in sheets:
            rows = sheet.rows(plus_minus)
            lines += [f"% {line}" for line in (sheet.title, *sheet.notes) if line]
            if sheet.extra:
                lines += [f"% {', '.join(f'{name} {cell}' for name, cell in row.items())}" for row in rows]
            else:
                lines += latex_table(rows, sheet.labels)
        return "\n".join(lines) + "\n"
    for sheet in sheets:
        lines += [f"{sheet.title}:", ""] if sheet.title else []
        lines += [*markdown_table(sheet.rows(bounds)), ""]
    lines += [f"- {note}" for sheet in sheets for note in sheet.notes]
    return "\n".join(lines).rstrip() + "\n"


def print_sheet(sheet: Sheet) -> None:
    """Print one table at a terminal, in parts if it is too wide."""
    print_wide(sheet.title, sheet.rows(bounds), sheet.labels)
    for line in sheet.notes:
        console().print(literal(line), style="dim", soft_wrap=True)


def markdown_table(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    lines = [list(rows[0]), ["---"] * len(rows[0]), *(list(row.values()) for row in rows)]
    return [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines]


def latex_table(rows: Sequence[Mapping[str, str]], texts: int) -> list[str]:
    """Return a whole `tabular`; the first columns are plain text, the others may hold mathematics."""
    names = list(rows[0])
    lines = [r"% needs \usepackage{booktabs}", rf"\begin{{tabular}}{{{'l' * texts}{'r' * (len(names) - texts)}}}"]
    lines += [r"\toprule", _latex_row(map(escape_latex, names)), r"\midrule"]
    for row in rows:
        cells = list(row.values())
        lines.append(_latex_row([*map(escape_latex, cells[:texts]), *cells[texts:]]))
    return [*lines, r"\bottomrule", r"\end{tabular}"]


def _latex_row(cells: Any) -> str:
    return " & ".join(cells).replace("×", r"$\times$") + r" \\"


def escape_latex(text: str) -> str:
    """Escape the characters that LaTeX treats as commands."""
    return "".join(f"\\{character}" if character in "&%$#_{}" else character for character in text)


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows with the same columns as comma-separated text."""
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def json_text(value: object) -> str:
    """Return an indented JSON document."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


def flat(name: str, figure: Estimate | Interval) -> dict[str, float | None]:
    """Return a figure as three columns: value, low and high."""
    value = figure.value if isinstance(figure, Estimate) else figure.estimate
    return {name: value, f"{name}_low": figure.low, f"{name}_high": figure.high}
