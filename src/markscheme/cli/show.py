"""`markscheme show`: a benchmark's problem, and the prompt really sent for it."""

from __future__ import annotations

import argparse

from markscheme.cli.options import add_prompt_file
from markscheme.reporting.terminal import print_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("benchmark", metavar="BENCHMARK", help="a name from `markscheme list`, or a .toml or data file")
    parser.add_argument("--problem", metavar="ID", help="a problem's id or key (default: the first)")
    parser.add_argument("--prompt", metavar="NAME|TEXT", help="prompt variant, or a text with {statement} in it")
    add_prompt_file(parser)
    parser.add_argument("--system-prompt", metavar="TEXT", help="system message before the question")
    parser.add_argument("--fewshot", type=int, metavar="N", help="worked examples in the prompt")
    parser.add_argument("--fewshot-pool", metavar="FILE|BENCHMARK", help="where worked examples come from")
    parser.add_argument("--fewshot-seed", type=int, default=42, metavar="N", help="which examples are drawn")
    parser.add_argument("--data-dir", metavar="DIR", help="folder of official data")
    parser.add_argument("--json", action="store_true", help="print only JSON")


def run(args: argparse.Namespace) -> int:
    from markscheme.api.exchange import show

    options = {name: value for name, value in vars(args).items() if name not in ("run", "json")}
    shown = show(**options)
    if args.json:
        print_json({"question": shown.question, "prompt_sha256": shown.prompt_sha256})
    else:
        print(shown)
    return 0
