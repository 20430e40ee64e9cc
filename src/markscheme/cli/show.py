"""`markscheme show`: show a problem of a benchmark and the exact prompt."""

from __future__ import annotations

import argparse

from markscheme.reporting.terminal import print_json


def run(args: argparse.Namespace) -> int:
    from markscheme.api.exchange import show

    options = {name: value for name, value in vars(args).items() if name not in ("run", "json")}
    shown = show(**options)
    if args.json:
        print_json({"question": shown.question, "prompt_sha256": shown.prompt_sha256})
    else:
        print(shown)
    return 0
