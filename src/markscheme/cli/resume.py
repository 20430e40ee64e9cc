"""`markscheme resume`: finish what is missing or errored; never asks twice for what is there."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING, Any

from markscheme.cli.options import add_run_options, typed_options
from markscheme.cli.push import add_track
from markscheme.tracking import tracked

if TYPE_CHECKING:
    from markscheme.models.fleet.ranks import Ranks
    from markscheme.running.progress import Quiet
    from markscheme.runs import Run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Run folders, and the options that say how to ask."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folders, or a folder that holds run folders")
    parser.add_argument("--model", "-m", metavar="SPEC", help="only where the stored one held something secret")
    add_run_options(parser)
    add_track(parser)
    parser.add_argument("--json", action="store_true", help="print only JSON, one report a run")


def run(args: argparse.Namespace) -> int:
    """Resume each run; 3 when responses are still missing at the end, 130 when interrupted."""
    from markscheme.cli.finishing import Reports
    from markscheme.models.fleet.ranks import current
    from markscheme.running.progress import progress
    from markscheme.runs import find_runs

    changes = typed_options(args)
    ranks = current()
    first = ranks is None or ranks.first
    reports = Reports(json=args.json, silent=not first)
    with reports:
        for stored in find_runs(args.runs):
            display = progress(stored.manifest.benchmark, quiet=args.json or not first)
            with tracked(display, args.track if first else (), stored.path) as shown:
                reports.of(stored.path, partial(_resume, stored, changes, shown, ranks))
            if reports.interrupted:
                break
    return reports.exit_code


def _resume(stored: Run, changes: dict[str, Any], display: Quiet, ranks: Ranks | None) -> Run:
    from markscheme.running import resume

    with display:
        return resume(stored, changes, display, ranks)
