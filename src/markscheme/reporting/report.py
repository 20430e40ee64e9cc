"""`Report`: the figures of one or several runs as a result, with a repr of one screen, HTML, data frames and plots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markscheme.errors import UsageError, counted
from markscheme.pages.frames import Columns, Listing, Result, Rows
from markscheme.pages.parts import Part
from markscheme.reporting.estimates import Estimate
from markscheme.reporting.figures import drawn, figures_of
from markscheme.reporting.plots import distinct
from markscheme.reporting.sheets import TEXT_FORMATS
from markscheme.reporting.summary import Summary
from markscheme.reporting.table import Table, document, flat_kinds, flat_rows, intervals, named_notes, shown_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from markscheme.runs.folder import Run

MOST_NOTES = 6  # notes in the repr of a report


class Report(Result):
    """The figures of one or several runs, with the macro average if they are of different benchmarks."""

    def __init__(self, table: Table, runs: Sequence[Run]) -> None:
        self.table, self.opened = table, runs

    @property
    def runs(self) -> list[Summary]:
        """One summary per run."""
        return self.table.runs

    @property
    def macro(self) -> dict[str, Estimate]:
        """The mean over benchmarks of each figure that all of them have."""
        return self.table.macro

    @property
    def accuracy(self) -> Estimate:
        """The accuracy of the only run."""
        return self.figures["accuracy"]

    @property
    def figures(self) -> dict[str, Estimate]:
        """Accuracy, pass@k and other metrics of the only run, by name."""
        if len(self.runs) > 1:
            raise UsageError("this report has several runs; use report.runs and report.macro")
        return figures_of(self.runs[0])

    @property
    def sentence(self) -> str:
        """A sentence about the figures for a paper, with interval, protocol and version, and what they do not show."""
        from markscheme.reporting.sentence import report_sentence

        return report_sentence(self.table)

    def groups(self) -> Listing:
        """Return the accuracy by subject, level, contest part … of each run that has them."""
        rows = [
            {"run": each.run, "benchmark": each.benchmark, "model": each.model, "field": field, "group": name}
            | {"problems": part.problems, "accuracy": part.value, "low": part.low, "high": part.high}
            for each in self.runs
            for field, parts in each.groups.items()
            for name, part in parts.items()
        ]
        texts = dict.fromkeys(("run", "benchmark", "model", "field", "group"), str)
        return Listing(rows, {**texts, "problems": int, "accuracy": float, "low": float, "high": float})

    def rows(self) -> Rows:
        """Return the rows of `report --format csv`."""
        return flat_rows(self.table)

    def columns(self) -> Columns:
        """Return the type of each column."""
        return flat_kinds(self.table)

    def content(self) -> Table:
        """Return what `report --json` prints."""
        return self.table

    def text(self, form: str = "markdown", pivot: str | None = None) -> str:
        """Return the report as Markdown, LaTeX, CSV or JSON; `pivot="accuracy"` has one column per benchmark."""
        from markscheme.reporting.pivot import pivot as pivoted

        if form not in TEXT_FORMATS:
            return super().text(form)  # which refuses it
        return (pivoted(self.table, pivot) if pivot else document(self.table)).text(form)

    def plot(self) -> Figure:
        """Plot pass@k against k with its interval, one line per run."""
        from markscheme.reporting.run_plots import pass_at_k_figure

        return pass_at_k_figure(self.opened, self.runs)

    def __iter__(self) -> Iterator[Summary]:
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.runs)

    def page(self) -> Iterator[Part]:
        """Yield the figures and the notes, of which a repr has the first."""
        if len(self.runs) == 1:
            (only,) = self.runs
            size = f"{only.problems} problems × {only.samples} samples"
            yield Part("title", f"{only.benchmark} · {only.model} · {size} · {only.protocol}")
            figures = figures_of(only)
            yield Part("table", [{"figure": name, "%": drawn(each)} for name, each in figures.items()])
        else:
            rows = [dict(row) for row in shown_rows(self.table, drawn)]
            for row in rows:  # pass@1 is the accuracy, and a line has little space
                row.pop("pass@1", None)
            yield Part("table", self._told_apart(rows))
        yield Part("text", f"percent, with {intervals(self.table)}")
        notes = named_notes(self.table)
        yield from (Part("text", f"note: {note}") for note in notes[:MOST_NOTES])
        if len(notes) > MOST_NOTES:
            yield Part("text", f"… and {counted(len(notes) - MOST_NOTES, 'more note')}: report.text()")

    def _told_apart(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Add the names of the folders if two runs have the same benchmark and model."""
        if len({(each.benchmark, each.model) for each in self.runs}) == len(self.runs):
            return rows
        names = distinct([Path(each.run).name for each in self.runs], [each.run for each in self.runs])
        return [{"run": name, **row} for name, row in zip([*names, ""], rows, strict=False)]
