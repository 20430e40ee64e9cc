"""`markscheme show`: show a problem of a benchmark and the exact prompt."""

from __future__ import annotations

import argparse

from markscheme.cli.page import call
from markscheme.reporting.terminal import print_json


def run(args: argparse.Namespace) -> int:
    from markscheme.api.exchange import show

    shown = call(show, args)
    if args.json:
        print_json({"question": shown.question, "prompt_sha256": shown.prompt_sha256})
    else:
        print(shown)
    return 0
