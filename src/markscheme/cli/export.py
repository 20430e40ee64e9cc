"""`markscheme export`: a run as one file to send, or as the log of another tool; `import` is the way back."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folders, or folders that hold some")
    parser.add_argument(
        "--to",
        choices=("inspect", "every-eval-ever", "lm-eval"),
        default="inspect",
        help="whose log (default: inspect), or the figures alone as those collect them",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("logs"),
        metavar="DIR|FILE.eval|FILE.msz",
        help="where to (default: logs, where Inspect looks); FILE.msz: the run itself as one file, which `report`, `compare`, "
        "`view` and `verify` open like a folder",
    )
    parser.add_argument(
        "--redact", action="store_true", help="with FILE.msz: without statements, solutions and prompts"
    )


def run(args: argparse.Namespace) -> int:
    from markscheme.api.exchange import export

    for file in export(*args.runs, to=args.to, output=args.output, redact=args.redact):
        print(file)
    return 0
