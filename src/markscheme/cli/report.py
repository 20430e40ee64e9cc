"""`markscheme report`: make tables, plots and exports of one or more runs."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from markscheme.cli import complain
from markscheme.cli.page import call
from markscheme.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from matplotlib.figure import Figure

    from markscheme.reporting.report import Report
    from markscheme.reporting.sheets import Document
    from markscheme.reporting.summary import Summary
    from markscheme.reporting.table import Table
    from markscheme.runs.folder import Run

    Figures = Mapping[str, Callable[[], Figure]]


def run(args: argparse.Namespace) -> int:
    from markscheme.api.reports import report

    args.format = "json" if args.json else args.format
    if args.fail_below is not None and not 0 <= args.fail_below <= 100:
        raise UsageError(f"--fail-below takes a percentage from 0 to 100, not {args.fail_below:g}")
    made = call(report, args, pass_k=_numbers(args.pass_k, "-k"))
    if args.save_results and len(made.opened) > 1:
        raise UsageError("--save-results takes one run: name only that run")
    complain_of_alterations(made.opened)
    if args.token_limits or args.series:
        document, figures = _token_limits(args, made) if args.token_limits else _series(args, made)
        if args.format == "parquet":
            raise UsageError("this report can be written as markdown, json, csv or latex: add --format")
        _write_or_print(document, args)
        _save_figures(figures if args.plots else {}, args)
        return 0
    _report(made.table, args)
    if args.plots:
        from markscheme.reporting.run_plots import write_plots

        files, left_out = write_plots(made.opened, made.runs, Path(args.plots), args.plot_format, args.plot_lines)
        for line in (*(f"wrote {file}" for file in files), *(f"{line}; --where selects others" for line in left_out)):
            complain(line)
    if args.save_results:
        _save_results(args.save_results, made.opened, made.runs[0].protocol)
    return 0 if args.fail_below is None else _fail_below(args.fail_below, made.runs)


def _token_limits(args: argparse.Namespace, made: Report) -> tuple[Document, Figures]:
    """Return the scores at smaller token limits instead of the usual figures."""
    from markscheme.reporting.run_plots import limits_figure
    from markscheme.reporting.token_limits import document, read_limits, token_limits

    limits, population = read_limits(args.token_limits), made.runs[0].population
    every = [token_limits(run, limits, args.protocol, population, args.tokenizer) for run in made.opened]
    return document(every), {"token-limits": lambda: limits_figure(every, made.runs)}


def _series(args: argparse.Namespace, made: Report) -> tuple[Document, Figures]:
    """Return the scores over training steps instead of the usual figures."""
    from markscheme.reporting.series import document, series_figure, series_of

    between = _numbers(args.between, "--between") or ()
    if len(between) not in (0, 2):
        raise UsageError(f"--between takes two steps such as 100,400, not {args.between!r}")
    metric = args.metric[0] if args.metric else "accuracy"
    every = series_of(made.opened, metric, args.protocol, made.runs[0].population, between)
    figures = {f"series-{each.benchmark.replace('/', '-')}": partial(series_figure, each) for each in every}
    return document(every), figures


def _save_figures(figures: Figures, args: argparse.Namespace) -> None:
    from markscheme.reporting.plots import save

    for name, draw in figures.items():
        Path(args.plots).mkdir(parents=True, exist_ok=True)
        file = Path(args.plots) / f"{name}.{args.plot_format}"
        save(draw(), file)
        complain(f"wrote {file}")


def _report(table: Table, args: argparse.Namespace) -> None:
    """Write or print the usual figures."""
    from markscheme.pages.terminal import print_sentence
    from markscheme.reporting.pivot import pivot
    from markscheme.reporting.report_text import print_comparison_table
    from markscheme.reporting.sentence import report_sentence
    from markscheme.reporting.summary_text import print_summary
    from markscheme.reporting.table import document, write_parquet

    if args.format == "parquet":
        if args.pivot:
            raise UsageError("--pivot cannot be used with --format parquet, which has one row per run")
        if args.output is None:
            raise UsageError("--format parquet needs -o FILE.parquet")
        write_parquet(table, Path(args.output))
    elif args.pivot or args.format != "table" or args.output is not None:
        made = pivot(table, args.pivot) if args.pivot else document(table)
        _write_or_print(made._replace(sentences=[report_sentence(table)]), args)
    else:
        if len(table.runs) == 1:
            print_summary(table.runs[0])
        else:
            print_comparison_table(table)
        print_sentence(report_sentence(table))


def _write_or_print(document: Document, args: argparse.Namespace) -> None:
    from markscheme.runs.folder import write_atomically

    if args.format != "table":
        text = document.text(args.format, sentences=True)
        if args.output is None:
            sys.stdout.write(text)
        else:
            write_atomically(Path(args.output), text.encode())
    elif args.output is not None:
        raise UsageError("-o needs --format markdown, json, csv, latex or parquet")
    else:
        document.print()


def _fail_below(percent: float, runs: Sequence[Summary]) -> int:
    """Return the exit code of a gate for the worst of these runs, by the intervals of the report."""
    from markscheme.reporting.gate import EXIT

    codes = []
    for each in runs:
        low, high = ((bound if bound is not None else -1.0) * 100 for bound in (each.accuracy.low, each.accuracy.high))
        decision = "pass" if low >= percent else "fail" if high < percent else "inconclusive"
        codes.append(EXIT[decision])
        complain(f"{each.benchmark} · {each.model}: accuracy of at least {percent:g} %: {decision}")
    return next((code for code in (4, 5) if code in codes), 0)


def complain_of_alterations(runs: Sequence[Run]) -> None:
    """Name each folder that no longer matches its own digests."""
    from markscheme.runs.digests import alteration_line

    for each in runs:
        if line := alteration_line(each.path, each.manifest):
            complain(line)


def _save_results(file: str, runs: Sequence[Run], protocol: str) -> None:
    from markscheme.reporting.results import save_results

    written = save_results(runs[0], protocol, Path(file))
    complain(f"wrote {written} results to {file}")


def _numbers(text: str | None, flag: str) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        return tuple(int(word) for word in text.split(","))
    except ValueError:
        raise UsageError(f"{flag} takes whole numbers separated by commas, not {text!r}") from None
