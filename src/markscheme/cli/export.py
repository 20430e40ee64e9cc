"""`markscheme export`: write a run as an Inspect log, a results file or one archive."""

from __future__ import annotations

import argparse

from markscheme.cli.page import call


def run(args: argparse.Namespace) -> int:
    from markscheme.api.exchange import export

    for file in call(export, args):
        print(file)
    return 0
