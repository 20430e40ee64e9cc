"""`markscheme resume`: finish what is missing or errored; never asks twice for what is there."""

from __future__ import annotations

import argparse
from functools import partial

from markscheme.cli.options import add_run_options, typed_options
from markscheme.cli.push import add_track
from markscheme.config import fixed_options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folders, or a folder that holds run folders")
    parser.add_argument("--model", "-m", metavar="SPEC", help="only where the stored one held something secret")
    # What was asked is fixed; -n and --limit may grow. A fixed option is still read, to say why it is refused.
    add_run_options(parser, hide={*fixed_options()} - {"samples", "limit"})
    add_track(parser)
    parser.add_argument("--json", action="store_true", help="print only JSON, one report a run")


def run(args: argparse.Namespace) -> int:
    """Resume each run; 3 when responses are still missing at the end, 130 when interrupted."""
    from markscheme.cli.finishing import Reports
    from markscheme.models.fleet.ranks import current
    from markscheme.running import resume
    from markscheme.runs import find_runs

    changes, ranks = typed_options(args), current()
    with (reports := Reports(args, silent=not ranks.first)):
        for stored in find_runs(args.runs):
            work = partial(resume, stored, changes, ranks=ranks)
            if not reports.ask(stored.manifest.benchmark, stored.path, work):
                break
    return reports.exit_code
