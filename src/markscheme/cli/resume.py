"""`markscheme resume`: continue a run; ask only for what is missing or failed."""

from __future__ import annotations

import argparse
from functools import partial

from markscheme.cli.options import add_run_options, typed_options
from markscheme.config import fixed_options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    # -n and --limit may grow; the other fixed options are parsed only to explain why they are refused.
    add_run_options(parser, hide={*fixed_options()} - {"samples", "limit"})


def run(args: argparse.Namespace) -> int:
    """Resume each run; return 3 if responses are still missing, 130 if interrupted."""
    from markscheme.cli.finishing import Reports
    from markscheme.running import resume
    from markscheme.runs import find_runs

    changes = typed_options(args)
    with (reports := Reports(args)):
        for stored in find_runs(args.runs):
            if not reports.ask(stored.manifest.benchmark, stored.path, partial(resume, stored, changes)):
                break
    return reports.exit_code
