"""`markscheme run`: ask a model every question, mark every response, report."""

from __future__ import annotations

import argparse
from pathlib import Path

from markscheme.cli.options import add_run_options, config_from
from markscheme.errors import UsageError


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
    """Run each benchmark into its own folder; 3 when responses are missing at the end, 130 when interrupted."""
    import msgspec

    from markscheme.benchmarks import benchmark, expand
    from markscheme.cli.finishing import Reports
    from markscheme.config import check_pass_k
    from markscheme.running import execute, new_folder, resume
    from markscheme.running.progress import progress
    from markscheme.runs import Run
    from markscheme.scale.ranks import current

    configs = [config_from(args, name) for name in expand(args.benchmarks)]
    for config in configs:
        check_pass_k(config)
    # A typo stops us before any work.
    titles = [benchmark(config.benchmark, config.data_dir).name for config in configs]
    if len(set(titles)) < len(titles):
        raise UsageError(f"the same benchmark twice: {', '.join(titles)}")
    ranks = current()
    first = ranks is None or ranks.first
    reports = Reports(json=args.json, silent=not first)
    for config, title in zip(configs, titles, strict=True):
        folder = new_folder(title, config.model) if args.out is None else Path(args.out)
        if args.out is not None and len(configs) > 1:
            folder /= title
        if ranks is not None:
            folder = ranks.agreed(folder)
        again = ranks is not None and ranks.agreed(ranks.restarted and (folder / "manifest.json").exists())
        with reports.of(folder), progress(title, quiet=args.json or not first) as display:
            if again:
                resume(Run.open(folder), msgspec.structs.asdict(config), display)
            else:
                execute(config, folder, display)
        if reports.interrupted:
            break
    return reports.close()
