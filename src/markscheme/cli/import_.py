"""`markscheme import`: turn a log of Inspect, lm-evaluation-harness or five other tools into a run."""

from __future__ import annotations

import argparse

from markscheme.cli.page import call
from markscheme.pages.terminal import print_json


def run(args: argparse.Namespace) -> int:
    """Import, mark and report; return 3 if responses are missing."""
    from markscheme.api.exchange import import_log
    from markscheme.errors import IncompleteRunError
    from markscheme.reporting.summary_text import print_summary

    summary = call(import_log, args).summary
    if args.json:
        print_json(summary)
    else:
        print_summary(summary)
    return IncompleteRunError.exit_code if summary.missing else 0
