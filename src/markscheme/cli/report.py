"""`markscheme report`: make tables, plots and exports of one or more runs."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markscheme.cli import complain
from markscheme.cli.page import call
from markscheme.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from markscheme.api.results import Report
    from markscheme.reporting.summary import Summary
    from markscheme.reporting.table import Table
    from markscheme.runs.folder import Run


def run(args: argparse.Namespace) -> int:
    from markscheme.api.reports import report

    args.format = "json" if args.json else args.format
    made = call(report, args, pass_k=_numbers(args.pass_k, "-k"))
    complain_of_alterations(made.opened)
    if args.token_limits:
        return _token_limits(args, made)
    if args.series:
        return _series(args, made)
    _write_or_print(made.table, args.format, args.output, args.pivot)
    if args.plots:
        from markscheme.reporting.run_plots import write_plots

        files, left_out = write_plots(made.opened, made.runs, Path(args.plots), args.plot_format, args.plot_lines)
        for line in (*(f"wrote {file}" for file in files), *(f"{line}; --where selects others" for line in left_out)):
            complain(line)
    if args.save_results:
        _save_results(args.save_results, made.opened, made.runs[0].protocol)
    return 0 if args.fail_below is None else _fail_below(args.fail_below, made.runs)


def _token_limits(args: argparse.Namespace, made: Report) -> int:
    """Report the scores at smaller token limits instead of the usual figures."""
    from markscheme.reporting.run_plots import limits_figure
    from markscheme.reporting.token_limits import limits_text, print_limits, read_limits, token_limits

    limits, population = read_limits(args.token_limits), made.runs[0].population
    every = [token_limits(run, limits, args.protocol, population, args.tokenizer) for run in made.opened]
    figures = {"token-limits": lambda: limits_figure(every, made.runs)}
    return _other_report(args, every, limits_text, print_limits, figures)


def _series(args: argparse.Namespace, made: Report) -> int:
    """Report the scores over training steps instead of the usual figures."""
    from markscheme.reporting.series import print_series, series_figure, series_of, series_text

    between = _numbers(args.between, "--between") or ()
    if len(between) not in (0, 2):
        raise UsageError(f"--between takes two steps such as 100,400, not {args.between!r}")
    metric = args.metric[0] if args.metric else "accuracy"
    every = series_of(made.opened, metric, args.protocol, made.runs[0].population, between)
    figures = {f"series-{each.benchmark.replace('/', '-')}": partial(series_figure, each) for each in every}
    return _other_report(args, every, series_text, print_series, figures)


def _other_report(args: argparse.Namespace, every: Any, text: Any, show: Any, figures: Mapping[str, Any]) -> int:
    """Print or write one of the other reports, and its plots."""
    from markscheme.runs.folder import write_atomically

    form = args.format
    if form == "parquet" or (form == "table" and args.output):
        raise UsageError("this report can be written as markdown, json, csv or latex: add --format")
    if form == "table":
        for each in every:
            show(each)
    elif args.output:
        write_atomically(Path(args.output), text(every, form).encode())
    else:
        sys.stdout.write(text(every, form))
    if args.plots:
        from markscheme.reporting.plots import save

        Path(args.plots).mkdir(parents=True, exist_ok=True)
        for name, draw in figures.items():
            file = Path(args.plots) / f"{name}.{args.plot_format}"
            save(draw(), file)
            complain(f"wrote {file}")
    return 0


def _fail_below(percent: float, runs: Sequence[Summary]) -> int:
    """Return the exit code of a gate for the worst of these runs, by the intervals of the report."""
    from markscheme.reporting.gate import EXIT

    if not 0 <= percent <= 100:
        raise UsageError(f"--fail-below takes a percentage from 0 to 100, not {percent:g}")
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


def _write_or_print(table: Table, form: str, output: str | None, pivot: str | None) -> None:
    from markscheme.reporting.pivot import pivot_text
    from markscheme.reporting.report_text import print_comparison_table, print_pivot, print_summary
    from markscheme.reporting.sentence import FORMS, report_sentence
    from markscheme.reporting.table import TEXT_FORMATS, write_parquet
    from markscheme.reporting.terminal import print_sentence
    from markscheme.runs.folder import write_atomically

    if form == "parquet":
        if pivot:
            raise UsageError("--pivot cannot be used with --format parquet, which has one row per run")
        if output is None:
            raise UsageError("--format parquet needs -o FILE.parquet")
        write_parquet(table, Path(output))
    elif form != "table":
        text = pivot_text(table, pivot, form) if pivot else TEXT_FORMATS[form](table)
        if form in ("markdown", "latex") and (sentence := report_sentence(table)):
            text += f"\n{FORMS[form](sentence)}\n"
        if output is None:
            sys.stdout.write(text)
        else:
            write_atomically(Path(output), text.encode())
    elif output is not None:
        raise UsageError("-o needs --format markdown, json, csv, latex or parquet")
    else:
        if pivot:
            print_pivot(table, pivot)
        elif len(table.runs) == 1:
            print_summary(table.runs[0])
        else:
            print_comparison_table(table)
        print_sentence(report_sentence(table))


def _save_results(file: str, runs: Sequence[Run], protocol: str) -> None:
    from markscheme.reporting.results import save_results

    if len(runs) > 1:
        raise UsageError("--save-results takes one run: name only that run")
    written = save_results(runs[0], protocol, Path(file))
    complain(f"wrote {written} results to {file}")


def _numbers(text: str | None, flag: str) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        return tuple(int(word) for word in text.split(","))
    except ValueError:
        raise UsageError(f"{flag} takes whole numbers separated by commas, not {text!r}") from None
