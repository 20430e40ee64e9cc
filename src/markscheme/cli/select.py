"""`markscheme select`: write the problems that a model solves sometimes, as prompts for training."""

from __future__ import annotations

import argparse


def run(args: argparse.Namespace) -> int:
    from markscheme.api.rewarding import select
    from markscheme.cli.page import Part, show

    low, high = args.between
    rows = select(args.source, between=(low, high), out=args.output, protocol=args.protocol)
    said = f"{len(rows)} problems with a solve rate from {low:g} to {high:g} are in {args.output}"
    show(args, {"selected": len(rows), "between": [low, high], "file": args.output}, [Part("text", said)])
    return 0
