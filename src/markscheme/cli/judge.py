"""`markscheme judge`: ask a model about responses that the marker could not decide, or about a random share."""

from __future__ import annotations

import argparse

from markscheme.cli import EXIT_INTERRUPTED
from markscheme.cli.options import add_run_options
from markscheme.cli.page import call, show
from markscheme.config import NOT_FOR_JUDGES
from markscheme.errors import IncompleteRunError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run_options(parser, leave_out=NOT_FOR_JUDGES)


def run(args: argparse.Namespace) -> int:
    """Judge and print the outcome; return 3 if replies are missing, 130 if interrupted."""
    from markscheme.api.asking import judge

    opinions = call(judge, args, progress=not args.json)
    show(args, opinions)
    if opinions.run.manifest.status == "interrupted":
        return EXIT_INTERRUPTED
    return IncompleteRunError.exit_code if opinions.missing else 0
