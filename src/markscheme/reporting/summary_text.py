"""The report of one run, as printed at a terminal."""

from __future__ import annotations

from markscheme.pages.terminal import print_cells, print_notes, print_table, say, width
from markscheme.reporting.estimates import Estimate
from markscheme.reporting.figures import bar, conditions, figures_of, size, value_and_interval, variance_rows
from markscheme.reporting.sheets import Sheet
from markscheme.reporting.summary import Summary
from markscheme.reporting.table import group_rows, interval_of


def print_summary(summary: Summary) -> None:
    """Print one run: accuracy and pass@k with intervals, counts by verdict, groups, uncertainty and notes."""
    say((summary.benchmark, "bold"), f" · {summary.model} · {size(summary)} · protocol {summary.protocol}")
    if asked := conditions(summary):
        say(asked, style="dim")
    figures: list[list[str]] = []
    scores = {name: each for name, each in figures_of(summary).items() if name != "truncation"}
    # A single score needs no bar, and a narrow screen has no room for one next to the words.
    bars = len(scores) > 1 and not (width() < 100 and any(each.undefined for each in scores.values()))
    for name, estimate in scores.items():
        value, interval, *rest = [*value_and_interval(estimate), ""]
        figures.append([name, value, interval, "  ".join([bar(estimate), *rest] if bars else rest)])
    for verdict, rate in summary.rates.items():
        value, interval, *rest = [*value_and_interval(rate), ""] if rate.value is not None else ["–", ""]
        count = _verdict_count(summary, verdict, rate)
        figures.append([verdict, value, interval, "  ".join([count, *rest])])
    print_cells(figures, [""] * len(scores) + ["dim"] * len(summary.rates), right=1)
    say(interval_of(summary.population), style="dim")
    for field, groups in summary.groups.items():
        Sheet(f"accuracy by {field}, %", group_rows(field, groups)).print()
    if summary.variance is not None:
        print_table("sources of uncertainty, in points (s.e. = standard error)", variance_rows(summary.variance))
    print_notes(summary.warnings)
    say(f"run folder: {summary.run}")


def _verdict_count(summary: Summary, verdict: str, rate: Estimate) -> str:
    """Return `6 of 38 responses`, and say if the rate is another number because it is a mean over problems."""
    count = summary.verdicts[verdict]
    whole = sum(number for name, number in summary.verdicts.items() if name != "error" or verdict == "error")
    apart = rate.value is not None and abs(rate.value - count / max(1, whole)) >= 0.0005
    return f"{count:,} of {whole:,} responses{', averaged over problems' * apart}"
