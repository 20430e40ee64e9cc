"""`markscheme run --series`: ask every checkpoint of a training run, and with `--watch` also those still to come."""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Sequence
from pathlib import Path

from markscheme.cli import EXIT_INTERRUPTED, complain
from markscheme.cli.options import typed_options
from markscheme.errors import UsageError, counted

POLL = 5.0  # seconds between two searches for new checkpoints


def run_series(args: argparse.Namespace, backends: Sequence[str], names: Sequence[str]) -> int:
    """Ask every checkpoint that is not asked yet; exit codes as for an experiment."""
    from markscheme.benchmarks import expand
    from markscheme.cli.experiment import run_experiment
    from markscheme.experiments.series import find_checkpoints, series_cells

    if len(backends) > 1 or (backends and "/" in backends[0]):
        raise UsageError(
            "with --series, --model takes one backend such as hf, vllm or openai: the checkpoints are its models"
        )
    options = typed_options(args)
    options.pop("model", None)
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", args.series[0]).strip("-.")[-40:]
    args.out = args.out or str(Path("runs") / f"series-{slug}")
    asked: list[int] = []
    while True:
        found = find_checkpoints(args.series, backends[0] if backends else None, options, watch=args.watch)
        code = 0
        if found and [step for step, _ in found] != asked:
            asked = [step for step, _ in found]
            code = run_experiment(args, series_cells(found, expand(names), options), "series")
            if not args.dry_run and not args.json:
                _show(args.out)
        ended = args.until_step is not None and asked and asked[-1] >= args.until_step
        if not args.watch or args.dry_run or ended or code == EXIT_INTERRUPTED:
            return code
        try:
            time.sleep(POLL)
        except KeyboardInterrupt:
            complain(f"stopped watching; {args.out} contains {counted(len(asked), 'step')}")
            return code


def _show(folder: str) -> None:
    """Print the series so far, once there are two steps."""
    from markscheme.reporting.series import document, series_of
    from markscheme.runs import find_runs

    try:
        made = series_of(find_runs([folder]))
    except UsageError:  # one step
        return
    document(made).print()
