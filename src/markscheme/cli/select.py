"""`markscheme select`: write the problems that a model solves sometimes, as prompts for training."""

from __future__ import annotations

import argparse

from markscheme.errors import counted


def run(args: argparse.Namespace) -> int:
    from markscheme.api.page import Part
    from markscheme.api.rewarding import select
    from markscheme.cli.page import call, show

    low, high = args.between
    rows = call(select, args, run=args.source, out=args.output)
    said = f"{args.output}: {counted(len(rows), 'problem')} with a solve rate from {low:g} to {high:g}"
    show(args, {"selected": len(rows), "between": [low, high], "file": args.output}, [Part("text", said)])
    return 0
