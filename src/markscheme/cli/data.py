"""`markscheme data`: list, download and verify the official data sets."""

from __future__ import annotations

import argparse

from markscheme.cli.page import call, show


def run(args: argparse.Namespace) -> int:
    """Run the action; return 1 if `verify` finds a problem."""
    from markscheme.api import data

    made = call(getattr(data, args.action), args)
    show(args, made)
    return 1 if args.action == "verify" and not made.good else 0
