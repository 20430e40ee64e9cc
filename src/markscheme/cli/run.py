"""`markscheme run`: ask a model every question, mark every response, report."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from markscheme.cli.options import add_prompt_file, add_run_options, config_from
from markscheme.errors import UsageError

if TYPE_CHECKING:
    from markscheme.config import RunConfig
    from markscheme.models.fleet.ranks import Ranks
    from markscheme.running import Prepared
    from markscheme.running.progress import Quiet
    from markscheme.runs import Run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Benchmarks, the model, and every option of a run."""
    parser.add_argument(
        "benchmarks",
        nargs="+",
        metavar="BENCHMARK",
        help="names from `markscheme list`, paths of .toml, .jsonl, .csv … files, or `all` (countdown gsm8k math500)",
    )
    parser.add_argument("--model", "-m", required=True, metavar="SPEC", help="backend/model, see `markscheme list`")
    add_run_options(parser)
    add_prompt_file(parser)
    parser.add_argument("--out", metavar="DIR", help="run folder (default: a new one below runs/)")
    parser.add_argument("--json", action="store_true", help="print only JSON, one report a benchmark")


def run(args: argparse.Namespace) -> int:
    """Run each benchmark into its own folder; 3 when responses are missing at the end, 130 when interrupted."""
    from markscheme.benchmarks import expand
    from markscheme.cli.finishing import Reports
    from markscheme.models.fleet.ranks import current
    from markscheme.running import prepare
    from markscheme.running.progress import progress

    configs = [config_from(args, name) for name in expand(args.benchmarks)]
    # Whatever is wrong with any of them stops us before the first is asked.
    prepared = [prepare(config) for config in configs]
    titles = [each.benchmark.name for each in prepared]
    if len(set(titles)) < len(titles):
        raise UsageError(f"the same benchmark twice: {', '.join(titles)}")
    ranks = current()
    first = ranks is None or ranks.first
    reports = Reports(json=args.json, silent=not first)
    with reports:
        for config, title, ready in zip(configs, titles, prepared, strict=True):
            folder = _folder(args.out, title, config.model, several=len(configs) > 1) if first else Path()
            if ranks is not None:
                folder = ranks.agreed(folder)
            display = progress(title, quiet=args.json or not first)
            reports.of(folder, partial(_ask, config, folder, display, ready, ranks))
            if reports.interrupted:
                break
    return reports.exit_code


def _ask(config: RunConfig, folder: Path, display: Quiet, ready: Prepared, ranks: Ranks | None) -> Run:
    """Run, or go on with what is there where torchrun has started everybody again after the loss of a rank."""
    import msgspec

    from markscheme.running import execute, resume
    from markscheme.runs import Run

    with display:
        if ranks is not None and ranks.agreed(ranks.restarted and (folder / "manifest.json").exists()):
            return resume(Run.open(folder), msgspec.structs.asdict(config), display, ranks)
        return execute(config, folder, display, ready, ranks)


def _folder(out: str | None, title: str, model: str, *, several: bool) -> Path:
    from markscheme.running import new_folder

    if out is None:
        return new_folder(title, model)
    if not out.strip():
        raise UsageError("--out needs the name of a folder")
    return Path(out) / title if several else Path(out)
