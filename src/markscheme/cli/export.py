"""`markscheme export`: write a run as an Inspect log, a results file or one archive."""

from __future__ import annotations

import argparse


def run(args: argparse.Namespace) -> int:
    from markscheme.api.exchange import export

    for file in export(*args.runs, to=args.to, output=args.output, redact=args.redact):
        print(file)
    return 0
