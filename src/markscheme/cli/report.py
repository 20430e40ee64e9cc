"""`markscheme report`: the numbers of one run or many, as a table, a file or plots."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markscheme.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from markscheme.api.results import Report
    from markscheme.reporting.summary import Summary
    from markscheme.reporting.table import Table
    from markscheme.runs.folder import Run

FORMATS = ("table", "markdown", "json", "csv", "latex", "parquet")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folders, or folders that hold some")
    parser.add_argument("--protocol", metavar="NAME", help="of the protocols the runs are marked with")
    parser.add_argument("-k", "--pass-k", metavar="K,K…", help="report pass@k for these k")
    parser.add_argument(
        "--metric",
        action="append",
        default=[],
        metavar="NAME",
        help="also report maj@K, pass^K, g-pass@K:TAU, or best-of-K:SCORE by a number of each response (:-SCORE: the "
        "lowest); may be repeated",
    )
    parser.add_argument(
        "--these-problems", action="store_true", help="intervals for exactly these problems, nothing about others"
    )
    parser.add_argument(
        "--whole-benchmark",
        action="store_true",
        help="of a run with --limit and --limit-seed: intervals for the benchmark that its problems were drawn from",
    )
    parser.add_argument(
        "--cluster", metavar="FIELD", help="problems that share this field (contest, template) are not independent"
    )
    parser.add_argument(
        "--errata", metavar="FILE", help="golds known to be wrong, beside those that come with the package: JSON lines"
    )
    parser.add_argument(
        "--repeats",
        action="store_true",
        help="the runs are repeats of one setting (other seeds, servers, prompts): their mean, for further runs too",
    )
    parser.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="SETTING=VALUE",
        help="only runs with this benchmark, model, temperature, max_tokens …; several values with commas; may be repeated",
    )
    parser.add_argument(
        "--pivot",
        nargs="?",
        const="accuracy",
        metavar="FIGURE",
        help="one table with models and settings down and benchmarks across, of accuracy or of this figure",
    )
    _add_writing(parser)


def _add_writing(parser: argparse.ArgumentParser) -> None:
    """What is written, and which other reports there are."""
    parser.add_argument("--format", choices=FORMATS, default="table", help="form of the report (default: table)")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the report there instead of printing it")
    parser.add_argument("--plots", metavar="DIR", help="also write plots there (needs markscheme[plots])")
    parser.add_argument("--plot-format", choices=("png", "svg", "pdf"), default="png", help="form of the plots")
    parser.add_argument(
        "--plot-lines",
        type=int,
        default=12,
        metavar="N",
        help="runs in one plot, those with the best scores (default: 12)",
    )
    parser.add_argument("--save-results", metavar="FILE", help="also write every response in full detail as JSON lines")
    parser.add_argument(
        "--token-limits",
        metavar="N,N…",
        help="what the run would have been at smaller token limits (1k,2k,4k; 1k is 1024): responses are cut and marked again",
    )
    parser.add_argument("--tokenizer", metavar="NAME|FILE", help="with --token-limits: whose tokens they are")
    parser.add_argument("--series", action="store_true", help="scores over the training steps of runs with a step")
    parser.add_argument(
        "--between",
        metavar="STEP,STEP",
        help="with --series: problems learnt and forgotten between these (default: first, last)",
    )
    parser.add_argument(
        "--fail-below",
        type=float,
        metavar="PERCENT",
        help="exit with 4 where accuracy is shown to be lower, with 5 where its interval leaves it open",
    )
    parser.add_argument("--json", action="store_true", help="the same as --format json")


def run(args: argparse.Namespace) -> int:
    from markscheme.api.reports import report

    options = {
        name: getattr(args, name)
        for name in ("protocol", "metric", "these_problems", "whole_benchmark", "cluster", "errata", "repeats")
    }
    made = report(*args.runs, pass_k=_pass_k(args.pass_k), where=args.where, **options)
    tell_alterations(made.opened)
    if args.token_limits:
        return _token_limits(args, made)
    if args.series:
        return _series(args, made)
    _write_or_print(made.table, "json" if args.json else args.format, args.output, args.pivot)
    if args.plots:
        from markscheme.reporting.run_plots import write_plots

        files, left_out = write_plots(made.opened, made.runs, Path(args.plots), args.plot_format, args.plot_lines)
        for line in (*(f"wrote {file}" for file in files), *(f"{line}; --where chooses others" for line in left_out)):
            print(line, file=sys.stderr)
    if args.save_results:
        _save_results(args.save_results, made.opened, made.runs[0].protocol)
    return 0 if args.fail_below is None else _fail_below(args.fail_below, made.runs)


def _token_limits(args: argparse.Namespace, made: Report) -> int:
    """The report of smaller limits, in the place of the usual one."""
    from markscheme.reporting.run_plots import limits_figure
    from markscheme.reporting.token_limits import limits_text, print_limits, read_limits, token_limits

    limits, population = read_limits(args.token_limits), made.runs[0].population
    every = [token_limits(run, limits, args.protocol, population, args.tokenizer) for run in made.opened]
    figures = {"token-limits": lambda: limits_figure(every, made.runs)}
    return _other_report(args, every, limits_text, print_limits, figures)


def _series(args: argparse.Namespace, made: Report) -> int:
    """The report over training steps, in the place of the usual one."""
    from markscheme.reporting.series import print_series, series_figure, series_of, series_text

    between = _pass_k(args.between) or ()
    if len(between) not in (0, 2):
        raise UsageError(f"--between takes two steps such as 100,400, not {args.between!r}")
    metric = args.metric[0] if args.metric else "accuracy"
    every = series_of(made.opened, metric, args.protocol, made.runs[0].population, between)
    figures = {f"series-{each.benchmark.replace('/', '-')}": partial(series_figure, each) for each in every}
    return _other_report(args, every, series_text, print_series, figures)


def _other_report(args: argparse.Namespace, every: Any, text: Any, show: Any, figures: Mapping[str, Any]) -> int:
    """Print or write a report that is not the usual one, and its plots."""
    from markscheme.runs.folder import write_atomically

    form = "json" if args.json else args.format
    if form == "parquet" or (form == "table" and args.output):
        raise UsageError("this report is written as markdown, json, csv or latex; choose one with --format")
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
            print(f"wrote {file}", file=sys.stderr)
    return 0


def _fail_below(percent: float, runs: Sequence[Summary]) -> int:
    """The short form of a gate: its exit code for the worst of these runs, by the intervals that the report shows."""
    from markscheme.cli import complain
    from markscheme.reporting.gate import EXIT

    if not 0 <= percent <= 100:
        raise UsageError(f"--fail-below is in percent, from 0 to 100, not {percent:g}")
    codes = []
    for each in runs:
        low, high = ((bound if bound is not None else -1.0) * 100 for bound in (each.accuracy.low, each.accuracy.high))
        decision = "pass" if low >= percent else "fail" if high < percent else "inconclusive"
        codes.append(EXIT[decision])
        complain(f"{each.benchmark} · {each.model}: accuracy of at least {percent:g} %: {decision}")
    return next((code for code in (4, 5) if code in codes), 0)


def tell_alterations(runs: Sequence[Run]) -> None:
    """One line for each folder that no longer matches its own digests."""
    from markscheme.cli import complain
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
            raise UsageError("--pivot is for people to read; Parquet has one row a run without it")
        if output is None:
            raise UsageError("Parquet is not for the screen: say where with -o FILE.parquet")
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
        raise UsageError("a table is for the screen; choose --format markdown, json, csv, latex or parquet for a file")
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
        raise UsageError("--save-results takes one run at a time; name just that run")
    written = save_results(runs[0], protocol, Path(file))
    print(f"wrote {written} results to {file}", file=sys.stderr)


def _pass_k(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        return tuple(int(word) for word in text.split(","))
    except ValueError:
        raise UsageError(f"-k takes whole numbers such as 1,4,16, not {text!r}") from None
