"""Reports as tables of named cells: printed at a terminal, or written as Markdown, LaTeX, CSV or JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from markscheme.pages.forms import csv_text, escape_latex, json_text, latex_table, markdown_table
from markscheme.pages.terminal import print_notes, print_sentence, print_wide, say
from markscheme.reporting.estimates import Estimate
from markscheme.reporting.figures import bounds, plus_minus
from markscheme.statistics import Interval

Show = Callable[[Estimate], str]
Rows = list[dict[str, Any]]
TEXT_FORMATS = ("markdown", "json", "csv", "latex")


class Sheet(NamedTuple):
    """A table whose figures every format renders in its own way."""

    title: str
    rows: Callable[[Show], Sequence[Mapping[str, str]]]
    labels: int = 1  # leading columns of plain text, which identify a row
    notes: Sequence[str] = ()  # what the table is about
    warnings: Sequence[str] = ()  # what a reader must know before quoting a figure
    extra: bool = False  # a comment in LaTeX, where one table is wanted

    @property
    def below(self) -> list[str]:
        """All lines below the table."""
        return [*self.notes, *(f"note: {line}" for line in self.warnings)]

    def print(self) -> None:
        """Print the table at a terminal, in parts if it is too wide."""
        print_wide(self.title, self.rows(bounds), self.labels)
        for line in self.notes:
            say(line, style="dim")
        print_notes(self.warnings)


class Document(NamedTuple):
    """A report in every format."""

    sheets: Sequence[Sheet]  # for people
    flat: Callable[[], Rows]  # the rows of CSV
    value: Any  # the content of JSON
    sentences: Sequence[str] = ()  # for a paper

    def print(self) -> None:
        """Print the tables and sentences at a terminal."""
        for sheet in self.sheets:
            sheet.print()
        for sentence in self.sentences:
            print_sentence(sentence)

    def text(self, form: str, *, sentences: bool = False) -> str:
        """Return the report in one of `TEXT_FORMATS`; `sentences` are for Markdown and LaTeX."""
        if form == "json":
            return json_text(self.value)
        if form == "csv":
            return csv_text(self.flat())
        lines = self._latex() if form == "latex" else self._markdown()
        said = "".join(f"\n{FORMS[form](each)}\n" for each in self.sentences if each and sentences)
        return "\n".join(lines).rstrip() + "\n" + said

    def _latex(self) -> Iterator[str]:
        for sheet in self.sheets:
            rows = sheet.rows(plus_minus)
            yield from (f"% {line}" for line in (sheet.title, *sheet.below) if line)
            if sheet.extra:
                yield from (f"% {', '.join(f'{name} {cell}' for name, cell in row.items())}" for row in rows)
            else:
                yield from latex_table(rows, sheet.labels)

    def _markdown(self) -> Iterator[str]:
        for sheet in self.sheets:
            yield from (f"{sheet.title}:", "") if sheet.title else ()
            yield from (*markdown_table(sheet.rows(bounds)), "")
        yield from (f"- {line}" for sheet in self.sheets for line in sheet.below)


# How a sentence is written in each format.
FORMS: dict[str, Callable[[str], str]] = {
    "text": lambda text: text,
    "markdown": lambda text: text.replace("_", r"\_").replace("*", r"\*"),
    "latex": lambda text: (
        re.sub(r"`([^`]*)`", r"\\texttt{\1}", escape_latex(text))
        .replace(" \\%", r"\,\%")
        .replace("−", "$-$")
        .replace("×", r"$\times$")
    ),
}


def flat(name: str, figure: Estimate | Interval) -> dict[str, float | None]:
    """Return a figure as three columns: value, low and high."""
    value = figure.value if isinstance(figure, Estimate) else figure.estimate
    return {name: value, f"{name}_low": figure.low, f"{name}_high": figure.high}
