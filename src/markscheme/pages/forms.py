"""Rows and values as text: Markdown, LaTeX, CSV and JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec


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
