"""`markscheme plugins`: where the files lie that other tools are to be pointed at."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`path lm_eval`."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    path = actions.add_parser("path", help="the folder of a tool's task files", allow_abbrev=False)
    path.add_argument("tool", choices=["lm_eval"], help="lm_eval: the folder for its --include_path")


def run(args: argparse.Namespace) -> int:  # noqa: ARG001 - there is one action with one choice
    """Print the folder, and nothing else."""
    from markscheme.plugins.lm_eval import TASKS

    print(TASKS)
    return 0
