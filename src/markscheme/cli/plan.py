"""`markscheme plan`: how many samples you need to detect a difference, and their cost."""

from __future__ import annotations

import argparse

from markscheme.cli.page import call, show


def run(args: argparse.Namespace) -> int:
    from markscheme.api.reports import plan

    show(args, call(plan, args))
    return 0
