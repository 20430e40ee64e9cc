"""`markscheme export`: a run as the log of another tool; `import` is the way back."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folders, or folders that hold some")
    parser.add_argument("--to", choices=("inspect",), default="inspect", help="whose log (default: inspect)")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("logs"),
        metavar="DIR|FILE.eval",
        help="where to (default: logs, where Inspect looks)",
    )


def run(args: argparse.Namespace) -> int:
    from markscheme.api.exchange import export

    for file in export(*args.runs, to=args.to, output=args.output):
        print(file)
    return 0
