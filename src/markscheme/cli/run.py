"""`markscheme run`: ask a model every question, mark every response, report."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from markscheme.cli.options import add_run_options, config_from
from markscheme.errors import UsageError

EXIT_INCOMPLETE = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Benchmarks, the model, and every option of a run."""
    parser.add_argument(
        "benchmarks",
        nargs="+",
        metavar="BENCHMARK",
        help="names from `markscheme list`, paths of .jsonl files, or `all` (which leaves AIME out)",
    )
    parser.add_argument("--model", "-m", required=True, metavar="SPEC", help="backend/model, see `markscheme list`")
    add_run_options(parser)
    parser.add_argument("--out", metavar="DIR", help="run folder (default: a new one below runs/)")
    parser.add_argument("--json", action="store_true", help="print only JSON, one report a benchmark")


def run(args: argparse.Namespace) -> int:
    """Run each benchmark into its own folder; 3 when responses are missing at the end."""
    from markscheme.benchmarks import benchmark, expand
    from markscheme.config import check_pass_k
    from markscheme.reporting.summary import save_report, summarize
    from markscheme.reporting.terminal import print_json, print_summary
    from markscheme.running import execute
    from markscheme.running.progress import Progress

    names = expand(args.benchmarks)
    configs = [config_from(args, name) for name in names]
    for config in configs:
        check_pass_k(config)
    titles = [
        benchmark(config.benchmark, config.data_dir).name for config in configs
    ]  # a typo stops us before any work
    if len(set(titles)) < len(titles):
        raise UsageError(f"the same benchmark twice: {', '.join(titles)}")
    summaries = []
    for config, title in zip(configs, titles, strict=True):
        folder = _folder(args.out, title, config.model, several=len(configs) > 1)
        with Progress(title, quiet=args.json) as progress:
            finished = execute(config, folder, progress)
        summary = summarize(finished)
        save_report(finished, summary)
        summaries.append(summary)
        if not args.json:
            print_summary(summary)
    if args.json:
        print_json(summaries if len(summaries) > 1 else summaries[0])
    missing = sum(summary.missing for summary in summaries)
    if missing:
        print(f"markscheme: {missing} responses are missing; `markscheme resume` asks for them", file=sys.stderr)
        return EXIT_INCOMPLETE
    return 0


def _folder(out: str | None, title: str, model: str, *, several: bool) -> Path:
    from markscheme.running.execute import new_folder

    if out is None:
        return new_folder(title, model)
    return Path(out) / title if several else Path(out)
